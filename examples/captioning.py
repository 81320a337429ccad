"""Words for a film: an LSTM writes a sentence and looks back at the frames, by attention, before each word.

    python examples/captioning.py                          one process
    python -m termgraph dist run examples/captioning.py --workers 2   the same training on two

The films are made up: each shows three of eight things, one after the other, and its sentence names them in order. A
frame is a noisy vector of 32 numbers. After training the model writes sentences for films that it has not seen.
"""

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph import dist

THINGS = ["cat", "dog", "sun", "sea", "car", "boat", "tree", "snow"]
START, END = len(THINGS), len(THINGS) + 1
WORDS = [*THINGS, "<start>", "."]
FRAMES, FEATURES, UNITS, LENGTH = 12, 32, 48, 4


def films(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Frames (film, frame, feature) and sentences (film, word)."""
    looks = np.random.default_rng(0).normal(size=(len(THINGS), FEATURES))  # what each thing looks like
    rng = np.random.default_rng(seed)
    seen = np.array([rng.choice(len(THINGS), 3, replace=False) for _ in range(count)])
    frames = looks[np.repeat(seen, FRAMES // 3, axis=1)] + rng.normal(scale=0.3, size=(count, FRAMES, FEATURES))
    return frames.astype("float32"), np.hstack([seen, np.full((count, 1), END)])


def weights() -> dict[str, tg.Variable]:
    """All parameters, by name."""
    rng = np.random.default_rng(1)
    shapes = {
        "embedding": (len(WORDS), UNITS), "input": (UNITS, 4 * UNITS), "state": (UNITS, 4 * UNITS),
        "look": (FEATURES, 4 * UNITS), "bias": (4 * UNITS,), "of_frame": (FEATURES, UNITS),
        "of_time": (FRAMES, UNITS), "of_state": (UNITS, UNITS), "score": (UNITS,), "out": (UNITS, len(WORDS)),
    }  # fmt: skip
    return {k: tg.shared(rng.normal(scale=0.2, size=s).astype("float32"), name=k) for k, s in shapes.items()}


def next_state(word, h, c, frames, keys, p):
    """One step of the LSTM. `keys` are the frames as attention sees them, the same in all steps."""
    scores = T.tanh(keys + (h @ p["of_state"]).dimshuffle(0, "x", 1)) @ p["score"]
    share = T.softmax(scores, axis=1)  # how much of each frame
    context = (share.dimshuffle(0, 1, "x") * frames).sum(axis=1)
    z = p["embedding"][word] @ p["input"] + h @ p["state"] + context @ p["look"] + p["bias"]
    i, f, g, o = (z[:, k * UNITS : (k + 1) * UNITS] for k in range(4))
    c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
    return T.sigmoid(o) * T.tanh(c), c


def build(worker) -> dist.Step:
    """The step of training that each worker makes."""
    p = weights()
    frames, sentence = T.ftensor3("frames"), T.lmatrix("sentence")
    keys = frames @ p["of_frame"] + p["of_time"]
    before = T.concatenate([T.full((sentence.shape[0], 1), START, dtype="int64"), sentence[:, :-1]], axis=1)
    zeros = T.zeros((frames.shape[0], UNITS), dtype="float32")
    (h, _), _ = tg.scan(
        lambda word, h, c: next_state(word, h, c, frames, keys, p), sequences=before.T, outputs_info=[zeros, zeros]
    )
    scores = T.log_softmax(h @ p["out"], axis=2)  # (word, film, which)
    chosen = T.take_along_axis(scores, sentence.T.dimshuffle(0, 1, "x"), axis=2)
    return dist.Step([frames, sentence], -chosen.mean(), list(p.values()), tg.optim.adam(0.01))


def writer(values: dict[str, np.ndarray]) -> tg.Function:
    """A function from frames to sentences: each word is the likeliest, and is read before the next."""
    p = {k: tg.shared(v, name=k) for k, v in values.items()}
    frames = T.ftensor3("frames")
    keys, zeros = frames @ p["of_frame"] + p["of_time"], T.zeros((frames.shape[0], UNITS), dtype="float32")

    def step(word, h, c):
        h, c = next_state(word, h, c, frames, keys, p)
        return T.argmax(h @ p["out"], axis=1), h, c

    first = T.full((frames.shape[0],), START, dtype="int64")
    (words, _, _), _ = tg.scan(step, outputs_info=[first, zeros, zeros], n_steps=LENGTH)
    return tg.function([frames], words.T)


if __name__ == "__main__":
    result = dist.train(build, dist.Arrays(*films(1024, seed=2), batch=32, epochs=8))
    print(f"cost {result.cost[0]:.2f} at first, {result.cost[-1]:.3f} after {result.steps} steps")
    frames, sentences = films(200, seed=3)
    written = writer(result.params)(frames)
    for film in range(3):
        print("  ", *(WORDS[k] for k in written[film]))
    print(f"{(written == sentences).all(axis=1).mean():.0%} of the sentences about new films are right")

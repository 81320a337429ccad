"""Whole programs that go on from what they made: caches, beams, growing paths, distances of sequences."""

import numpy as np
import scipy.special
from ways import in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"


def test_attention_with_a_cache_is_attention(rng):
    """Rotated queries that share keys, a window, distances as penalties: all at once, and one place after the other."""
    batch, length, heads, shared, width = 2, 5, 4, 2, 4
    x, wq, wk, wv = T.dtensor3("x"), T.dmatrix("wq"), T.dmatrix("wk"), T.dmatrix("wv")
    angles = T.arange(length)[:, None] * 10000.0 ** (-T.arange(0, width, 2) / width)
    cos, sin = T.cos(angles), T.sin(angles)
    penalty = 2.0 ** (-8 * (T.arange(heads) + 1) / heads)

    def rotated(a, cos, sin):
        even, odd = a[..., ::2], a[..., 1::2]
        return T.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(a.shape)

    def weights(scores, back):
        return T.softmax(T.where((back >= 0) & (back < 3), scores, -np.inf), axis=-1)

    split = lambda w, n: (x @ w).reshape((batch, length, n, width)).transpose((0, 2, 1, 3))  # noqa: E731
    q, k = rotated(split(wq, heads), cos, sin), rotated(split(wk, shared), cos, sin)
    k, v = (T.repeat(a, heads // shared, axis=1) for a in (k, split(wv, shared)))
    back = T.arange(length)[:, None] - T.arange(length)[None]
    at_once = weights(q @ k.transpose((0, 1, 3, 2)) / 2 - penalty[:, None, None] * back, back) @ v

    def step(t, row, keys, values):
        part = lambda w, n: (row @ w).reshape((batch, n, width))  # noqa: E731
        keys = T.set_subtensor(keys[:, t], rotated(part(wk, shared), cos[t], sin[t]))
        values = T.set_subtensor(values[:, t], part(wv, shared))
        k, v = (T.repeat(a, heads // shared, axis=2) for a in (keys, values))
        back = t - T.arange(length)
        scores = T.einsum("bhd,blhd->bhl", rotated(part(wq, heads), cos[t], sin[t]), k) / 2
        return keys, values, T.einsum("bhl,blhd->bhd", weights(scores - penalty[:, None] * back, back), v)

    cache = T.zeros((batch, length, shared, width))
    rows = [T.arange(length), x.transpose((1, 0, 2))]
    (_, _, outs), _ = tg.scan(step, sequences=rows, outputs_info=[cache, cache, None])
    shapes = (batch, length, 6), (6, heads * width), (6, shared * width), (6, shared * width)
    inputs, values = [x, wq, wk, wv], [0.5 * rng.normal(size=shape) for shape in shapes]
    apart = at_once - outs.transpose((1, 2, 0, 3))
    in_all_ways(inputs, [apart], values, [np.zeros((batch, heads, length, width))])
    slopes_in_all_ways(inputs, (outs**2).sum(), values, rng, ["compiled", "checked"])


def test_beams(rng):
    """The best continuations of each step: places in a flattened array say whose beam goes on, and with what."""
    words, beams, steps = 6, 3, 5
    w, u = T.dmatrix("w"), T.dmatrix("u")

    def step(_, word, score, past, h):
        h = T.tanh(w[word] + h @ u)
        ended = T.where(T.eq(T.arange(words), 0)[None], 0.0, -np.inf)
        every = (score[:, None] + T.where(T.eq(word, 0)[:, None], ended, T.log_softmax(h, axis=1))).flatten()
        best = T.argtopk(every, beams)
        best = best[T.argsort(-every[best])]
        whose, word = best // words, best % words
        return word, every[best], T.concatenate([past[whose][:, 1:], word[:, None]], axis=1), h[whose]

    first = [np.ones(beams, "int64"), np.array([0.0, -np.inf, -np.inf])]
    start = [*map(T.constant, first), T.zeros((beams, steps), dtype="int64"), T.zeros((beams, words))]
    (_, scores, pasts, _), _ = tg.scan(step, sequences=T.arange(steps), outputs_info=start)
    values = [rng.normal(size=(words, words)), rng.normal(size=(words, words))]
    found = [(0.0, [], 1, np.zeros(words))]
    for _ in range(steps):
        longer = []
        for score, past, word, h in found:
            h = np.tanh(values[0][word] + h @ values[1])
            chances = scipy.special.log_softmax(h) if word else np.where(np.arange(words) == 0, 0.0, -np.inf)
            longer += [(score + c, [*past, k], k, h) for k, c in enumerate(chances)]
        found = sorted(longer, key=lambda b: -b[0])[:beams]
    in_all_ways([w, u], [scores[-1], pasts[-1]], values, [[b[0] for b in found], [b[1] for b in found]])


def test_soft_warping_and_shortest_ways(rng):
    """A loop over rows with a loop over cells inside, smooth minima; all pairs of places of a graph."""
    a, b, g, far = T.dvector("a"), T.dvector("b"), T.dscalar("g"), T.dmatrix("far")

    def row(costs, above):
        cell = lambda c, up, aslant, left: c - g * T.logsumexp(-T.stack([up, aslant, left]) / g)  # noqa: E731
        cells, _ = tg.scan(cell, sequences=[costs, above[1:], above[:-1]], outputs_info=T.constant(1e6))
        return T.concatenate([T.constant([1e6]), cells])

    first = T.set_subtensor(T.full((b.shape[0] + 1,), 1e6)[0], 0.0)
    warped = tg.scan(row, sequences=(a[:, None] - b[None]) ** 2, outputs_info=first)[0][-1, -1]
    through = lambda k, d: T.minimum(d, d[:, k][:, None] + d[k][None])  # noqa: E731
    shortest = tg.scan(through, sequences=T.arange(far.shape[0]), outputs_info=far)[0][-1]
    values = [rng.normal(size=4), rng.normal(size=5), 0.7, np.where(rng.uniform(size=(5, 5)) < 0.3, np.inf, 1.0)]
    ways, table = values[3].copy(), np.full((5, 6), 1e6)
    for k in range(5):
        ways = np.minimum(ways, ways[:, k : k + 1] + ways[k : k + 1])
    table[0, 0] = 0
    for i in range(1, 5):
        for j in range(1, 6):
            near = np.array([table[i - 1, j], table[i - 1, j - 1], table[i, j - 1]])
            table[i, j] = (values[0][i - 1] - values[1][j - 1]) ** 2 - 0.7 * scipy.special.logsumexp(-near / 0.7)
    in_all_ways([a, b, g, far], [warped, shortest], values, [table[-1, -1], ways])
    slopes_in_all_ways([a, b, g], warped, values[:3], rng)


def test_a_path_that_grows_as_it_is_drawn():
    """`foldl` keeps the last value only, which may be longer than the one before, in every way of running."""
    n = T.lscalar("n")

    def path():
        stream = T.random.RandomStream(5)
        grow = lambda _, p: T.concatenate([p, (p[-1] + stream.normal(size=(2,)))[None]])  # noqa: E731
        return tg.foldl(grow, sequences=T.arange(n), outputs_info=T.zeros((1, 2)))

    drawn, _ = path()
    steps = np.diff(tg.function([n], drawn, mode=tg.Mode(linker="py"))(4), axis=0)
    assert len({*steps.ravel().tolist()}) == 8
    in_all_ways([n], [path()[0].shape], [4], [(5, 2)])
    for mode in ("None", "DEBUG_MODE", "FAST_RUN"):
        again, _ = path()
        np.testing.assert_allclose(np.diff(tg.function([n], again, mode=mode)(4), axis=0), steps, rtol=1e-12)

"""LeNet learns synthetic digits: seven segments with noise, shifted; then where it looks. A few seconds on one core."""

import numpy as np

import termgraph as tg
import termgraph.tensor as T

SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010",
            "1101011", "1101111", "1010010", "1111111", "1111011"]  # fmt: skip
PLACES = [(0, slice(2, 8)), (slice(1, 8), 1), (slice(1, 8), 8), (8, slice(2, 8)), (slice(9, 16), 1), (slice(9, 16), 8),
          (16, slice(2, 8))]  # fmt: skip
rng = np.random.default_rng(0)


def digits(n):
    """Images (n, 1, 28, 28) and what they show."""
    labels, images = rng.integers(0, 10, n), rng.normal(0, 0.2, (n, 1, 28, 28))
    for image, label in zip(images[:, 0], labels):
        down, right = rng.integers(2, 9), rng.integers(4, 14)
        for lit, (rows, columns) in zip(SEGMENTS[label], PLACES):
            image[down : down + 17, right : right + 10][rows, columns] += int(lit)
    return images.astype("float32"), labels


def weights(*shape):
    return tg.shared((rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[1:]))).astype("float32"))


# The net: two convolutions with maxima of 2x2, two dense layers.
w1, w2, w3, w4 = weights(8, 1, 5, 5), weights(16, 8, 5, 5), weights(64, 256), weights(10, 64)
gains = [tg.shared(np.ones(n, "float32")) for n in (8, 16)]
shifts = [tg.shared(np.zeros(n, "float32")) for n in (8, 16)]
parameters = [w1, w2, w3, w4, *gains, *shifts]


def logits(x):
    for w, gain, shift in zip((w1, w2), gains, shifts):
        x = T.nnet.conv2d(x, w, filter_shape=w.get_value().shape)
        x = T.nnet.batch_normalization_train(x, gain, shift, axes="spatial")[0]
        x = T.nnet.relu(T.nnet.pool_2d(x, (2, 2), ignore_border=True))
    return T.dot(T.nnet.relu(T.dot(x.flatten(2), w3.T)), w4.T)


x, y = T.tensor("x", dtype="float32", shape=(32, 1, 28, 28)), T.tensor("y", dtype="int64", shape=(32,))
scores = logits(x)
loss = -T.log_softmax(scores, axis=1)[T.arange(32), y].mean()
updates = [(p, p - np.float32(0.1) * g) for p, g in zip(parameters, tg.grad(loss, parameters))]
train = tg.function([x, y], loss, updates=updates)
guess = tg.function([x], scores.argmax(axis=1))
looks = tg.function([x, y], abs(tg.grad(scores[T.arange(32), y].sum(), x)))

for step in range(301):
    value = train(*digits(32))
    if step % 60 == 0:
        print(f"step {step:3}: loss {float(value):.3f}")
images, labels = digits(32)
print(f"{np.mean(guess(images) == labels):.0%} of new digits are right")

# Where the score of the right answer changes most, as a picture of characters beside the digit.
shown = [images[0, 0], looks(images, labels)[0, 0]]
for rows in zip(*[np.clip(a / a.max() * 4, 0, 4).astype(int)[::2] for a in shown]):
    print("   ".join("".join(" .:*#"[v] for v in row) for row in rows))

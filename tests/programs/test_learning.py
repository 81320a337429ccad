"""Whole programs that learn, each as in NumPy: gradients inside of gradients, experts, numbers of few bits."""

import numpy as np
import scipy.special
from ways import in_all_ways, slopes_in_all_ways

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
SOME = ["compiled", "checked"]


def accelerations(q, v, w1, w2):
    """The motion that a net for the Lagrangian says: derivatives of derivatives, solved for each example."""

    def energy(q, v):
        return T.softplus(T.concatenate([q, v]) @ w1) @ w2 + (v * v).sum()

    def one(q, v):
        push = tg.grad(energy(q, v), v)
        inertia, turning = tg.jacobian(push, [v, q])
        return T.linalg.solve(inertia, tg.grad(energy(q, v), q) - turning @ v)

    return tg.vmap(one)(q, v)


def accelerations_in_numpy(q, v, w1, w2):
    found = []
    for x, y in zip(q, v):
        chance = scipy.special.expit(np.concatenate([x, y]) @ w1)
        first = w1 @ (chance * w2)
        second = (w1 * (chance * (1 - chance) * w2)) @ w1.T
        found.append(np.linalg.solve(second[2:, 2:] + 2 * np.eye(2), first[:2] - second[2:, :2] @ y))
    return np.array(found)


def test_a_learned_lagrangian(rng):
    inputs = T.dmatrix("q"), T.dmatrix("v"), T.dmatrix("w1"), T.dvector("w2")
    values = [0.5 * rng.normal(size=s) for s in ((6, 2), (6, 2), (4, 8), (8,))]
    moved = accelerations(*inputs)
    in_all_ways(inputs, [moved], values, [accelerations_in_numpy(*values)])
    slopes_in_all_ways(inputs, (moved**2).sum(), values, rng, SOME)


def test_learning_to_learn(rng):
    """Two steps of descent for each task, and the gradient through them."""
    xs, ys, w, v = T.dtensor3("xs"), T.dmatrix("ys"), T.dmatrix("w"), T.dvector("v")

    def loss(w, v, x, y):
        return ((T.tanh(x @ w) @ v - y) ** 2).mean()

    def task(x, y):
        a, b = w, v
        for _ in range(2):
            down = tg.grad(loss(a, b, x, y), [a, b])
            a, b = a - 0.1 * down[0], b - 0.1 * down[1]
        return loss(a, b, x, y)

    def in_numpy(x, y, w, v):
        for _ in range(2):
            h = np.tanh(x @ w)
            back = 2 * (h @ v - y)[:, None] / len(y)
            w, v = w - 0.1 * x.T @ (back * v * (1 - h**2)), v - 0.1 * (back * h).sum(axis=0)
        return ((np.tanh(x @ w) @ v - y) ** 2).mean()

    values = [0.5 * rng.normal(size=s) for s in ((3, 8, 2), (3, 8), (2, 6), (6,))]
    losses = tg.vmap(task)(xs, ys)
    in_all_ways([xs, ys, w, v], [losses], values, [[in_numpy(x, y, *values[2:]) for x, y in zip(*values[:2])]])
    slopes_in_all_ways([xs, ys, w, v], losses.mean(), values, rng, SOME)


def test_two_of_several_experts(rng):
    """Chosen by the largest scores: read where they lie, or all computed and weighed."""
    x, gate, w1, w2 = T.dmatrix("x"), T.dmatrix("gate"), T.dtensor3("w1"), T.dtensor3("w2")
    scores = x @ gate
    chosen = T.argsort(-scores, axis=1)[:, :2]
    shares = T.softmax(T.take_along_axis(scores, chosen, axis=1), axis=1)
    read = T.einsum("bkh,bkhd,bk->bd", T.nnet.relu(T.einsum("bd,bkdh->bkh", x, w1[chosen])), w2[chosen], shares)
    weights = (T.one_hot(chosen, 5) * shares[..., None]).sum(axis=1)
    every = T.einsum("beh,ehd,be->bd", T.nnet.relu(T.einsum("bd,edh->beh", x, w1)), w2, weights)
    values = [0.5 * rng.normal(size=s) for s in ((7, 4), (4, 5), (5, 4, 6), (5, 6, 4))]
    wanted = np.zeros((7, 4))
    for b, row in enumerate(values[0]):
        best = np.argsort(-row @ values[1], kind="stable")[:2]
        for e, share in zip(best, scipy.special.softmax((row @ values[1])[best])):
            wanted[b] += share * np.maximum(row @ values[2][e], 0) @ values[3][e]
    inputs = [x, gate, w1, w2]
    in_all_ways(inputs, [read, every], values, [wanted, wanted])
    slopes_in_all_ways(inputs, (read**2).sum() + (every**3).sum(), values, rng, SOME)


def test_numbers_of_few_bits(rng):
    """Eight bits with a scale for each row, added up in 32; packed by two; a step that no gradient sees."""
    x, w, s = T.dmatrix("x"), T.bmatrix("w"), T.dvector("s")
    nibbles = T.matrix("nibbles", dtype="uint8")

    def program(xp, x, w, s, nibbles, few):
        scale = abs(x).max(axis=1, keepdims=True) / 127
        sums = few(xp.clip(xp.round(x / scale), -127, 127)) @ w.astype("int32")
        packed = nibbles[:, ::2] | (nibbles[:, 1::2] << 4)
        apart = xp.stack([packed & 15, packed >> 4], axis=-1).reshape(nibbles.shape)
        return [sums, sums * scale * s, packed, (apart.astype("int8") - 8).astype("int8")]

    values = [rng.normal(size=(4, 16)), rng.integers(-127, 128, (16, 6)).astype("int8"), rng.uniform(size=6)]
    values.append(rng.integers(0, 16, (3, 8)).astype("uint8"))
    few = lambda a: a.astype("int8").astype("int32")  # noqa: E731
    in_all_ways([x, w, s, nibbles], program(T, x, w, s, nibbles, few), values, program(np, *values, few))
    rounded = s + tg.disconnected_grad(T.round(s * 7) / 7 - s)
    slope = tg.function([x, s], tg.grad((T.tanh(x[:, :6] * rounded) ** 2).sum(), s))
    half = np.tanh(values[0][:, :6] * np.round(values[2] * 7) / 7)
    np.testing.assert_allclose(
        slope(values[0], values[2]), (2 * half * (1 - half**2) * values[0][:, :6]).sum(axis=0), rtol=1e-10
    )

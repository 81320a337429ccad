"""Loops are cut where an index would be divided: tiles, blocks and what is merged are read without divisions."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

LINKER = "c"
RNG = np.random.default_rng(5)
A, B, V = RNG.normal(size=(4, 6)), RNG.normal(size=(8, 18)), RNG.normal(size=24)

# name: of x (4x6), y (8x18) and v (24); what NumPy says is computed by the same words
CASES = {
    "tile": lambda M, x, y, v: M.tile(x, (2, 3)) * 3.0,
    "tile and another": lambda M, x, y, v: M.tile(x, (2, 3)) - y,
    "tile of a vector": lambda M, x, y, v: M.exp(M.tile(v, 3)),
    "tile, all added up": lambda M, x, y, v: (M.tile(x, (2, 3)) * y).sum(),
    "tile, rows": lambda M, x, y, v: (M.tile(x, (2, 3)) * y).sum(axis=1),
    "tile, columns": lambda M, x, y, v: (M.tile(x, (2, 3)) * y).max(axis=0),
    "tile, places": lambda M, x, y, v: (M.tile(x, (2, 3)) * y).argmax(axis=1),
    "tile of a tile": lambda M, x, y, v: M.tile(M.tile(v, 2) + 1.0, 3) * 2.0,
    "kron": lambda M, x, y, v: M.kron(M.eye(3), x) + 1.0,
    "kron, added up": lambda M, x, y, v: M.kron(x, x).sum(axis=1),
    "merged": lambda M, x, y, v: (x[:, None, :] * M.ones((4, 3, 1))).reshape((12, x.shape[1])) + 1.0,
    "merged, means": lambda M, x, y, v: (x[:, None, :] + M.zeros((4, 5, 1))).reshape((-1,)).mean(),
    "repeated by rows": lambda M, x, y, v: M.repeat(x, 2, axis=0) * M.repeat(x, 2, axis=0).sum(axis=0),
    "roll of a tile": lambda M, x, y, v: M.roll(M.tile(v, 2), 3) * 2.0,
}
DIVIDES = {"repeated by rows", "roll of a tile", "tile, places", "merged", "merged, means"}  # by short lengths; twice
ONLY_FULL = {"kron", "kron, added up", "merged", "merged, means", "tile, columns", "tile, places"}


def kernels(f):
    """The text of the program's loops: where loads and stores are."""
    text = f.source("c").split("/* ---- the program ---- */")[1]
    bodies = [part.split("\n}")[0] for part in text.split("static void kernel")[1:]]
    return "\n".join(line for body in bodies for line in body.splitlines() if "in0" in line)


@pytest.mark.parametrize("case", CASES)
def test_values_and_no_division(case):
    x, y, v = T.dmatrix("x"), T.dmatrix("y"), T.dvector("v")
    f = tg.function([x, y, v], CASES[case](T, x, y, v), on_unused_input="ignore")
    for a, b, c in ((A, B, V), (A[:0], B[:0], V[:0]), (A[:, :0], B[:, :0], V)):
        if a.size == 0 and case in (
            "kron",
            "kron, added up",
            "merged",
            "merged, means",
            "tile, columns",
            "tile, places",
        ):
            continue  # lengths that are written down, extremes of nothing
        np.testing.assert_allclose(f(a, b, c), CASES[case](np, a, b, c), rtol=1e-12, atol=1e-12)
    if case not in DIVIDES:
        assert "%" not in kernels(f) and " / " not in kernels(f), kernels(f)


def test_known_lengths():
    x = T.tensor("x", dtype="float64", shape=(20, 40))
    f = tg.function([x], T.tile(x, (2, 3)) + 1.0)
    a = RNG.normal(size=(20, 40))
    np.testing.assert_array_equal(f(a), np.tile(a, (2, 3)) + 1.0)
    assert "%" not in kernels(f)


def test_random_tiles_repeats_and_blocks():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 6, rng.integers(1, 4)))
        a = rng.normal(size=shape)
        x = T.tensor("x", dtype="float64", shape=[int(n) if rng.random() < 0.3 else None for n in shape])

        def made(M, z, rng):
            for _ in range(rng.integers(1, 4)):
                kind, axis = rng.integers(6), int(rng.integers(z.ndim))
                if kind == 0:
                    z = M.tile(z, tuple(int(n) for n in rng.integers(1, 4, z.ndim)))
                elif kind == 1:
                    z = M.repeat(z, int(rng.integers(1, 4)), axis=axis)
                elif kind == 2:
                    z = z.reshape((-1,))
                elif kind == 3:
                    z = M.transpose(z) * 2.0 + 1.0
                elif kind == 4:
                    z = M.exp(-M.abs(z)) - z
                elif z.ndim > 1:
                    z = z.sum(axis=axis, keepdims=True) * z
            return (z * z + z).sum(axis=int(rng.integers(z.ndim))), z + 1.0

        got = tg.function([x], list(made(T, x, np.random.default_rng(seed + 1000))))(a)
        for have, want in zip(got, made(np, a, np.random.default_rng(seed + 1000)), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9, err_msg=str(seed))


def test_whole_copies_and_a_part_are_read_without_choices():
    x = T.dmatrix("x")
    f = tg.function([x], T.resize(x, (5, 7)))
    g = tg.function([x], tg.grad((T.resize(x, (5, 7)) ** 2).sum(), x))
    for shape in ((0, 3), (1, 1), (2, 3), (5, 7), (6, 6), (4, 20)):
        a = RNG.normal(size=shape)
        np.testing.assert_array_equal(f(a), np.resize(a, (5, 7)))
        times = np.bincount(np.arange(35) % max(a.size, 1), minlength=a.size)[: a.size].reshape(shape)
        np.testing.assert_allclose(g(a), 2 * a * times, rtol=1e-14)
    assert "%" not in kernels(f) + kernels(g)
    assert kernels(f).count("] = in0[") == 2, kernels(f)  # stored as they are read, without a choice

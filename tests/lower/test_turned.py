"""Operands that are read across memory for each row of a result are copied turned round, where that pays."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"


def squares(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(2)


def points(name, *shape, dtype="float64"):
    return T.tensor(name, dtype, shape=shape)


def statements(inputs, *outputs):
    """What is stored, and how: a line each."""
    return str(tg.function(inputs, list(outputs)).stage("storage")).splitlines()


def test_sums_over_pairs_of_points_read_a_copy_with_the_points_side_by_side():
    f = tg.function([x := points("x", 30, 20), y := points("y", 40, 20)], squares(x, y))
    copy, sums = str(f.stage("storage")).splitlines()
    assert copy == "turned0[40*i0 + i1] = load{buf=in1, offset=i0 + 20*i1}()  for i0 < 20, i1 < 40"
    assert "load{buf=turned0, offset=i1 + 40*i2}" in sums and "in1" not in sums
    assert "columns i1 < 40" in str(f.stage("loop tree"))  # whole vectors of points, whose sums are in registers


def test_written_out_sums_read_a_copy_too():
    copy, sums = statements([x := points("x", 30, 3), y := points("y", 40, 3)], squares(x, y))
    assert copy == "turned0[40*i0 + i1] = load{buf=in1, offset=i0 + 3*i1}()  for i0 < 3, i1 < 40"
    assert "load{buf=turned0, offset=40 + i1}" in sums and "in1" not in sums


@pytest.mark.parametrize("rows, points_, features", [(3, 40, 20), (30, 7, 20), (30, 40, 129)])
def test_few_rows_few_points_and_many_features_stay(rows, points_, features):
    x, y = points("x", rows, features), points("y", points_, features)
    assert not any("turned" in line for line in statements([x, y], squares(x, y)))


def test_what_each_element_reads_once_stays():
    x, y, w = points("x", 30, 20), points("y", 40, 20), points("w", 30, 40, 20)
    assert not any("turned" in line for line in statements([x, w], (w * x[:, None]).sum(2)))
    both = statements([x, y, w], squares(x, y), (w * x[:, None]).sum(2))  # one loop, along the rows of `w`
    assert not any("turned" in line for line in both)


def test_of_unknown_lengths_there_are_both():
    """The copy and the sums that read it have no steps where that does not pay, the other sums none where it does."""
    copy, sums, as_before = statements([x := T.dmatrix("x"), y := T.dmatrix("y")], squares(x, y))
    steps = re.search(r"for i0 < (.*)\*n0_0, i1 < n1_0$", sums)[1]
    assert steps.startswith("max(0, 1 + min(") and f"{steps}*n0_1, i1" in copy
    assert f"i0 < -1*{steps}*n0_0 + n0_0, i1" in as_before and "turned" not in as_before


def test_a_fold_of_such_sums_reads_them_from_a_row():
    f = tg.function([x := points("x", 30, 20), y := points("y", 40, 20)], squares(x, y).min(1))
    tree = str(f.stage("loop tree"))
    assert "columns i1 < 40" in tree and "kept in row1[i1]" in tree and "reduce i1 < 40 ['min'] lanes=64" in tree


TABLES = {
    "distances": lambda xp, x, y: squares(x, y),
    "few numbers": lambda xp, x, y: squares(x[:, :3], y[:, :3]),
    "furthest": lambda xp, x, y: abs(x[:, None] - y[None]).max(2),
    "whole numbers": lambda xp, x, y: (4 * x).astype("int32") @ (4 * y).astype("int32").T,
}


def softmax(xp, d):
    e = xp.exp(d - d.max(1, keepdims=True))
    return [e / e.sum(1, keepdims=True)]


READERS = {
    "softmax": softmax,
    "variance": lambda xp, d: [d.var(1)],
    "standard": lambda xp, d: [(d - d.mean(1, keepdims=True)) / (1 + d.std(1, keepdims=True))],
    "less the least": lambda xp, d: [d - d.min(1, keepdims=True)],
    "stored, with its largest": lambda xp, d: [d * 2, d.max(1)],
    "stored, with the largest of all": lambda xp, d: [d * 2, d.max()],
    "scaled": lambda xp, d: [d / (1 + abs(d).sum(1, keepdims=True)), d.argmin(1)],
    "skewness": lambda xp, d: [((d - d.mean(1)[:, None]) ** 3).sum(1)],
    "above the mean": lambda xp, d: [(d > 0.99 * d.mean(1, keepdims=True)).sum(1)],
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("reader", READERS)
def test_sums_that_a_row_is_read_several_times_for_are_made_once(rng, table, reader):
    """Side by side, that is: whatever else the loops of the row compute or store, and of unknown lengths as well."""

    def both(xp, x, y):
        return READERS[reader](xp, TABLES[table](xp, x, y))

    for lengths in ((30, 40), (None, None))[: 1 + (table == "distances")]:
        x, y = points("x", lengths[0], 20), points("y", lengths[1], 20)
        with tg.config.change_flags(cflags=f"{tg.config.cflags} -O0"):
            f = tg.function([x, y], both(T, x, y))
        tree = str(f.stage("loop tree"))
        if reader != "stored, with the largest of all" and table != "few numbers":
            assert tree.count("columns i1") == 1
        if lengths[0]:
            assert "reduce i2" not in tree or "of all" in reader
        for n, m in [(30, 40)] if lengths[0] else [(30, 40), (1, 5), (7, 1), (5, 1030)]:
            a, b = rng.normal(size=(n, 20)), rng.normal(size=(m, 20))
            for found, right in zip(f(a, b), both(np, a, b)):
                np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


SIZES = [0, 1, 3, 4, 7, 8, 9, 17, 40, 128, 129]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
def test_equal_to_numpy_at_all_lengths(rng, dtype):
    x, y = T.matrix("x", dtype=dtype), T.matrix("y", dtype=dtype)
    apart, near = abs(x[:, None] - y[None]), T.any(T.gt(abs(x[:, None] * y[None]), 8), axis=2)
    outputs = [squares(x, y), apart.sum(2), near, T.exp(-apart.sum(2)).sum(1), T.all(near, axis=1)]
    functions = [tg.function([x, y], out) for out in outputs]
    functions.append(tg.function([x, y], outputs))
    for _ in range(40):
        n, m, k = rng.choice(SIZES, 3)
        a, b = (np.asarray(rng.normal(size=(r, k)) * 3).astype(dtype) for r in (n, m))
        if rng.random() < 0.5:
            b = np.asfortranarray(b) if rng.random() < 0.5 else b[::-1]
        apart = a[:, None] - b[None]
        near = (abs(a[:, None] * b[None]) > 8).any(2)
        wanted = [(apart**2).sum(2), abs(apart).sum(2), near, np.exp(-abs(apart).sum(2)).sum(1), near.all(1)]
        rtol = {"float32": 3e-5}.get(dtype, 1e-10)
        found = [f(a, b) for f in functions[:-1]] + functions[-1](a, b)
        for u, v in zip(found, wanted * 2):
            np.testing.assert_allclose(u, v, rtol=rtol)


@pytest.mark.parametrize("n, m, k", [(12, 40, 10), (12, 40, 3), (4, 8, 128), (5, 9, 33)])
def test_equal_to_numpy_of_known_lengths(rng, n, m, k):
    x, y, z = points("x", n, k), points("y", m, k), points("z", 6, m, k)
    a, b, c = rng.normal(size=(n, k)), rng.normal(size=(m, k)), rng.normal(size=(6, m, k))
    outputs = [
        squares(x, y), ((x[None, :, None] - z[:, None]) ** 2).sum(3), (x[:, None] * T.exp(y)[None]).max(2),
        x[:, :1] + y[::2, 1], T.sqrt(squares(x, y)) / (1 + x.sum(1)[:, None]), ((x[:, None] - y[::-1]) ** 2).mean(2),
        squares(x, y).min(1), squares(x, y).argmin(1), squares(y, x).sum(), ((x[:, None] - y[None]).max(2) > 1).sum(0),
        ((x[:, :, None] - y.T[None]) ** 2).sum(1).max(1), (x[:, :1] * y[:, 1]).sum(1),
    ]  # fmt: skip
    wanted = [
        squares(a, b), ((a[None, :, None] - c[:, None]) ** 2).sum(3), (a[:, None] * np.exp(b)[None]).max(2),
        a[:, :1] + b[::2, 1], np.sqrt(squares(a, b)) / (1 + a.sum(1)[:, None]), ((a[:, None] - b[::-1]) ** 2).mean(2),
        squares(a, b).min(1), squares(a, b).argmin(1), squares(b, a).sum(), ((a[:, None] - b[None]).max(2) > 1).sum(0),
        squares(a, b).max(1), (a[:, :1] * b[:, 1]).sum(1),
    ]  # fmt: skip
    for found, v in zip(tg.function([x, y, z], outputs)(a, b, c), wanted):
        np.testing.assert_allclose(found, v, rtol=1e-10)


@pytest.mark.parametrize("known", [False, True])
def test_in_the_steps_of_loops_and_in_gradients(rng, known):
    x = points("x", *((12, 10) if known else (None, None)))
    y = points("y", *((40, 10) if known else (None, None)))
    steps = tg.scan(lambda c: c * 0.5 + squares(c, y).mean(1)[:, None] * 0.01, outputs_info=[x], n_steps=3)[0]
    cost = steps[-1].sum()
    f = tg.function([x, y], [steps[-1], *tg.grad(cost, [x, y])])
    g = tg.function([x, y], [steps[-1], *tg.grad(cost, [x, y])], mode=tg.Mode(linker="py"))
    a, b = rng.normal(size=(12, 10)), rng.normal(size=(40, 10))
    for found, wanted in zip(f(a, b), g(a, b)):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_what_is_written_over_is_copied_before(rng):
    """The new values of points are made from the distances of the old ones."""
    a = rng.normal(size=(20, 10))
    p = tg.shared(a.copy())
    f = tg.function([], squares(p, p), updates=[(p, p + squares(p, p).sum(1)[:, None])])
    wanted = ((a[:, None] - a[None]) ** 2).sum(2)
    np.testing.assert_allclose(f(), wanted)
    np.testing.assert_allclose(p.get_value(), a + wanted.sum(1)[:, None])

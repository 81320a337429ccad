"""Functions that create arrays agree with NumPy: filled, ranges, spaces, matrices, grids."""

import pickle
import re

import numpy as np
import pytest
from helpers import DTYPES, FLOATS, arrays, assert_same, check, quick, run
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import shaping as ops

SOME = ("float64", "int8", "bool", "complex64")


# ---------------------------------------------------------------------- creation
@given(arrays(SOME), st.sampled_from(DTYPES))
@quick()
def test_filled_arrays(x, dtype):
    check(lambda v: T.zeros(v.shape, dtype), lambda a: np.zeros(a.shape, dtype), x)
    check(lambda v: T.ones(v.shape, dtype), lambda a: np.ones(a.shape, dtype), x)
    for name in ("zeros_like", "ones_like"):
        check(getattr(T, name), getattr(np, name), x)
        check(lambda v, n=name: getattr(T, n)(v, dtype), lambda a, n=name: getattr(np, n)(a, dtype), x)
    check(lambda v: T.full_like(v, 1), lambda a: np.full_like(a, 1), x)
    check(lambda v: T.full((2, 3), 7, dtype), lambda a: np.full((2, 3), 7, dtype), x)
    check(lambda v: T.alloc(np.float32(2), 2, v.size), lambda a: np.full((2, a.size), 2, "float32"), x)


@given(st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([1, 2, -1, -3, 0.5, 1.5]))
@quick(40)
def test_ranges(start, stop, step):
    n = np.int64(start)
    check(lambda v: T.arange(v, stop, step), lambda a: np.arange(a, stop, step), n[None][0:1].reshape(()))
    expected = np.arange(start, stop, step)
    made = T.arange(start, stop, step)
    assert made.type.shape == expected.shape and made.type.dtype == expected.dtype.name
    assert_same(run(lambda v: T.arange(start, stop, step, dtype="float32"), np.zeros(())),
                np.arange(start, stop, step, dtype="float32"))  # fmt: skip
    assert_same(evaluate([T.arange(abs(start))])[0], np.arange(abs(start)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float16"])
def test_ranges_of_typed_scalars(dtype):
    check(lambda v: T.arange(v), lambda a: np.arange(a[()]), np.array(5, dtype))
    check(lambda a, b: T.arange(a, b), lambda a, b: np.arange(a[()], b[()]), np.array(1, dtype), np.array(5, "int16"))


BOUNDS = st.integers(-500, 500).map(lambda n: n / 100)


@given(BOUNDS, BOUNDS, st.integers(0, 6), st.booleans(), st.sampled_from([None, "int32", "float32"]))
@quick(40)
def test_linspace(start, stop, num, endpoint, dtype):
    if dtype == "int32":
        start, stop = round(start) + 0.5, round(stop) + 0.25  # whole numbers are up to rounding
    check(lambda a, b: T.linspace(a, b, num, endpoint, dtype),
          lambda a, b: np.linspace(a, b, num, endpoint, dtype=dtype), np.array(start), np.array(stop))  # fmt: skip
    check(lambda a, b: T.logspace(a, b, num, endpoint), lambda a, b: np.logspace(a, b, num, endpoint),
          np.array(start), np.array(stop))  # fmt: skip
    if start * stop > 0:
        check(lambda a, b: T.geomspace(a, b, num, endpoint), lambda a, b: np.geomspace(a, b, num, endpoint),
              np.array(start), np.array(stop))  # fmt: skip


def test_spaces_of_arrays_and_symbolic_counts():
    a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    for name in ("linspace", "geomspace"):
        for k in (0, 1, -1):
            ours, numpys = getattr(T, name), getattr(np, name)
            check(lambda x, y, f=ours, k=k: f(x, y, 4, axis=k), lambda x, y, f=numpys, k=k: f(x, y, 4, axis=k), a, b)
    for num in (0, 1, 5):
        check(lambda n: T.linspace(0, 1, n), lambda n: np.linspace(0, 1, int(n)), np.array(num))
    check(lambda x: T.linspace(x, 1, 3), lambda x: np.linspace(x, 1, 3), np.array(1 + 2j))
    check(lambda x: T.linspace(x, 1, 3), lambda x: np.linspace(x, 1, 3), np.array(3, "float32"))


@pytest.mark.parametrize("k", [-4, -1, 0, 2, 5])
def test_matrices(k):
    for n, m in ((3, 4), (4, 2), (0, 2), (1, 1)):
        _check_matrices(n, m, k)
    vector = np.array([1.0, np.nan, 3.0])
    check(lambda v: T.diag(v, k), lambda a: np.diag(a, k), vector)
    check(T.tril, np.tril, vector)
    assert T.eye(3).type.shape == (3, 3) and T.identity(2, "int8").type.dtype == "int8"
    batch = run(lambda v: ops.alloc_diag(v, offset=1), np.ones((2, 3)))
    assert batch.shape == (2, 4, 4) and batch.sum() == 6
    check(lambda v: T.fill_diagonal(v, 5), lambda a: np.where(np.eye(2, 3, dtype=bool), 5, a), np.ones((2, 3)))
    check(lambda v: T.identity_like(v), lambda a: np.eye(2, 3), np.ones((2, 3)))


def _check_matrices(n, m, k):
    size = np.empty((n, m), "float32")
    check(lambda v: T.eye(v.shape[0], v.shape[1], k), lambda a: np.eye(n, m, k), size)
    check(lambda v: T.tri(v.shape[0], v.shape[1], k), lambda a: np.tri(n, m, k), size)
    full = np.arange(2.0 * n * m).reshape(2, n, m) + 1
    full[full == 3] = np.nan
    for name in ("tril", "triu"):
        check(lambda v, f=name: getattr(T, f)(v, k), lambda a, f=name: getattr(np, f)(a, k), full)
    if -n <= k <= m:
        check(lambda v: T.diagonal(v, k, 1, 2), lambda a: np.diagonal(a, k, 1, 2), full)
        check(lambda v: T.diagonal(v, k, 2, 0), lambda a: np.diagonal(a, k, 2, 0), full) if n else None
        check(lambda v: T.diag(v, k), lambda a: np.diag(a, k), full[0])


@given(arrays(FLOATS, min_dims=1, max_dims=1), arrays(("int8",), min_dims=1, max_dims=1), st.booleans())
@quick()
def test_meshgrid(x, y, sparse):
    for indexing in ("xy", "ij"):
        for count in (1, 2, 3):
            given_arrays = (x, y, np.arange(2.0))[:count]
            check(lambda *v, i=indexing: T.meshgrid(*v, indexing=i, sparse=sparse),
                  lambda *a, i=indexing: list(np.meshgrid(*a, indexing=i, sparse=sparse)), *given_arrays)  # fmt: skip


# ---------------------------------------------------------------------- arrays that are not written
@pytest.mark.parametrize("linker", ["auto", "py"])
@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT", "DEBUG_MODE"])
def test_what_is_computed_from_an_empty_array_is_computed_from_zeros(mode, linker):
    n, x = T.lscalar("n"), T.dmatrix("x")
    e, like = T.empty((n, 3), "int8"), T.empty_like(x)
    rows = T.set_subtensor(like[0], 2.0)
    f = tg.function(
        [n, x],
        [e, e + 1, T.empty((n, 3), "int8"), like, rows, T.empty(())],
        mode=tg.get_mode(mode).clone(linker=linker),
    )
    for k in (4, 0):
        given = np.ones((2, k))
        first, ones, again, found, rows, number = f(k, given)
        assert first.shape == again.shape == (k, 3) and first.dtype == "int8" and found.shape == (2, k)
        assert number.shape == () and not np.shares_memory(first, again) and not np.shares_memory(found, given)
        np.testing.assert_array_equal(ones, np.ones((k, 3)))
        np.testing.assert_array_equal(rows, [[2.0] * k, [0.0] * k])
    with pytest.raises(ShapeError, match="negative"):
        f(-1, given)


def test_variables_gradients_and_loops_take_zeros_for_an_empty_array():
    s, x = tg.shared(np.ones(3)), T.dvector("x")
    slope = tg.grad(T.sum((x + T.empty_like(x)) ** 2), x)
    steps, _ = tg.scan(lambda c: c + 1, outputs_info=T.empty(2), n_steps=3)
    f = tg.function([x], [T.empty(3), slope, steps], updates={s: T.empty(3)})
    np.testing.assert_array_equal(f(np.ones(3))[1], np.full(3, 2.0))
    np.testing.assert_array_equal(f(np.ones(3))[2][-1], [3.0, 3.0])
    np.testing.assert_array_equal(s.get_value(), np.zeros(3))


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
def test_an_empty_result_is_not_written():
    x = T.dmatrix("x")
    zeros, f = (tg.function([x], make(x), mode=tg.Mode(linker="c")) for make in (T.zeros_like, T.empty_like))
    assert "kernel0" in zeros.source("c") and "kernel0" not in f.source("c")
    assert pickle.loads(pickle.dumps(f))(np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("linker", ["auto", "py"])
def test_an_empty_array_of_negative_length_is_told_by_the_users_line(linker):
    n = T.lscalar("n")
    f = tg.function([n], T.empty((2, n)), mode=tg.Mode(linker=linker))
    with pytest.raises(ShapeError) as told:
        f(-1)
    text = str(told.value)
    assert "test_creation.py" in text and "T.empty((2, n))" in text and "unwritten" not in text
    assert re.search("negative.*-1", text)

"""Linear algebra, transforms and sorting inside compiled programs: NumPy's meaning, without Python in between."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.placement import why_not
from termgraph.backends.c.run.bind import compile_terms
from termgraph.function.compiled import MachineFunction
from termgraph.terms.dtypes import kind_of, numpy_dtype
from termgraph.terms.ops import fft, linalg, sorting
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType, TupleType

SQUARE = [
    linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, linalg.cholesky.bind(lower=False), linalg.eigh,
    linalg.eigh.bind(lower=False), linalg.eigvalsh, linalg.eig, linalg.eigvals,
]  # fmt: skip
RECTANGULAR = [
    linalg.svd, linalg.svd.bind(full_matrices=False), linalg.svdvals, linalg.qr, linalg.qr.bind(mode="complete"),
]  # fmt: skip
SOLVERS = [
    linalg.solve, linalg.solve_triangular, linalg.solve_triangular.bind(lower=True, trans="T"),
    linalg.solve_triangular.bind(trans="C", unit_diagonal=True), linalg.solve_triangular.bind(lower=True),
]  # fmt: skip
TRANSFORMS = [
    op.bind(norm=norm, n=n)
    for op in (fft.fft, fft.ifft, fft.rfft, fft.irfft)
    for norm, n in (("backward", None), ("ortho", 7), ("forward", 4))
]


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape) * 3
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def positive(rng, shape, dtype):
    x = numbers(rng, shape, dtype)
    return (x @ np.swapaxes(x.conj(), -1, -2) + 2 * np.eye(shape[-1])).astype(dtype)


def results(t):
    return [mk(nth.bind(i=i), (t,)) for i in range(len(t.type.types))] if isinstance(t.type, TupleType) else [t]


IN_LANES = ("inv", "det", "slogdet", "cholesky", "solve")  # many real matrices at once, not by NumPy's loops


def check_ops(ops, *many):
    """All ops in one program, called with each of several lists of arrays of the same types."""
    args = [Arg(i, TensorType(a.dtype.name, (None,) * a.ndim)) for i, a in enumerate(many[0])]
    terms = [mk(op, tuple(args)) for op in ops]
    assert all(why_not(t) is None for t in terms)
    f = compile_terms(args, [r for t in terms for r in results(t)], returns="tuple")
    for arrays in many:
        got = list(f(*arrays))
        for op in ops:
            with np.errstate(invalid="ignore"):
                want = op.meaning(*arrays)
            for w in want if isinstance(want, tuple) else (want,):
                g, w = got.pop(0), np.asarray(w)
                assert (g.dtype, g.shape) == (w.dtype, w.shape), op
                single = g.dtype.name in ("float32", "complex64")  # of transforms: computed in single precision
                own = op.family.name in IN_LANES and max(a.ndim for a in arrays) > 2 and arrays[0].dtype.kind != "c"
                exact = not own and op.family is not linalg.solve_triangular.family and op.kind != "fft"
                rtol = 0 if exact else 1e-5 if single else 1e-13 if own or op.kind == "fft" else 1e-11
                np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, equal_nan=True, err_msg=str(op))


# ---------------------------------------------------------------------- linear algebra
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int32"])
def test_matrices(rng, dtype):
    squares = [positive(rng, (n, n), dtype) for n in (4, 1, 0)]
    strided = positive(rng, (9, 9), dtype)[::-2, ::-2]
    check_ops(SQUARE, *[(a,) for a in squares], (strided,), (strided.T,))
    shapes = [(3, 5), (5, 3), (1, 4), (4, 4), (0, 2), (2, 0)]
    check_ops(RECTANGULAR, *[(numbers(rng, shape, dtype),) for shape in shapes], (numbers(rng, (5, 4), dtype).T,))
    right = [(positive(rng, (n, n), dtype), numbers(rng, (n, k), dtype)) for n, k in ((4, 3), (4, 1), (3, 0), (0, 2))]
    check_ops(SOLVERS, *right, (strided.T, numbers(rng, (5, 6), dtype)[:, ::-1]))


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_batches_of_matrices(rng, dtype):
    batches = [positive(rng, (2, 3, 4, 4), dtype), positive(rng, (0, 3, 2, 2), dtype)]
    check_ops(SQUARE, *[(a,) for a in batches], (np.swapaxes(batches[0], 0, 1),))
    check_ops(RECTANGULAR, (numbers(rng, (2, 3, 4, 5), dtype),), (numbers(rng, (1, 2, 5, 3), dtype),))
    check_ops(SOLVERS, (positive(rng, (3, 4, 4), dtype), numbers(rng, (2, 3, 4, 2), dtype)))
    many = positive(rng, (600, 6, 6), dtype)  # enough for several threads
    check_ops([linalg.inv, linalg.svdvals], (many,))


def test_an_operand_with_one_matrix_for_a_whole_batch(rng):
    a, b = T.dmatrix("a"), T.dtensor3("b")
    f = tg.function([a, b], T.linalg.solve(a, b), mode="FAST_RUN")
    x, y = positive(rng, (3, 3), "float64"), rng.normal(size=(4, 3, 2))
    np.testing.assert_allclose(f(x, y), np.linalg.solve(x, y))


@pytest.mark.parametrize(
    "build, value",
    [
        (lambda a: T.linalg.inv(a), np.zeros((3, 3))),
        (lambda a: T.linalg.solve(a, a + 1), np.zeros((3, 3))),
        (lambda a: T.linalg.cholesky(a), -np.eye(3)),
        (lambda a: T.linalg.solve_triangular(a, a + 1), np.diag([1.0, 2.0, 0.0])),
        (lambda a: T.linalg.svd(a)[1], np.full((3, 3), np.inf)),
        (lambda a: T.linalg.eigh(a)[0], np.full((3, 3), np.nan)),
        (lambda a: abs(T.linalg.eigvals(a)), np.full((3, 3), np.nan)),
    ],
)  # fmt: skip
def test_failures_read_the_same_and_change_nothing(build, value):
    a, count = T.dmatrix("a"), tg.shared(np.zeros(3))
    messages = []
    for linker in ("py", "c"):
        f = tg.function([a], build(a), updates=[(count, count + a[0, 0] + 1)], mode=tg.Mode(linker=linker))
        f(np.eye(3))
        before = count.get_value()
        with pytest.raises(np.linalg.LinAlgError) as caught:
            f(value)
        np.testing.assert_array_equal(count.get_value(), before)
        place, line, *_, why = str(caught.value).partition("  operand")[0].splitlines()
        messages.append((place, line, why))
    assert not isinstance(f, MachineFunction)
    assert messages[0] == messages[1] and "lambda a" in messages[0][1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "build, value",
    [
        (lambda a: T.linalg.solve(a, a + 1, on_error="nan"), np.zeros((3, 3))),
        (lambda a: T.linalg.cholesky(a, on_error="nan"), -np.eye(3)),
        (lambda a: T.linalg.solve_triangular(a, a + 1, on_error="nan"), np.diag([1.0, 2.0, 0.0])),
    ],
)
def test_failures_give_nan_when_asked(build, value, dtype):
    a = T.tensor("a", dtype=dtype, shape=(None, None, None))
    f = tg.function([a], build(a), mode=tg.Mode(linker="c"))
    assert not isinstance(f, MachineFunction)
    good = np.eye(3)
    found = f(np.array([good, value, good], dtype))
    assert np.isnan(found[1]).all() and np.isfinite(found[[0, 2]]).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
def test_least_squares(rng, dtype):
    a, b = (Arg(i, TensorType(dtype, (None, None))) for i in range(2))
    terms = [mk(linalg.lstsq.bind(rcond=rcond), (a, b)) for rcond in (None, 0.3)]
    f = compile_terms([a, b], [mk(nth.bind(i=i), (t,)) for t in terms for i in (0, 2, 3)], returns="tuple")
    low = numbers(rng, (5, 2), dtype) @ numbers(rng, (2, 4), dtype)
    for matrix in (numbers(rng, (6, 3), dtype), numbers(rng, (3, 6), dtype)[:, ::-1], low, low[:0], low[:, :0]):
        for k in (2, 1, 0):
            right = numbers(rng, (k, len(matrix)), dtype).T
            want = [part for t in terms for i, part in enumerate(t.op.meaning(matrix, right)) if i != 1]
            for g, w in zip(f(matrix, right), want):
                np.testing.assert_array_equal(g, w)
                assert g.dtype == w.dtype
    if dtype == "float64":
        with pytest.raises(np.linalg.LinAlgError, match="lstsq needs finite numbers"):
            f(np.ones((3, 2)), np.full((3, 1), np.inf))


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (2, 1, 7), (5, 5, 1), (7, 4, 4), (8, 7, 1), (9, 8, 8), (30, 17, 3),
                                     (64, 64, 64), (101, 50, 23), (300, 40, 1)])  # fmt: skip
def test_least_squares_of_full_rank(m, n, k, rng):
    a, b = T.dmatrices("a", "b")
    f = tg.function([a, b], T.linalg.lstsq(a, b)[0], mode=tg.Mode(linker="c"))
    assert "tg_least_squares_f64" in f.source("c")
    matrix, right = rng.normal(size=(m, n)) + 3 * np.eye(m, n), rng.normal(size=(m, k))
    for left in (matrix, np.asfortranarray(matrix), matrix[::-1]):
        for side in (right, np.asfortranarray(right)[::-1]):
            want = np.linalg.lstsq(left, side, rcond=None)[0]
            np.testing.assert_allclose(f(left, side), want, rtol=1e-9, atol=1e-10)
    twice = np.concatenate([matrix, matrix[:, :1]], axis=1)  # of lower rank: NumPy's routine says
    np.testing.assert_allclose(f(twice, right), np.linalg.lstsq(twice, right, rcond=None)[0], rtol=1e-7, atol=1e-8)
    right[-1, -1] = np.inf
    with pytest.raises(np.linalg.LinAlgError, match="lstsq needs finite numbers"):
        f(matrix, right)


def test_nan_is_no_failure(rng):
    a = np.full((3, 3), np.nan)
    check_ops([linalg.inv, linalg.det, linalg.slogdet], (a,))


def test_shapes_that_do_not_fit():
    a, b = T.dmatrix("a"), T.dmatrix("b")
    f = tg.function([a, b], T.linalg.solve(a, b), mode=tg.Mode(linker="c"))
    with pytest.raises(ValueError, match="square matrices, got one of 2 rows and 3 columns"):
        f(np.ones((2, 3)), np.ones((2, 1)))
    with pytest.raises(ValueError, match="the matrix has 2 rows, the right side has 3"):
        f(np.eye(2), np.ones((3, 1)))


def test_a_loop_with_a_solve_in_its_step_is_one_native_call(rng):
    a, x = T.dtensor3("a"), T.dmatrix("x")
    out, _ = tg.scan(lambda m, v: T.linalg.solve(m, v) + 1, sequences=[a], outputs_info=[x])
    f = tg.function([a, x], out, mode=tg.Mode(linker="c"))
    assert not isinstance(f, MachineFunction)
    matrices, v = positive(rng, (5, 3, 3), "float64"), rng.normal(size=(3, 2))
    want = []
    for m in matrices:
        want.append(np.linalg.solve(m, want[-1] if want else v) + 1)
    np.testing.assert_allclose(f(matrices, v), want)
    matrices[3] = 0
    with pytest.raises(np.linalg.LinAlgError, match="in step 3 of"):
        f(matrices, v)


def test_gradient_of_a_gaussian_density(rng):
    k, y = T.dmatrix("k"), T.dvector("y")
    chol = T.linalg.cholesky(k)
    z = T.linalg.solve_triangular(chol, y, lower=True)
    cost = 0.5 * T.sum(z**2) + T.sum(T.log(T.diagonal(chol)))
    made = [tg.function([k, y], [cost, tg.grad(cost, k)], mode=tg.Mode(linker=linker)) for linker in ("c", "py")]
    assert not isinstance(made[0], MachineFunction)
    values = positive(rng, (5, 5), "float64"), rng.normal(size=5)
    for got, want in zip(*[f(*values) for f in made]):
        np.testing.assert_allclose(got, want, rtol=1e-9)


# ---------------------------------------------------------------------- transforms
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int16"])
def test_transforms(rng, dtype):
    ops = [op for op in TRANSFORMS if np.dtype(dtype).kind != "c" or op.family is not fft.rfft.family]
    arrays = [numbers(rng, (3, n), dtype) for n in (8, 7, 2)] + [numbers(rng, (12, 5), dtype).T[:, ::-2]]
    for axis in (0, 1):
        check_ops([op.bind(**{**op.params, "axis": axis}) for op in ops], *[(a,) for a in arrays])


def test_a_transform_of_nothing():
    x = T.dvector("x")
    f = tg.function([x], abs(T.fft.fft(x)), mode=tg.Mode(linker="c"))
    assert not isinstance(f, MachineFunction)
    with pytest.raises(ValueError, match="Invalid number of FFT data points"):
        f(np.zeros(0))


# ---------------------------------------------------------------------- order
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex128", "int8", "bool", "uint64"])
def test_sorting(rng, dtype):
    def values(*shape):
        x = (rng.integers(-5, 6, shape) * 1.0).astype(numpy_dtype(dtype))
        if kind_of(dtype) == "f" and x.size:
            x.flat[::4], x.flat[1::5] = np.nan, -0.0
        return x

    arrays = [values(4, 30), values(1, 1), values(0, 3), values(3, 0), values(7, 40)[::-2, ::3]]
    ops = [op.bind(axis=axis) for op in (sorting.sort, sorting.argsort) for axis in (0, 1)]
    if dtype != "complex128":
        check_ops(
            [sorting.argtopk.bind(axis=a, k=k) for a in (0, 1) for k in (1, -3)], (values(4, 30),), (values(3, 3),)
        )
    check_ops(ops, *[(a,) for a in arrays])
    check_ops([sorting.sort, sorting.argsort], (values(500),))


@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("int32", "float32"), ("uint8", "int16")])
def test_searchsorted(rng, dtypes):
    table = np.sort(rng.integers(0, 9, 20).astype(dtypes[0]))
    value = rng.integers(0, 10, (4, 3)).astype(dtypes[1])
    if value.dtype.kind == "f":
        value[0, 0] = np.nan
    ops = [sorting.searchsorted, sorting.searchsorted.bind(side="right")]
    many = np.resize(value, (13, 11))  # some by many at once, the rest one by one
    check_ops(ops, (table, value), (table[:0], value), (table[::2], value.T), (table, value[:0]))
    check_ops(ops, (table, many), (table[:0], many), (table[:1], many[::-1, ::2]), (table[::3], many.T))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex64"])
def test_running_sums_have_numpys_bits(rng, dtype):
    x = (
        rng.standard_normal((5, 19, 23)).astype(dtype)
        if dtype[0] in "fc"
        else rng.integers(0, 3, (5, 19, 23)).astype(dtype)
    )
    if dtype[0] == "f":
        x[0, 0, 0], x[1, 2, 3] = -0.0, np.nan
    for a in (x, x[::-1, ::2, ::-1], x[:, :0], x[:, :, :0], x[:, 3], x[1, 2], x.T):
        v = T.tensor(dtype=a.dtype.name, shape=(None,) * a.ndim)
        for f, meaning in ((T.cumsum, np.cumsum), (T.cumprod, np.cumprod)):
            for axis in range(a.ndim):
                got = tg.function([v], f(v, axis=axis), mode=tg.Mode(linker="c"))(a)
                wanted = tg.function([v], f(v, axis=axis), mode=tg.Mode(linker="py"))(a)
                np.testing.assert_array_equal(got, wanted)
                if dtype != "complex64":
                    np.testing.assert_array_equal(got, meaning(a, axis=axis))


def test_where_nothing_can_be_called_python_runs_it(monkeypatch):
    from termgraph.backends.c import placement

    monkeypatch.setattr(placement, "available", lambda names: False)
    x = T.dmatrix("x")
    f = tg.function([x], T.sort(x, axis=0) * 2, mode=tg.Mode(linker="auto"))
    assert isinstance(f, MachineFunction)
    np.testing.assert_array_equal(f([[2.0], [1.0]]), [[2.0], [4.0]])

"""Names of NumPy: those that came last agree with it, and each that is missing has its reason here."""

import inspect

import numpy as np
import pytest
from helpers import DTYPES, FLOATS, arrays, assert_same, check, quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

MODES = ["FAST_RUN", "FAST_COMPILE", tg.Mode(linker="py")]
SEVERAL = [[1.0, 2.0], [1.0, 2.0, 3.0], [1.0], [], [2.0, 2.0], [np.nan, 1.0]]

MISSING = {
    "dtypes, known while building": "common_type issubdtype min_scalar_type mintypecode typename",
    "makes arrays of files, texts or memory; their values are constants": "asarray_chkfinite asmatrix bmat "
    "from_dlpack frombuffer fromfile fromiter frompyfunc fromregex fromstring genfromtxt load loadtxt",
    "writes texts or files": "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific get_printoptions info printoptions save savetxt savez savez_compressed set_printoptions "
    "show_config show_runtime",
    "about NumPy itself or memory": "ascontiguousarray asfortranarray einsum_path get_include getbufsize geterr "
    "geterrcall isfortran iterable may_share_memory nested_iters require setbufsize seterr seterrcall shares_memory "
    "test isscalar asanyarray broadcast_shapes",
    "days and dates": "busday_count busday_offset datetime_as_string datetime_data is_busday isnat",
    "changes its argument": "copyto",
    "the error says what to write": "copy",
    "an older name": "row_stack",
    "not yet": "real_if_close",
}


@pytest.mark.parametrize("space, numpys", [(T, np), (T.linalg, np.linalg), (T.fft, np.fft)], ids=["", "linalg", "fft"])
def test_a_name_of_numpy_is_here_or_has_a_reason(space, numpys):
    public = [n for n in dir(numpys) if n[0] != "_" and callable(getattr(numpys, n))]
    functions = {n for n in public if not inspect.isclass(getattr(numpys, n))}
    excused = {n for names in MISSING.values() for n in names.split()}
    assert functions - set(dir(space)) - excused == set(), "new names of NumPy: add them, or say why not"
    assert not excused & set(dir(T)), "these are here by now"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_equal_arrays_of_any_length(mode):
    v, w, m = T.dvector(), T.dvector(), T.dmatrix()
    f = tg.function(
        [v, w, m],
        [T.array_equal(v, w), T.array_equal(v, w, equal_nan=True), T.array_equiv(v, w), T.array_equiv(m, w)], mode=mode,
    )  # fmt: skip
    for a in map(np.array, SEVERAL):
        for b in map(np.array, SEVERAL):
            many = np.stack([a, a])
            want = [
                np.array_equal(a, b),
                np.array_equal(a, b, equal_nan=True),
                np.array_equiv(a, b),
                np.array_equiv(many, b),
            ]
            assert [bool(g) for g in f(a, b, many)] == want


@given(a=arrays(DTYPES), b=arrays(DTYPES))
@quick()
def test_equal_arrays_of_any_dtype(a, b):
    check(T.array_equal, lambda x, y: np.asarray(np.array_equal(x, y)), a, b)
    check(T.array_equal, lambda x, y: np.asarray(np.array_equal(x, y)), a, a.copy())
    check(T.array_equiv, lambda x, y: np.asarray(np.array_equiv(x, y)), a, b)
    check(T.isreal, np.isreal, a)
    check(T.iscomplex, np.iscomplex, a)
    assert T.iscomplexobj(a) == np.iscomplexobj(a) and T.isrealobj(T.as_tensor(a)) == np.isrealobj(a)


@given(a=arrays(DTYPES), data=st.data())
@quick()
def test_put_together_and_trimmed(a, data):
    check(lambda x: T.append(x, x), lambda x: np.append(x, x), a)
    check(lambda x: T.diagflat(x, -1), lambda x: np.diagflat(x, -1), a)
    if a.ndim:
        check(lambda x: T.append(x, x, axis=-1), lambda x: np.append(x, x, axis=-1), a)
        trim, axis = data.draw(st.sampled_from(["f", "b", "fb"])), data.draw(st.sampled_from([None, -1, 0]))
        if a.size:
            check(lambda x: T.trim_zeros(x, trim, axis), lambda x: np.trim_zeros(x, trim, axis), a)


@given(a=arrays([d for d in DTYPES if d not in ("complex64", "complex128")]), b=arrays(FLOATS, shape=()))
@quick()
def test_in_floats(a, b):
    check(T.fabs, np.fabs, a)
    check(T.float_power, np.float_power, a, b, rtol=1e-12)
    check(T.around, np.around, a)
    if a.dtype not in (np.float16, np.int8, np.uint8, np.bool_):  # whose gaps below negative numbers NumPy halves
        check(T.spacing, np.spacing, a, rtol=0)


def test_floats_refuse_complex_numbers():
    for f in (T.fabs, T.spacing, T.modf):
        with pytest.raises(TypeError, match=f"{f.__name__} is defined for real numbers only, got"):
            f(T.zvector())


def test_indices():
    n = T.lscalar()
    for shape in ((2, 3), (0, 2), (4,), ()):
        assert_same(T.indices(shape).eval(), np.indices(shape))
    assert_same(T.indices((n, 3), dtype="int16").eval({n: 2}), np.indices((2, 3), dtype="int16"))
    for ours, numpys in zip(T.indices((n, 3), sparse=True), np.indices((2, 3), sparse=True), strict=True):
        assert_same(tg.function([n], ours, on_unused_input="ignore")(2), numpys)


def test_tensor_equations(rng):
    a, b = rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 3))
    A, B = T.dtensor3(), T.dmatrix()
    np.testing.assert_allclose(T.linalg.tensorsolve(A, B).eval({A: a, B: b}), np.linalg.tensorsolve(a, b))
    four, ones = rng.normal(size=(2, 6, 3, 1)), np.ones((6, 1))
    got = T.linalg.tensorsolve(four, ones, axes=(0, 2)).eval()
    np.testing.assert_allclose(got, np.linalg.tensorsolve(four, ones, (0, 2)))
    tg.verify_grad(T.linalg.tensorsolve, [a, b], rng=np.random.RandomState(1))
    with pytest.raises(ValueError, match="tensorsolve: .* must have more dimensions"):
        T.linalg.tensorsolve(np.ones((2, 3)), np.ones((2, 2)))


def test_gradients(rng):
    a = rng.normal(size=(2, 3))
    for f in (
        lambda x: T.append(x, x * 2), lambda x: T.diagflat(x, 1), lambda x: T.trim_zeros(x), lambda x: T.fabs(x),
        lambda x: T.float_power(x, 2), lambda x: x[True], lambda x: x[False, :, 0], lambda x: x + T.spacing(x),
    ):  # fmt: skip
        tg.verify_grad(f, [a], rng=np.random.RandomState(1))


# ---------------------------------------------------------------------- truth values as indices
KEYS = [
    True, False, (None, True), (True, None), (True, 0), (0, True), (..., True), (..., False), (True, [0, 1]),
    (slice(1), True), (0, slice(None), True), (True, slice(None), 0), (True, False), (np.True_,), np.array(False),
    ([0, 1], slice(None), True), (True, ..., 0), (0, 0, 0, True), (slice(None), np.eye(3, 4) > 0, True),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_truth_values_as_indices(key):
    a = np.arange(24.0).reshape(2, 3, 4)
    check(lambda x: x[key], lambda x: x[key], a)
    check(lambda x: x[True], lambda x: x[True], np.array(3.0))


def test_what_truth_values_do_not_select():
    x = T.dtensor3("x")
    with pytest.raises(IndexError, match="too many indices: x has 3 dimensions, 4 are indexed"):
        x[True, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="do not broadcast"):
        x[False, [0, 1]]
    with pytest.raises(IndexError, match="a single truth value"):
        x[T.tensor("b", dtype="bool", shape=())]


# ---------------------------------------------------------------------- numbers of points
@pytest.mark.parametrize("mode", [*MODES, "DEBUG_MODE", "STRICT"], ids=str)
@pytest.mark.parametrize("line", [T.linspace, T.logspace, T.geomspace])
def test_negative_numbers_of_points_are_refused(line, mode):
    n = T.lscalar("n")
    f = tg.function([n], line(1.0, 2.0, n), mode=mode)
    assert f(0).shape == (0,) and f(3).shape == (3,)
    with pytest.raises(ShapeError, match=r"(?s)test_names\.py.*-1"):
        f(-1)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        line(1.0, 2.0, -1)

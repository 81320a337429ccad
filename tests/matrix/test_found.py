"""What the matrix found, each in the smallest program: the classes stay mended."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.c.build.compilers import find_compiler

LINKERS = ["py", pytest.param("auto", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]


def value(inputs, outputs, *values, linker="py", rules="None"):
    return tg.function(inputs, outputs, mode=tg.Mode(optimizer=rules, linker=linker))(*values)


@pytest.mark.parametrize("linker", LINKERS)
def test_an_index_is_a_factor_of_a_product(linker):
    """`i0 / 2 + 1` times 2, written where it is used, lost its parentheses."""
    v = T.cast(T.arange(3) * 2 + 1, "float64")
    z = T.inc_subtensor(T.zeros((8,), "float64")[0:5:2], v)
    z = T.inc_subtensor(z[2:8:2], v)
    np.testing.assert_array_equal(value([], z[2:6], linker=linker), [4, 0, 8, 0])
    x = T.dmatrix("x")
    y = T.signal.pool_2d(x, (1, 3), stride=(2, 2), pad=(0, 2), mode="average_exc_pad", ignore_border=True)
    got = value([x], tg.grad(y.sum(), x), np.array([[1.0, 2, 3, 4]]), linker=linker)
    np.testing.assert_allclose(got, [[4 / 3, 1 / 3, 5 / 6, 1 / 2]])


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int8"])
def test_the_place_of_the_largest_number_of_one(linker, dtype):
    x = T.tensor("x", dtype=dtype, shape=())
    given = np.asarray(5).astype(x.type.np_dtype)
    assert [int(v) for v in value([x], [T.argmax(x), T.argmin(x)], given, linker=linker)] == [0, 0]


@pytest.mark.parametrize("linker", LINKERS)
def test_powers_of_complex_numbers(linker):
    z, w = T.zscalar("z"), T.zscalar("w")
    f = tg.function([z, w], z**w, mode=tg.Mode(optimizer="None", linker=linker))
    for a in (0j, complex("nan"), complex("inf"), 2 + 1j):
        assert f(a, 0j) == 1
    assert f(0j, 2 + 1j) == 0 and f(1 + 1j, 2) == 2j and f(1j, -1) == -1j and np.isnan(f(0j, -1))


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("k", [0, 1, -1, 5])
def test_gradients_of_diagonals_of_every_shape(linker, k):
    x = T.dmatrix("x")
    f = tg.function([x], tg.grad((T.diagonal(x, k) ** 2).sum(), x), mode=tg.Mode(linker=linker))
    for shape in [(3, 0), (0, 3), (1, 3), (3, 1), (2, 2), (4, 3)]:
        np.testing.assert_array_equal(f(np.ones(shape)), 2 * np.eye(*shape, k=k))


def test_nothing_has_a_median_and_no_edges_have_bins():
    x, edges = T.dmatrix("x"), T.dvector("edges")
    np.testing.assert_array_equal(value([x], T.median(x, 1), np.zeros((2, 0))), [np.nan, np.nan])
    np.testing.assert_array_equal(value([x, edges], T.digitize(x, edges), np.ones((1, 2)), np.zeros(0)), [[0, 0]])
    np.testing.assert_array_equal(value([x], T.linalg.matrix_rank(x), np.zeros((0, 3))), 0)


@pytest.mark.parametrize("linker", LINKERS)
def test_nothing_is_read_for_arrays_known_to_be_empty(linker):
    """A loop without iterations: an index that does not depend on its variable was read, and refused."""
    i, x, y = T.tensor(dtype="int64", shape=(0,)), T.tensor(dtype="float64", shape=(0, 3)), T.dmatrix()
    outputs = [x[i], x[i].sum(), x[i].prod(), T.any(x[i] > 0), T.all(x[i] > 0), y[i], T.inc_subtensor(y[i], 2)]
    got = value([x, y, i], outputs, np.zeros((0, 3)), np.ones((2, 3)), np.zeros(0, int), linker=linker)
    assert [v.shape for v in got] == [(0, 3), (), (), (), (), (0, 3), (2, 3)]
    assert [float(v) for v in got[1:5]] == [0, 1, 0, 1]


def test_convolutions_of_different_kinds():
    a, b, c = np.array([True, False, True]), np.array([1, 2], "int16"), np.array([True, True])
    for x, y in [(a, b), (a, c), (b, a)]:
        got, want = T.convolve(T.constant(x), T.constant(y)).eval(), np.convolve(x, y)
        assert got.dtype == want.dtype and (got == want).all()


def test_names_that_meant_something_else():
    assert T.iround(T.constant([0.5, 1.5, -2.7])).eval().tolist() == [0, 2, -3]
    assert T.iround(T.constant(2.5)).type.dtype == "int64"
    x = T.dtensor3("x")
    got, want = value([x], T.fill_diagonal(x, 7), np.zeros((3, 3, 3))), np.zeros((3, 3, 3))
    np.fill_diagonal(want, 7)
    np.testing.assert_array_equal(got, want)
    a = T.fmatrix("a")
    both = value([a], list(T.linalg.slogdet(a)), np.eye(2, dtype="f"))
    assert [type(v) for v in both] == [np.ndarray] * 2


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("rules", ["None", "FAST_RUN"])
def test_whole_numbers_are_rounded_to_tens_exactly(linker, rules):
    """As floats they lost digits; beyond the largest number C made something else of them than NumPy."""
    for dtype in ("uint8", "uint32", "uint64", "int8", "int64"):
        info = np.iinfo(dtype)
        given = [3, 5, 14, 15, 25, 26, info.max, info.max - 6, info.min, *([-5, -15, -25, -26] if info.min else [])]
        whole = [q * 10 + (r > 5 or (r == 5 and q % 2)) * 10 for q, r in (divmod(v, 10) for v in given)]
        expected = [v % 2**info.bits for v in whole]
        x = T.tensor("x", dtype=dtype, shape=(None,))
        found = value([x], T.round(x, -1), np.array(given, dtype=dtype), linker=linker, rules=rules)
        assert [int(v) % 2**info.bits for v in found] == expected, dtype
    x = T.lvector("x")
    assert value([x], T.round(x, -20), np.array([5, -7]), linker=linker, rules=rules).tolist() == [0, 0]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("rules", ["None", "FAST_RUN"])
def test_numbers_of_64_bits_stay_such_in_c(linker, rules):
    """`~0u` and `100000 * 100000` are computed in 32 bits where the numbers are written without their type."""
    x = T.tensor("x", dtype="uint64", shape=(None,))
    given = np.array([1, 2], dtype="uint64")
    found = value([x], T.invert(T.pad(x, 1, mode="constant")), given, linker=linker, rules=rules)
    np.testing.assert_array_equal(found, ~np.pad(given, 1))
    found = value([x], T.neg(T.cast(T.pad(x, 1), "int64")) << 40, given, linker=linker, rules=rules)
    np.testing.assert_array_equal(found, -np.pad(given, 1).astype("int64") << 40)
    wide = T.concatenate([T.constant(np.array([100000])), T.cast(x, "int64")])
    found = value([x], wide * 100000 * wide[0], given, linker=linker, rules=rules)
    np.testing.assert_array_equal(found, np.array([100000, 1, 2]) * 100000 * 100000)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_signs_of_floats(linker, dtype):
    """gcc gave up on `signbit` of bfloat16 in a loop of vectors."""
    x = T.tensor("x", dtype=dtype, shape=(None,))
    given = T.constant([1.0, -2.0, -0.0, 0.0, -np.inf] * 4, dtype=dtype).data
    assert value([x], T.signbit(x), given, linker=linker).tolist() == [False, True, True, False, True] * 4


@pytest.mark.skipif(find_compiler() is None, reason="g++")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logarithms_of_the_largest_complex_numbers(dtype):
    """On a GPU the absolute value overflowed on the way."""
    most = np.finfo(dtype).max
    z = T.tensor("z", dtype=dtype, shape=(None,))
    given = np.array([complex(most, most), complex(-most, 1), complex(np.inf, 1), 3 + 4j], dtype=dtype)
    with emulation():
        found = value([z], [T.log(z), T.log2(z), T.log10(z)], given, linker="cuda")
    for got, function in zip(found, (np.log, np.log2, np.log10)):
        np.testing.assert_allclose(got, function(given.astype("complex128")), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("linker", LINKERS)
def test_decimals_of_bfloat16(linker):
    """Ten times -1.148 is -11.5 in 8 bits, and that went to -1.2."""
    x = T.tensor("x", dtype="bfloat16", shape=(None,))
    given = np.array([-1.1484375, 1.1484375, 0.349609375], x.type.np_dtype)
    got = value([x], T.round(x, 1), given, linker=linker)
    np.testing.assert_array_equal(got, np.round(given.astype("float32"), 1).astype(given.dtype))

"""Where elements come from when sorted: by words of their first bits and places in C, beside NumPy's stable sort."""

import platform

import numpy as np
import pytest

import termgraph as tg
from termgraph import tensor as T
from termgraph.backends.c.build.compilers import find_compiler, usable

LINKER = "auto"
X86 = platform.machine() == "x86_64"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def hard(rng, dtype, n):
    """Rows that differ in all bits, in few, only in those that have no room, and hardly at all."""
    kind = np.dtype(dtype).kind
    if kind == "f":
        near = np.nextafter(np.ones(n, dtype), np.full(n, 2, dtype)) if n else np.ones(0, dtype)
        with np.errstate(over="ignore"):
            rows = [
                rng.standard_normal(n),
                10.0 ** rng.integers(-300, 300, n),
                rng.choice([1.0, near[0] if n else 1], n),
            ]
            rows += [
                1 + np.finfo(dtype).eps * rng.integers(0, 50, n),
                rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-310], n),
            ]
            rows += [np.where(rng.random(n) < 0.3, rng.choice([np.nan, -np.nan], n), rng.standard_normal(n))]
            rows += [-np.arange(n), 1 + np.finfo(dtype).eps * np.arange(n)[::-1]]
            return np.array(rows).astype(dtype)
    if kind == "b":
        return rng.random((3, n)) < 0.5
    info = np.iinfo(dtype)
    rows = [
        rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True),
        rng.integers(0, 5, n),
        rng.integers(100, 127, n),
    ]
    return np.array([r.astype(dtype) for r in rows])


@pytest.mark.parametrize("dtype", DTYPES)
def test_argsort_is_stable(rng, dtype):
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], [T.argsort(x, axis=1), T.argsort(x, axis=0), T.argsort(x[:, ::-1], axis=1)])
    for n in (0, 1, 2, 3, 17, 255, 256, 1000, 5000):
        v = hard(rng, dtype, n)
        rows, columns, back = f(v)
        np.testing.assert_array_equal(rows, np.argsort(v, axis=1, kind="stable"))
        np.testing.assert_array_equal(columns, np.argsort(v, axis=0, kind="stable"))
        np.testing.assert_array_equal(back, np.argsort(v[:, ::-1], axis=1, kind="stable"))


def test_halves_are_sorted_to_the_bit(rng):
    """By keys: zeros of both signs, and NaN with all that they hold, stay in the order in which they lay."""
    x = T.matrix("x", dtype="float16")
    f = tg.function([x], [T.sort(x, axis=1), T.sort(x, axis=0), T.sort(x[:, ::-1], axis=1), T.sort(x.ravel())])
    for n in (0, 1, 2, 7, 64, 65, 300, 2000):
        any_bits = rng.integers(0, 2**16, (5, n)).astype(np.uint16)
        zeros = rng.choice([0, 0x8000], (5, n)).astype(np.uint16)
        for bits in (any_bits, zeros, np.where(rng.random((5, n)) < 0.4, zeros, any_bits), any_bits & 0x7FFF):
            a = bits.view(np.float16)
            wanted = [np.sort(v, axis, kind="stable") for v, axis in ((a, 1), (a, 0), (a[:, ::-1], 1), (a.ravel(), 0))]
            for found, right in zip(f(a), wanted, strict=True):
                np.testing.assert_array_equal(found.view(np.uint16), right.view(np.uint16))


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f"] if X86 else [""])
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_rows_and_columns_are_sorted_as_numpy_does(rng, dtype, cflags):
    """Of one block of vectors, of a few, and of many parts; elements that are alike, in order, or no numbers."""
    x = T.matrix("x", dtype=dtype)
    with tg.config.change_flags(cflags=cflags):
        f = tg.function([x], [T.sort(x, axis=1), T.sort(x, axis=0), T.sort(x[:, ::-2], axis=1), T.argsort(x, axis=1)])
        for n in (0, 1, 2, 9, 31, 32, 33, 63, 64, 65, 70, 127, 128, 129, 255, 256, 257, 300, 1000, 1100, 5000, 40_000):
            if np.dtype(dtype).kind == "c":
                real = hard(rng, "float" + str(np.dtype(dtype).itemsize * 4), n)
                v = np.repeat(rng.permuted(real, axis=0), 2, axis=1).view(dtype)[:, :n]
            else:
                v = hard(rng, dtype, n)
                v = np.concatenate([v, np.sort(v[:1]), np.sort(v[:2])[:, ::-1], rng.permuted(v[:1], axis=1)])
            rows, columns, back, places = f(v)
            np.testing.assert_array_equal(rows, np.sort(v, axis=1))
            np.testing.assert_array_equal(columns, np.sort(v, axis=0))
            np.testing.assert_array_equal(back, np.sort(v[:, ::-2], axis=1))
            np.testing.assert_array_equal(places, np.argsort(v, axis=1, kind="stable"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_columns_are_copied_some_at_a_time(rng, dtype):
    """Whole vectors of them, with some left over, of matrices and of each matrix of several."""
    x, z = T.matrix("x", dtype=dtype), T.tensor3("z", dtype=dtype)
    f = tg.function([x, z], [T.sort(x, axis=0), T.sort(x[::-1], axis=0), T.sort(z, axis=1), T.sort(x[:, ::2], axis=0)])
    assert not f.why_not_native()
    for n, m in ((65, 16), (100, 70), (129, 33), (300, 8), (1025, 130)):
        v = np.ascontiguousarray(rng.permuted(np.resize(hard(rng, dtype, n), (m, n)), axis=0).T)
        w = np.stack([v, v[::-1]])
        for got, wanted in zip(f(v, w), (v, v, w, v[:, ::2]), strict=True):
            np.testing.assert_array_equal(got, np.sort(wanted, axis=wanted.ndim - 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_sort_moves_bits(rng, dtype):
    """Zeros keep their signs and NaN what they hold but for theirs; nothing is written behind the array."""
    if not usable("avx512f"):
        pytest.skip("NumPy's function sorts, which makes -0.0 of 0.0")
    bits = {"float32": "uint32", "float64": "uint64"}[dtype]
    v = rng.choice([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e-310], 700).astype(dtype)
    v.view(bits)[::50] = np.array(np.nan, dtype).view(bits) + 5
    x = T.vector("x", dtype=dtype)
    got = tg.function([x], T.sort(x))(v)

    def kept(w):
        return np.sort(np.where(np.isnan(w), np.abs(w), w).view(bits))

    np.testing.assert_array_equal(kept(got), kept(v))
    np.testing.assert_array_equal(got, np.sort(v))


def hostile(n, lanes):
    """Numbers whose order makes each pivot of `vector_sort` one of the least that are left: as often as it bears that.

    Its samples are drawn as in its text: what has no value yet when it is drawn becomes the next least number.
    """
    values, left, random, least, work = np.full(n, np.inf), np.arange(n), 0x9E3779B97F4A7C15, 0, 0
    while work <= 100 * n:
        sample = []
        for _ in range(4 * lanes):
            random = (random * 6364136223846793005 + 1442695040888963407) % 2**64
            sample.append(left[(random >> 32) * len(left) >> 32])
            if values[sample[-1]] == np.inf:
                values[sample[-1]], least = least, least + 1
        pivot = np.sort(values[sample])[2 * lanes]
        work, left = work + len(left), left[values[left] >= pivot]
    assert least < n - 1000
    return values, np.isinf(values)


@pytest.mark.parametrize(("width", "cflags"), [(64, ""), (32, "-mno-avx512f")] if X86 else [(64, "")])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32", "float64"])
def test_an_order_that_makes_all_pivots_bad_is_sorted_by_other_means(rng, dtype, width, cflags):
    """Elements that are alike stay in their order; signs of numbers are what they were."""
    n = 25_000
    values, rest = hostile(n, width // np.dtype(dtype).itemsize)
    values[rest] = rng.integers(n, n + 50, rest.sum())
    if dtype[0] == "f":
        values[rest & (rng.random(n) < 0.1)] = np.nan
    x = T.vector("x", dtype=dtype)
    v = (values - (n if dtype[0] in "if" else 0)).astype(dtype)
    with tg.config.change_flags(cflags=cflags):
        ordered, places = tg.function([x], [T.sort(x), T.argsort(x)])(v)
    np.testing.assert_array_equal(ordered, np.sort(v))
    np.testing.assert_array_equal(places, np.argsort(v, kind="stable"))


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f"] if X86 else [""])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_places_by_buckets(rng, dtype, cflags):
    """Even numbers of all bits, in order, uneven ones, those that differ in last bits only, and numbers far away."""
    x = T.vector("x", dtype=dtype)
    most = int(np.iinfo(dtype).max)
    with tg.config.change_flags(cflags=cflags):
        f = tg.function([x], [T.argsort(x), T.argsort(x[::-1])])
    for n in (1499, 1500, 1501, 2001, 13_000, 50_001, 131_071, 131_072):
        even = rng.integers(np.iinfo(dtype).min, most, n, dtype=dtype, endpoint=True)
        few = rng.integers(0, 100, n).astype(dtype)
        half = even.dtype.itemsize * 4
        alike = (even >> half << half) | (few & 7)
        far, far_first = few.copy(), few.copy()
        far[-1] = far_first[0] = most
        steep = np.minimum(np.exp(rng.exponential(size=n) * np.log(most) / 18), most // 2).astype(dtype)
        for v in (even, few, np.sort(even), np.sort(even)[::-1], alike, far, far_first, steep, np.full(n, most, dtype)):
            places, back = f(v)
            np.testing.assert_array_equal(places, np.argsort(v, kind="stable"))
            np.testing.assert_array_equal(back, np.argsort(v[::-1], kind="stable"))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_sorted_by_numpys_function(rng, dtype):
    x = T.vector("x", dtype=dtype)
    v = (rng.integers(0, 3, 300) + 1j * rng.integers(0, 3, 300)).astype(dtype)
    np.testing.assert_array_equal(tg.function([x], T.argsort(x))(v), np.argsort(v, kind="stable"))


def test_permutations_are_the_same_on_the_virtual_machine_and_in_c():
    def drawn(linker):
        return tg.function([], T.random.RandomStream(5).permutation(20000), mode=tg.Mode(linker=linker))()

    made = drawn("auto")
    np.testing.assert_array_equal(made, drawn("py"))
    np.testing.assert_array_equal(np.sort(made), np.arange(20000))


@pytest.mark.parametrize("dtype", ["bool", *DTYPES, "complex64"])
def test_isin_compares_few_has_tables_of_small_ranges_and_of_all_others(rng, dtype):
    x, y = T.matrix("x", dtype=dtype), T.vector("y", dtype=dtype)
    f = tg.function([x, y], [T.isin(x, y), T.isin(x, y, invert=True), T.isin(x.T[::2], y[::2])])
    kind = np.dtype(dtype).kind
    most = {"b": 2, "f": 1000, "c": 1000}.get(kind) or min(np.iinfo(dtype).max, 2**62)
    for n, m, high in ((6, 3, 10), (30, 40, 100), (60, 200, 120), (40, 50, most), (0, 5, 5), (7, 0, 5)):
        low = -min(high, most) if kind in "ifc" else 0
        v, w = (rng.integers(low, min(high, most), size).astype(dtype) for size in ((n, 5), (m,)))
        v.flat[5:8], v.flat[8:10] = w[1] if m else 0, 0
        if kind == "f":
            v.flat[:3], v.flat[3:5], w[:1], w[2:3], w[-1:] = np.nan, -0.0, np.nan, 0, np.nan
        for got, wanted in zip(f(v, w), (np.isin(v, w), ~np.isin(v, w), np.isin(v.T[::2], w[::2]))):
            np.testing.assert_array_equal(got, wanted)


def test_isin_of_many_large_numbers_and_of_each_row(rng):
    z = T.lmatrix("z")
    v = rng.integers(-(2**63), 2**63 - 1, (300, 40))
    v[:, 7] = v[3, 2]
    np.testing.assert_array_equal(tg.function([z], T.isin(z, z[:, 7:9].ravel()))(v), np.isin(v, v[:, 7:9]))
    each = tg.function([z], tg.vmap(lambda row: T.isin(row, v[:, 7]))(z))
    np.testing.assert_array_equal(each(v), np.isin(v, v[:, 7]))
    own = tg.function([z], tg.vmap(lambda row: T.isin(v[:9, 2], row))(z))
    np.testing.assert_array_equal(own(v), [np.isin(v[:9, 2], row) for row in v])


@pytest.mark.parametrize("dtype", DTYPES)
def test_selection_is_what_sorting_finds(rng, dtype):
    """Few of long rows, many of them, all, across rows, and backwards; equal elements in their order."""
    x = T.matrix("x", dtype=dtype)
    sizes = (1, 1), (40, 3), (256, 1), (999, 7), (4096, 16), (1500, 20), (1500, 25), (7000, 31), (30_000, 9000)
    for n, k in ((319, 10), (30_000, 60), *sizes[DTYPES.index(dtype) % 3 :: 3]):  # each compiles a program of its own
        v = hard(rng, dtype, n)
        f = tg.function([x], [T.argtopk(x, k, axis=1), T.argtopk(x[:, ::-1], -k, axis=1), T.argtopk(x, -2, axis=0)])
        assert not f.why_not_native()
        largest, smallest, across = f(v)
        backwards = np.argsort(v[:, ::-1], axis=1, kind="stable")
        np.testing.assert_array_equal(largest, n - 1 - backwards[:, ::-1][:, :k])
        np.testing.assert_array_equal(smallest, backwards[:, :k])
        np.testing.assert_array_equal(across, np.argsort(v, axis=0, kind="stable")[:2])


def test_selection_in_any_order_of_elements(rng):
    """Rows in which each element is the best so far, and none but the first."""
    n, x = 60_000, T.dmatrix("x")
    rows = np.array([np.arange(n), -np.arange(n), np.minimum(np.arange(n), np.arange(n)[::-1]), np.zeros(n)], float)
    for k in (10, 200, 1000):
        np.testing.assert_array_equal(
            tg.function([x], T.argtopk(x, k, axis=1))(rows), np.argsort(-rows, axis=1, kind="stable")[:, :k]
        )
    short = rows[:, :700] + 1000 * (rows[:, :700] % 32 == 3)  # the best ones are all dealt to one hand
    for k in (3, 16):
        found = tg.function([x], T.argtopk(x, k, axis=1))(short)
        np.testing.assert_array_equal(found, np.argsort(-short, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("k", [30, 150, 380])
def test_selection_from_rows_that_are_unlike_each_other(rng, k):
    """What rows say of the next one may hold nothing, too much, or what is equal; down columns, too."""
    x = T.dmatrix("x")
    rows = rng.normal(size=(45, 400)) * np.exp(9 * rng.normal(size=(45, 1))) + 1e4 * (np.arange(45) % 9 > 6)[:, None]
    rows[3], rows[5, ::2], rows[8] = 0.0, -0.0, rows[8].round(1)
    rows[4, 7:300], rows[6] = np.nan, rng.integers(0, 4, 400)
    ends = [T.argtopk(x, k, axis=1), T.argtopk(x, -k, axis=1), T.argtopk(x.T, k, axis=0), T.argtopk(x.T, -k, axis=0)]
    largest, smallest, *down = tg.function([x], ends)(rows)
    wanted = 399 - np.argsort(rows[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :k]
    np.testing.assert_array_equal(largest, wanted)
    np.testing.assert_array_equal(smallest, np.argsort(rows, axis=1, kind="stable")[:, :k])
    for found, whole in zip(down[:2], (largest, smallest)):
        np.testing.assert_array_equal(found, whole.T)


@pytest.mark.parametrize("k", [100, 390])
def test_selection_of_numbers_that_differ_in_their_last_bits_only(rng, k):
    """Words of first bits and places do not tell them apart."""
    x = T.dmatrix("x")
    rows = rng.permuted(np.tile(1 + np.arange(400) * 2.0**-52, (3, 1)), axis=1)
    rows[1], rows[2] = np.sort(rows[1])[::-1], np.sort(rows[2])
    rows[:, 5], rows[:, 9] = 1e300, -1e300
    found = tg.function([x], [T.argtopk(x, k, axis=1), T.argtopk(x, -k, axis=1)])(rows)
    np.testing.assert_array_equal(found[0], np.argsort(-rows, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(found[1], np.argsort(rows, axis=1, kind="stable")[:, :k])


def test_too_few_elements_to_select_from(rng):
    with pytest.raises(ValueError, match="topk: the 5 largest of an axis of 3 elements"):
        T.topk(T.tensor("x", dtype="float64", shape=(2, 3)), 5)
    x = T.dmatrix("x")
    for linker in ("c", "py"):
        f = tg.function([x], T.topk(x, -5, axis=0), mode=tg.Mode(linker=linker))
        with pytest.raises(ValueError, match="topk: the 5 smallest of an axis of 2 elements"):
            f(np.ones((2, 9)))
        assert f(np.ones((5, 0))).shape == (5, 0)

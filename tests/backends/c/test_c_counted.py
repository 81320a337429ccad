"""Results as long as the elements of an operand say: what a mask keeps, places, counts. The plan counts, C writes."""

import ctypes

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import build_plain
from termgraph.backends.c.text import counted
from termgraph.terms.errors import ShapeError

C, PY = tg.Mode(linker="c"), tg.Mode(linker="py")
LINKER = "c"  # of modes that are given by name
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
DTYPES = ["bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]

x, X = T.dvector("x"), T.dmatrix("X")
m, M = T.tensor("m", dtype="bool", shape=(None,)), T.tensor("M", dtype="bool", shape=(None, None))
k = T.lvector("k")


def same(found, wanted):
    found, wanted = [v if isinstance(v, (list, tuple)) else [v] for v in (found, wanted)]
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def both(inputs, result):
    """The function in C, which must be one program if all that is counted is an argument, and in Python."""
    f = tg.function(inputs, result, mode=C)
    assert str(f.why_not_native()) == "everything is compiled"
    return f, tg.function(inputs, result, mode=PY)


def masks(rng, n):
    """None, all, half, few, most, and one at the end."""
    last = np.zeros(n, bool)
    last[-1:] = True
    return [np.zeros(n, bool), np.ones(n, bool), rng.random(n) < 0.5, rng.random(n) < 0.02, rng.random(n) < 0.98, last]


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_mask_keeps(rng, dtype):
    v = T.vector("v", dtype=dtype)
    f, plain = both([m, v], [v[m], T.compress(m, v), T.extract(m, v)])
    for n in (0, 1, 7, 8, 9, 64, 301):
        values = np.asarray(rng.integers(0, 100, n)).astype(v.type.np_dtype)
        for mask in masks(rng, n):
            same(f(mask, values), plain(mask, values))
            same(f(mask[::-1], values[::-1]), plain(mask[::-1], values[::-1]))
            wide = np.repeat(mask, 3)[::3]
            same(f(wide, np.repeat(values, 2)[::2]), plain(wide, values))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_numbers_are_copied_as_they_are(dtype):
    v = T.vector("v", dtype=dtype)
    f, _ = both([m, v], v[m])
    values = np.array([np.nan, -0.0, np.inf, -np.inf, 5e-324, 0.0, -np.nan] * 5, dtype)
    mask = np.arange(35) % 3 > 0
    assert f(mask, values).tobytes() == values[mask].tobytes()


def test_matrices_and_their_places(rng):
    f, plain = both([M, X], [X[M], *T.nonzero(M), T.argwhere(M), T.flatnonzero(M), T.extract(M, X)])
    rows, plain_rows = both([m, X], [T.compress(m, X, axis=0), X[m], T.compress(m, X, axis=1)])
    for shape in ((0, 3), (3, 0), (1, 1), (5, 3), (9, 40), (40, 9)):
        values = rng.standard_normal(shape)
        for mask in masks(rng, values.size):
            there = mask.reshape(shape)
            same(f(there, values), plain(there, values))
            turned = [np.asfortranarray(there), values[::-1][::-1]]
            same(f(*turned), plain(*turned))
            same(f(there.T, values.T), plain(there.T, values.T))
    square = rng.standard_normal((9, 9))
    for mask in masks(rng, 9):
        same(rows(mask, square), plain_rows(mask, square))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_mask_keeps_of_a_matrix_is_copied_in_every_dtype(rng, dtype):
    """Also where the mask is computed: the next program knows the lengths of what it reads, and so that both have the
    same ones. Rows that follow each other are one.
    """
    Y = T.tensor("Y", dtype=dtype, shape=(None, None))
    f, plain = both([M, Y], [Y[M], *T.nonzero(M)])
    kept = tg.function([Y], Y[T.neq(Y, 0)], mode=C)
    for shape in ((1, 300), (3, 7), (9, 130), (40, 64)):
        values = np.asarray(rng.integers(-2, 5, shape)).astype(Y.type.np_dtype)
        same(kept(values), values[values != 0])
        for mask in masks(rng, values.size):
            there = mask.reshape(shape)
            same(f(there, values), plain(there, values))
    assert "tg_kept_in_row" in kept.source("c") and "tg_places_in_row" not in kept.source("c")
    whole = tg.function([M, Y], Y[M], mode=C).source("c")
    assert whole.count("for (int64_t row0") == 0 and "for (int64_t row0" in f.source("c")


def test_masks_that_are_computed_are_counted_by_the_next_program(rng):
    results = [X[X > 0], T.nonzero(X > 1)[1], T.exp(x[x < 0]) * 2, X[(X > 0) & M], x[x > 0].mean()]
    f, plain = tg.function([x, X, M], results, mode=C), tg.function([x, X, M], results, mode=PY)
    assert "all operations are compiled" in str(f.why_not_native())
    for n in (1, 5, 30):
        given = np.append(rng.standard_normal(n), 1), rng.standard_normal((n, 7)), rng.random((n, 7)) < 0.5
        for a, b in zip(f(*given), plain(*given), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_three_dimensional_mask_and_a_shared_one(rng):
    B = T.tensor("B", dtype="bool", shape=(None, None, None))
    f, plain = both([B], list(T.nonzero(B)))
    for shape in ((2, 3, 4), (3, 1, 9), (0, 2, 2), (4, 4, 1)):
        for mask in masks(rng, int(np.prod(shape))):
            same(f(mask.reshape(shape)), plain(mask.reshape(shape)))
    stays = tg.shared(np.array([True, False, True]), name="stays")
    g = tg.function([x], x[stays], updates=[(stays, ~stays)], mode=C)
    for wanted in ([1.0, 3.0], [2.0], [1.0, 3.0]):
        np.testing.assert_array_equal(g(np.array([1.0, 2.0, 3.0])), wanted)


def test_masks_of_other_lengths_are_refused():
    f, g = tg.function([m, x], x[m], mode=C), tg.function([m, x], T.extract(m, x), mode=C)
    with pytest.raises(IndexError, match=r"boolean index has length 2 in dimension 0, .*axis has length 3"):
        f(np.array([True, False]), np.ones(3))
    np.testing.assert_array_equal(g(np.array([False, True]), np.arange(3.0)), [1])
    np.testing.assert_array_equal(g(np.array([False, True, True, False]), np.arange(3.0)), [1, 2])
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        g(np.ones(5, bool), np.ones(3))
    h = tg.function([M, X], X[M], mode=C)
    with pytest.raises(IndexError, match=r"boolean index has length 4 in dimension 1, .*axis has length 2"):
        h(np.ones((3, 4), bool), np.ones((3, 2)))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_bincount(rng, dtype):
    v, w = T.vector("v", dtype=dtype), T.fvector("w")
    n = T.lscalar("n")
    f, plain = both([v, w, n], [T.bincount(v), T.bincount(v, w), T.bincount(v, minlength=n), T.bincount(v, w, 7)])
    for size in (0, 1, 8, 500):
        values, weights = rng.integers(0, 100, size).astype(dtype), rng.standard_normal(size).astype("float32")
        for least in (0, 3, 200):
            same(f(values, weights, least), plain(values, weights, least))
            turned = values[::-1], np.repeat(weights, 2)[::2], least
            same(f(*turned), plain(*turned))
    with pytest.raises(ValueError, match="minlength must not be negative, got -1"):
        f(values, weights, -1)
    with pytest.raises(ShapeError, match="500 values but 3 weights"):
        f(values, weights[:3], 0)
    if dtype.startswith("int"):
        with pytest.raises(ValueError, match="values must not be negative, got -7 at position 2"):
            f(np.array([1, -2, -7, 3, -7], dtype), np.ones(5, "float32"), 0)


def test_repeats_are_summed_by_the_plan(rng):
    f, plain = both([X, k], [T.repeat(X, k, axis=0), T.zeros((k.sum(),))])
    for n in (0, 1, 30):
        values, times = rng.standard_normal((n, 4)), rng.integers(0, 4, n)
        same(f(values, times), plain(values, times))
        same(f(values, np.repeat(times, 2)[::2]), plain(values, times))
    with pytest.raises(ShapeError, match="cannot be negative: -3"):
        tg.function([k], T.zeros((k.sum(),)), mode=C)(np.array([1, -4]))


def test_memory_of_what_is_counted(rng):
    f = tg.function([m, x], x[m] * 2, mode=C)
    mask = np.arange(100) % 4 == 0
    assert f.memory(mask, np.ones(100)).results == 25 * 8


def test_gradients_through_what_is_kept(rng):
    f, plain = [tg.function([m, x], tg.grad((x[m] ** 3).sum(), x), mode=mode) for mode in (C, PY)]
    values = rng.standard_normal(20)
    np.testing.assert_allclose(f(values > 0, values), plain(values > 0, values), rtol=1e-14)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_nothing_is_written_beyond_what_was_counted(tmp_path, bits):
    """As where somebody else sets elements of a mask after the plan has counted them."""
    texts = [counted.TEXTS["tg_places_in_row"].replace("$T", "int64_t").replace("$N", "i64")]
    texts += [counted.TEXTS["tg_kept_in_row"].replace("$T", f"uint{bits}_t").replace("$N", str(bits))]
    source = "#include <stdint.h>\n" + "".join(t.replace("static int64_t", "int64_t") for t in texts)
    library = ctypes.CDLL(build_plain([source], f"counted{bits}", header="").path)
    kept = getattr(library, f"tg_kept_in_row_{bits}")
    for few in (0, 1):
        mask, values, out = np.ones(200, "uint8"), np.arange(200).astype(f"uint{bits}"), np.full(201, -1)
        mask[70 : 70 + few] = 0
        wanted = np.flatnonzero(mask)
        for room in (0, 1, 7, 8, 50, 99, 130, 199 - few):
            out[:] = -1
            assert library.tg_places_in_row_i64(_at(mask), _n(1), _n(200), _at(out), _n(0), _n(room)) == room
            np.testing.assert_array_equal(out[:room], wanted[:room])
            assert (out[room:] == -1).all()
            narrow = out.astype(values.dtype)
            none = narrow[-1]
            narrow[:] = none
            assert kept(_at(mask), _n(1), _at(values), _n(1), _n(200), _at(narrow), _n(0), _n(room)) == room
            np.testing.assert_array_equal(narrow[:room], values[wanted[:room]])
            assert (narrow[room:] == none).all()


def _at(array):
    return ctypes.c_void_p(array.ctypes.data)


def _n(number):
    return ctypes.c_int64(number)


@pytest.mark.parametrize("largest", [2**63 - 1, 2**63 - 2, 2**62])
def test_counts_that_no_memory_holds(largest):
    for mode in (C, PY):
        f = tg.function([v := T.lvector("v")], T.bincount(v), mode=mode)
        with pytest.raises(MemoryError):
            f(np.array([1, largest]))
        with pytest.raises((ValueError, MemoryError)):
            f(np.array([-1, largest]))
        assert f(np.array([1, 3])).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "STRICT", "DEBUG_MODE"])
def test_numbers_that_are_known_to_be_small_are_counted_where_they_are_computed(rng, mode):
    """Nearest centres in a loop, lengths not known; numbers that are clipped, and remainders."""
    c = T.dmatrix("c")

    def nearest(c):
        return T.argmin(((X[:, None] - c[None]) ** 2).sum(axis=-1), axis=1)

    def step(c, _):
        found = nearest(c)
        counts = T.bincount(found, minlength=c.shape[0])
        sums = T.inc_subtensor(T.zeros_like(c)[found], X)
        return T.where(counts[:, None] > 0, sums / T.maximum(counts, 1)[:, None], c), counts

    centres, counts = tg.loop(step, c, length=3)
    weighed = T.bincount(nearest(c), X[:, 0], c.shape[0])
    few = [T.bincount(T.clip(k, 0, 4), minlength=5), T.bincount(k % 3, minlength=4)]
    slope = tg.grad((centres**2).sum(), X)
    f = tg.function([X, c, k], [centres, counts, weighed, *few, slope], mode=mode)
    assert f.maker.work.not_native is None
    points, starts, numbers = rng.normal(size=(40, 2)), rng.normal(size=(6, 2)), rng.integers(-9, 9, 50)
    close = lambda c: ((points[:, None] - c) ** 2).sum(axis=-1).argmin(axis=1)  # noqa: E731
    wanted, each = starts, []
    for _ in range(3):
        found = close(wanted)
        each.append(np.bincount(found, minlength=6))
        wanted = np.array([points[found == j].mean(axis=0) if (found == j).any() else wanted[j] for j in range(6)])
    got = f(points, starts, numbers)
    np.testing.assert_allclose(got[0], wanted, rtol=1e-12)
    same(got[1], np.array(each))
    np.testing.assert_allclose(got[2], np.bincount(close(starts), points[:, 0], 6), rtol=1e-12)
    np.testing.assert_allclose((got[5] * points).sum(), 2 * (wanted**2).sum(), rtol=1e-10)  # centres are means
    same(got[3:5], [np.bincount(np.clip(numbers, 0, 4), minlength=5), np.bincount(numbers % 3, minlength=4)])


def test_numbers_that_may_be_too_large_still_say_how_many_are_counted():
    f = tg.function([k], T.bincount(T.clip(k, 0, 5), minlength=5), mode=PY)
    g = tg.function([k], T.bincount(T.clip(k, 0, 5), minlength=5))
    for values in ([], [1, 2], [5], [9, -9]):
        same(f(np.array(values, int)), g(np.array(values, int)))


def test_a_number_that_is_not_as_small_as_was_said_is_told():
    n = T.lscalar("n")
    computed = T.assume(T.sort(k) * 3 - 2, between=(0, n))
    f = tg.function([k, n], T.bincount(computed, minlength=n), mode="FAST_COMPILE")
    same(f(np.array([1, 2]), 5), np.array([0, 1, 0, 0, 1]))
    for values, wrong in (([3, 1, 2, 4], "got 7 at position 2"), ([0, 4], "got -2 at position 0")):
        with pytest.raises(ValueError, match=f"said to be from 0 to minlength - 1, {wrong}"):
            f(np.array(values), 5)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("bool", "bfloat16")])
def test_what_masks_of_any_length_and_density_keep(rng, dtype):
    """Blocks of 64 places are kept by vectors, the rest one by one; masks and elements may lie apart."""
    mask, x = T.vector("mask", dtype="bool"), T.vector("x", dtype=dtype)
    f = tg.function([mask, x], [T.extract(mask, x), T.flatnonzero(mask)], mode=tg.Mode(linker="c"))
    for n in (0, 1, 7, 63, 64, 65, 127, 128, 200, 1000):
        for share in (0.0, 0.01, 0.5, 0.99, 1.0):
            given = np.ascontiguousarray(rng.random(n) < share)
            values = (rng.standard_normal(n) * 50).astype(dtype)
            apart, other = np.repeat(given, 2)[::2], np.repeat(values, 3)[::3]
            for m, v in ((given, values), (apart, values), (given, other), (given[::-1], values[::-1])):
                kept, places = f(m, v)
                np.testing.assert_array_equal(kept, v[m])
                np.testing.assert_array_equal(places, np.flatnonzero(m))

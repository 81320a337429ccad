"""Elements that are only moved keep their bits, whatever a NaN holds, and are moved as bits where that is faster."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.dtypes import numpy_dtype

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
LINKER = "auto"
DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SHAPE = (64, 32)
PLACES = np.random.default_rng(0).permutation(32)
MOVES = {
    "take": lambda m, x, y: m.take(x, PLACES, axis=0),
    "columns": lambda m, x, y: m.take(x, PLACES, axis=1),
    "concatenate": lambda m, x, y: m.concatenate([x, y], axis=1),
    "tile": lambda m, x, y: m.tile(x, (2, 2)),
    "roll": lambda m, x, y: m.roll(x, 7, axis=1),
    "pad": lambda m, x, y: m.pad(x, 2),
    "repeat": lambda m, x, y: m.repeat(x, 3, axis=1),
    "transpose": lambda m, x, y: m.concatenate([m.transpose(x), m.transpose(y)], axis=0),
    "where": lambda m, x, y: m.where(m.equal(m.arange(32) % 3, 1), x, y),
    "constant": lambda m, x, y: m.where(m.equal(m.arange(32) % 3, 1), x, np.array(2.5, x.dtype)),
    "reversed": lambda m, x, y: m.concatenate([x[::-1, ::-2], y], axis=1),
}
SIGNS = {
    "negative": lambda m, x, y: -x,
    "absolute": lambda m, x, y: m.abs(x),
    "size": lambda m, x, y: m.abs(-m.where(m.arange(32) > 5, x, -y)),
}


def bits(dtype, seed):
    """Any bits, and so numbers, infinities and NaN of all kinds."""
    dtype = numpy_dtype(dtype)
    whole = np.frombuffer(np.random.default_rng(seed).bytes(64 * 32 * dtype.itemsize), "uint8").copy()
    found = whole.view(dtype).reshape(SHAPE)
    parts = found.view(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else found
    parts[::5] = np.nan
    return found


def moved(f, dtype, mode=None):
    x, y = (T.tensor(n, dtype=dtype, shape=(None, None)) for n in "xy")
    return tg.function([x, y], f(T, x, y), mode=mode, on_unused_input="ignore")


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "STRICT"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOVES)
def test_moved_elements_keep_their_bits(name, dtype, mode):
    given = bits(dtype, 1), bits(dtype, 2)
    found, wanted = moved(MOVES[name], dtype, mode)(*given), MOVES[name](np, *given)
    assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "STRICT"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SIGNS)
def test_signs_of_halves_are_bits(name, dtype, mode):
    given = bits(dtype, 1), bits(dtype, 2)
    found, wanted = moved(SIGNS[name], dtype, mode)(*given), SIGNS[name](np, *given)
    assert found.dtype == wanted.dtype and found.view("uint16").tobytes() == wanted.view("uint16").tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "complex128"])
def test_what_is_also_computed_with_is_moved_all_the_same(dtype):
    """One loop stores an element and computes with it."""
    x = T.vector("x", dtype=dtype)
    taken = x[::-1]
    f = tg.function([x], [T.concatenate([taken, x]), T.concatenate([taken * 2, x])], mode=tg.Mode(linker="c"))
    given = bits(dtype, 3).ravel()
    with np.errstate(all="ignore"):
        first, second = f(given)
        doubled = np.concatenate([given[::-1] * np.array(2, numpy_dtype(dtype)), given])
    assert first.tobytes() == np.concatenate([given[::-1], given]).tobytes()
    with np.errstate(invalid="ignore"):  # NaN of other bits
        there = ~np.isnan(doubled)
        assert (there == ~np.isnan(second)).all()
    np.testing.assert_array_equal(second[there].astype("complex128"), doubled[there].astype("complex128"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["take", "concatenate", "roll", "tile", "pad"])
def test_no_element_that_is_moved_becomes_a_number(name, dtype):
    kernels = moved(MOVES[name], dtype, tg.Mode(linker="c")).source("c").split("static void kernel0", 1)[1]
    text = kernels.split("TG_EXPORT", 1)[0]
    assert "tg_from_" not in text and "tg_to_half" not in text and "tg_cut_" not in text
    assert dtype in ("float16", "bfloat16") or "tg_bits_c" in text


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_choices_between_pairs_have_no_branch_and_load_no_pair_for_nothing(dtype, rng):
    m = T.tensor("m", dtype="bool", shape=(None, None))
    x, y = (T.tensor(name, dtype=dtype, shape=(None, None)) for name in "xy")
    f = tg.function([m, x, y], [T.where(m, x, y), T.where(y > 1, x, y), T.where(m, 2 * x, y), T.where(m, x, 3j)])
    a, b, some = bits(dtype, 1), bits(dtype, 2), rng.random(SHAPE) < 0.5
    ours = f(some, a, b)
    for found, wanted in zip(ours[:2], (np.where(some, a, b), np.where(b > 1, a, b)), strict=True):
        assert found.tobytes() == wanted.tobytes()
    for found, wanted in zip(ours[2:], (np.where(some, 2 * a, b), np.where(some, a, 3j)), strict=True):
        np.testing.assert_array_equal(found, wanted.astype(dtype))
    text = tg.function([m, x, y], T.where(m, x, y)).source("c")
    assert "tg_choice_c" in text and "_Complex v" not in text

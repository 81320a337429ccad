"""The functions of float64 for vectors of 64 bytes: right within their errors, and where there is no right number."""

import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import compilers
from termgraph.backends.c.text import avx512
from termgraph.backends.c.text.prelude import needed

compiler = compilers.find_compiler()
pytestmark = pytest.mark.skipif(
    compiler is None
    or "clang" in compiler.identity
    or not {"exp", "expm1", "log", "pow", "erfc"} <= compilers.libmvec()
    or not compilers.processor_flags() >= avx512.NEEDED
    or np.finfo(np.longdouble).nmant < 63,
    reason="there are no vectors of 64 bytes, or no gcc and glibc, or nothing to measure with",
)

LARGEST = {"exp": 0.56, "expm1": 2.1, "log": 0.78, "pow": 0.75}  # units of the last place, as the module says
RANGES = {
    "exp": [(-700, 700), (-1, 1)],
    "expm1": [(-3, 3), (-40, 700)],
    "log": [(0.5, 2), (1e-300, 1e300), (0, 1e-308)],
}
SPECIAL = np.array(
    [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        -3.0,
        709.7,
        709.79,
        -745.1,
        -745.2,
        1e308,
    ]
    + [
        -1e308,
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1e-310,
        -1e-310,
        1e16,
        -1e16,
        9007199254740993.0,
        1e-17,
        -1e-17,
    ]
    + [
        1000.0,
        -1001.0,
        0.9999999999999999,
        1.0000000000000002,
        1.5,
        0.75,
        1.4062499999999998,
        0.703125,
        1.40625,
        2.5,
        -40.5,
    ]
)  # a multiple of eight: all go through vectors


def function(name, mode):
    x, y = T.vector("x"), T.vector("y")
    if name == "pow":
        return tg.function([x, y], T.power(x, y), mode=mode)
    return tg.function([x], getattr(T, name)(x), mode=mode)


@pytest.fixture(scope="module", params=["FAST_RUN", "STRICT"])  # products and sums joined, and apart
def functions(request):
    return {name: function(name, request.param) for name in LARGEST}


def units(got, want):
    """How far numbers are from others of more digits, in units of the last place of float64."""
    exponent = np.maximum(np.frexp(want)[1], -1021)
    return np.abs(got - want) / np.ldexp(np.longdouble(1), exponent - 53)


def test_no_multiple_is_missing():
    assert len(SPECIAL) % 8 == 0


@pytest.mark.parametrize("name", RANGES)
def test_errors_of_one_operand(functions, name):
    rng = np.random.default_rng(0)
    for low, high in RANGES[name]:
        x = rng.uniform(low, high, 1 << 16)
        x = x[x > 0] if name == "log" else x
        x = x[: len(x) // 8 * 8]
        assert units(functions[name](x), getattr(np, name)(x.astype(np.longdouble))).max() <= LARGEST[name]


@pytest.mark.parametrize(("base", "exponent"), [((0.9, 1.1), 6500), ((0, 100), 5), ((0.5, 2), 3), ((0, 1e10), 30)])
def test_errors_of_powers(functions, base, exponent):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(*base, 1 << 16), rng.uniform(-exponent, exponent, 1 << 16)
    got, want = functions["pow"](x, y), np.power(x.astype(np.longdouble), y)
    normal = (want > 1e-300) & (want < 1e308)
    assert units(got, want)[normal].max() <= LARGEST["pow"]


def same(got, want, units=1):
    assert np.array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    assert np.array_equal(np.signbit(got)[number], np.signbit(want)[number])
    np.testing.assert_array_max_ulp(got[number], want[number], units)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", RANGES)
def test_special_operands(functions, name):
    same(functions[name](SPECIAL), getattr(np, name)(SPECIAL), 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_powers(functions):
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(SPECIAL, SPECIAL))
    same(functions["pow"](x, y), np.power(x, y))


@pytest.fixture(scope="module", params=["FAST_RUN", "STRICT"])
def single_power(request):
    x, y = T.fvector("x"), T.fvector("y")
    return tg.function([x, y], T.power(x, y), mode=request.param)


SINGLE_ENDS = [((0.9, 1.1), 700), ((0, 100), 5), ((0.5, 2), 3), ((0, 1e10), 3), ((0.97, 1.04), 2500), ((0, 1), 40)]


@pytest.mark.parametrize(("base", "exponent"), [*SINGLE_ENDS, ((1, 1.0001), 1e6), ((0, 1e-38), 0.5)])
def test_errors_of_powers_of_float32(single_power, base, exponent):
    """Results below the normal numbers, too, are rounded once."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(*base, 1 << 16).astype("float32"), rng.uniform(-exponent, exponent, 1 << 16).astype("float32")
    got, want = single_power(x, y), np.power(x.astype(float), y.astype(float))
    finite = want < 3.4e38
    off = np.abs(got - want)[finite] / np.ldexp(1.0, np.maximum(np.frexp(want[finite])[1], -125) - 24)
    assert off.max() <= (0.63 if exponent > 500 else 0.54)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_powers_of_float32(single_power):
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(SPECIAL, SPECIAL))
    x, y = x.astype("float32"), y.astype("float32")
    want = np.power(x.astype(float), y.astype(float)).astype("float32")
    same(single_power(x, y), want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_any_numbers(functions, single_power, dtype):
    """Of any bits: exponents up to the largest number, of which a product with a logarithm is infinite."""
    bits = np.random.default_rng(0).integers(0, 256, (2, 1 << 16, np.dtype(dtype).itemsize), "uint8")
    x, y = (b.view(dtype).ravel() for b in bits)
    large, x = np.finfo(dtype).max, np.concatenate([x, [2, 0.5, 1, 1.0000001, 0.9999999]]).astype(dtype)
    for ends in (np.full(5, large), np.full(5, -large)):
        given = np.concatenate([y, ends]).astype(dtype)
        if dtype == "float32":
            same(single_power(x, given), np.power(x.astype(float), given.astype(float)).astype(dtype))
        else:
            same(functions["pow"](x, given), np.power(x, given))


@pytest.fixture(scope="module", params=["FAST_RUN", "STRICT"])
def single_erfc(request):
    x = T.fvector("x")
    return tg.function([x], T.erfc(x), mode=request.param)


@pytest.mark.parametrize("ends", [(-4, 0), (0, 0.01), (0, 1), (1, 4), (4, 9)])
def test_errors_of_erfc_of_float32(single_erfc, ends):
    x = np.random.default_rng(0).uniform(*ends, 1 << 18).astype("float32")
    got, want = single_erfc(x), scipy.special.erfc(x.astype(float))
    off = np.abs(got - want) / np.ldexp(1.0, np.frexp(want)[1] - 24)
    assert off.max() <= 1.28 and off.mean() <= 0.27


def test_pieces_of_erfc_of_float32_meet(single_erfc):
    ends = np.concatenate([np.arange(0, 1, 0.125), np.arange(1, 3, 0.25), np.arange(3, 7, 0.5), np.arange(7, 10)])
    ends = ends.astype("float32")
    x = np.concatenate([np.nextafter(ends, np.float32(k)) for k in (-1, 11)] + [ends, -ends])
    got, want = single_erfc(x[: len(x) // 16 * 16]), scipy.special.erfc(x[: len(x) // 16 * 16].astype(float))
    same(got, want.astype("float32"))


def test_special_operands_of_erfc_of_float32(single_erfc):
    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-38, -1e-45, 10.05, 10.06, 10.1, 9.4, 100, -100, 3e38, -3e38, -5])
    x = x.astype("float32")
    same(single_erfc(x), scipy.special.erfc(x.astype(float)).astype("float32"))


@pytest.fixture(scope="module", params=["FAST_RUN", "STRICT"])
def log1mexp(request):
    x = T.dvector("x")
    return tg.function([x], T.log1mexp(x), mode=request.param)


@pytest.mark.parametrize("ends", [(-1e-5, 0), (-0.7, -0.01), (-2, -0.69), (-41, -2), (-700, -39)])
def test_errors_of_log1mexp(log1mexp, ends):
    x = np.random.default_rng(0).uniform(*ends, (1 << 16) + 3)
    wide = x.astype(np.longdouble)
    off = units(log1mexp(x), np.where(x > -0.69, np.log(-np.expm1(wide)), np.log1p(-np.exp(wide))))
    assert off.max() <= 1.6 and off.mean() <= 0.39


def test_special_operands_of_log1mexp(log1mexp):
    x = np.array([0.0, -0.0, -np.inf, np.nan, 1.0, np.inf, -746.0, -1e300, -5e-324, -1e-310, -708.5, -40.0])
    want = [-np.inf, -np.inf, -0.0, np.nan, np.nan, np.nan, -0.0, -0.0]
    want += [np.log(5e-324), np.log(1e-310), -np.exp(-708.5), -np.exp(-40.0)]
    for n in range(len(x) + 1):
        same(log1mexp(x[:n]), np.array(want[:n]))


def test_log_of_float32():
    x = T.fvector("x")
    log = tg.function([x], T.log(x), mode=tg.Mode(linker="c"))
    bits = np.arange(0, 0x7F800000, 4217, dtype="uint32").view("float32")
    near = np.random.default_rng(0).uniform(0.7, 1.6, 1 << 18).astype("float32")
    for v in (bits[bits > 0], near):
        want = np.log(v.astype(float))
        off = np.abs(log(v) - want) / np.spacing(np.abs(want).astype("float32").clip(1e-38))
        off = off[64:-64]  # beside whole vectors, and where gcc takes shorter ones, it is libmvec's
        assert off.max() <= 4 and off.mean() <= 0.27
    special = np.array([0, -0.0, -1, -1e-45, -np.inf, np.inf, np.nan, 1e-45, 1e-40, 1], "float32")
    with np.errstate(all="ignore"):
        for n in range(len(special) + 1):
            same(log(special[:n]), np.log(special[:n]))


def test_programs_hold_what_they_use():
    assert all(
        f"_{name}(" in needed(name).split("TG_EIGHT_VARIANT")[-1] for name in [*LARGEST, "powf", "erfcf", "logf"]
    )
    assert "TG_EIGHT" not in needed("sin")

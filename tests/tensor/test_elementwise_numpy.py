"""Every element-wise function agrees with NumPy or SciPy: values, dtypes, shapes, and what is refused."""

import operator

import numpy as np
import pytest
import scipy.special
from helpers import COMPLEX, DTYPES, FLOATS, INTS, REALS, arrays, assert_same, check, numpy_says, quick, run
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import termgraph as tg
import termgraph.tensor as T
from termgraph.tensor import elemwise
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops import draws
from termgraph.terms.ops import random as random_ops
from termgraph.terms.ops.gradmarks import MARKS as GRADMARKS
from termgraph.terms.ops.special import CALLED

# our names whose NumPy name differs
NUMPY_NAME = {
    "neg": "negative", "sqr": "square", "pow": "power", "lt": "less", "gt": "greater", "le": "less_equal",
    "ge": "greater_equal", "eq": "equal", "neq": "not_equal", "sub": "subtract", "mul": "multiply",
    "true_div": "true_divide", "floor_div": "floor_divide", "abs": "absolute",
}  # fmt: skip
UNARY = [
    "neg", "abs", "sign", "sqr", "sqrt", "cbrt", "reciprocal", "floor", "ceil", "trunc", "fix", "rint", "round",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "deg2rad", "rad2deg", "isnan", "isinf", "isfinite",
    "signbit", "logical_not", "invert", "real", "imag", "conj", "angle", "sinc", "positive", "nan_to_num",
    "isposinf", "isneginf", "bitwise_count", "frexp", "modf",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "true_div", "floor_div", "mod", "fmod", "pow", "maximum", "minimum", "fmax", "fmin",
    "copysign", "nextafter", "hypot", "heaviside", "logaddexp", "logaddexp2", "arctan2", "lt", "gt", "le", "ge", "eq",
    "neq", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
    "right_shift", "isclose", "gcd", "lcm", "ldexp",
]  # fmt: skip
SPECIAL = {
    "erf": "erf", "erfc": "erfc", "erfcx": "erfcx", "erfinv": "erfinv", "erfcinv": "erfcinv", "gamma": "gamma",
    "gammaln": "gammaln", "digamma": "digamma", "j0": "j0", "j1": "j1", "i0": "i0", "i1": "i1",
    "i0e": "i0e", "i1e": "i1e",
}  # fmt: skip
NEURAL = {
    "sigmoid": scipy.special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "log1mexp": lambda x: np.where(x > -0.69, np.log(-np.expm1(x)), np.log1p(-np.exp(x))),
}
ORDERS = ["gammainc", "gammaincc", "jv", "iv"]  # functions of an order and an argument
OTHER = [
    "hyp1f1",  # test_confluent.py
    "polygamma",
    "betainc",
    "xlog1py",
    "xlogy",
    "fma",
    "switch",
    "clip",
    "cast",
    "complex",
    "frexp_exponent",
    "frexp_mantissa",
    *ORDERS,
    *CALLED,  # tests/backends/c/test_c_special.py
    "lambertw",
    *("dawsn", "exp1", "expi", "spence", "sinint", "cosint"),  # tests/backends/c/test_integrals.py
    *("owens_t", "beta", "poch"),  # tests/backends/c/test_ratios.py
]  # tested one by one below


def numpy_function(name):
    return getattr(np, NUMPY_NAME.get(name, name))


@st.composite
def operands(draw, count, dtypes=DTYPES, **kwargs):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=3)).input_shapes
    return tuple(draw(arrays(dtypes, shape=s, **kwargs)) for s in shapes)


def agree(name, ours, numpys, *values, rtol=None, once=False):
    """Same result, or the same refusal: a TypeError where NumPy has no loop, a ValueError for bad values."""
    try:
        numpy_says(numpys, *values)
    except (TypeError, ValueError, OverflowError) as err:
        kind = next(k for k in (TypeError, ValueError, OverflowError) if isinstance(err, k))
        with pytest.raises(kind):
            run(ours, *values)
    else:
        check(ours, numpys, *values, rtol=rtol, what=f"{name} of {[str(v.dtype) for v in values]}", once=once)


def test_every_function_of_the_table_is_tested():
    tested = {*UNARY, *BINARY, *SPECIAL, *NEURAL, *OTHER}
    assert {n for n, op in OPS.items() if op.kind == "elementwise"} - {
        "fma",
        "assume",
        "between",  # tests/rulelib/test_integers.py
        "required",  # test_random, test_shaping
        "exp_below_zero",  # exp in softmax and its like: tests/lower
        *{op.name for table in (random_ops, draws) for op in vars(table).values() if isinstance(op, Op)},  # test_random
        *{op.name for op in GRADMARKS},
        "mean_over_workers",  # tests/dist/test_mark.py
        *tested,
    } == set()
    for alias, op in elemwise.ALIASES.items():
        if callable(getattr(np, alias, None)) and alias not in ("abs_", "sgn"):
            assert getattr(T, alias) is op or alias in UNARY, alias


def samples(dtype):
    """Ordinary and special values of a dtype, 3 by 4, behind a negative stride."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        values = [True, False, True] * 4
    elif kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 3]
    else:
        values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.25, 40.0, np.inf, -np.inf, np.nan, 1e-3]
    if kind == "c":
        values = [complex(a, b) for a, b in zip(values, values[5:] + values[:5], strict=True)]
    return np.array(values, dtype).reshape(3, 4)[:, ::-1]


SAMPLES = {dtype: samples(dtype) for dtype in DTYPES}


@pytest.mark.parametrize("name", UNARY)
def test_unary_of_every_dtype(name):
    for x in SAMPLES.values():
        if name == "sinc":
            x = np.where(abs(x.astype(complex)) < 40, x, 1).astype(x.dtype)
        loose = 1e-5 if x.dtype.name in ("complex64", "float32") and name in ("sinc", "tan", "tanh") else None
        agree(name, getattr(T, name), numpy_function(name), x, rtol=loose)


@pytest.mark.parametrize("name", UNARY)
@given(x=arrays())
@quick(6)
def test_unary(name, x):
    if name == "sinc":
        x = np.where(abs(x.astype(complex)) < 40, x, 1).astype(x.dtype)
    agree(name, getattr(T, name), numpy_function(name), x, rtol=1e-5 if name == "sinc" else None)


@pytest.mark.parametrize("name", BINARY)
def test_binary_of_every_pair_of_dtypes(name):
    ours, numpys = getattr(T, name), numpy_function(name)
    for x in SAMPLES.values():
        for y in SAMPLES.values():
            if name == "pow":
                y = abs(y[:1])  # integers have no negative powers
            agree(name, ours, numpys, x[:, :, None], y.reshape(-1), once=True)


@pytest.mark.parametrize("name", BINARY)
@given(case=operands(2))
@quick(6)
def test_binary(name, case):
    agree(name, getattr(T, name), numpy_function(name), *case)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "true_div", "floor_div", "mod", "pow", "maximum", "lt", "eq"])
@given(x=arrays(), number=st.sampled_from([True, 0, 1, 2, -3, 300, 70000, 0.5, -2.0, 1j]), left=st.booleans())
@quick(20)
def test_python_numbers_are_weak(name, x, number, left):
    ours, numpys = getattr(T, name), numpy_function(name)
    swap = (lambda f: lambda v: f(number, v)) if left else (lambda f: lambda v: f(v, number))
    agree(name, swap(ours), swap(numpys), x)


@pytest.mark.parametrize("name", SPECIAL)
@given(x=arrays())
@quick(12)
def test_special_functions(name, x):
    function = getattr(T, name)
    if x.dtype.kind == "c":
        with pytest.raises(TypeError, match="real numbers"):
            run(function, x)
        return
    agree_in_precision(function, getattr(scipy.special, SPECIAL[name]), x)


def agree_in_precision(ours, reference, x):
    """As SciPy, which has no half precision; its dtypes for integers differ from one version to the next."""
    out = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    expected = np.asarray(numpy_says(reference, x.astype(np.result_type(out, np.float32))))
    assert_same(run(ours, x), expected.astype(out), rtol={"float64": None, "float32": 1e-5}.get(out.name, 2e-3))


@pytest.mark.parametrize("name", NEURAL)
@given(x=arrays(REALS))
@quick(12)
def test_neural_functions(name, x):
    agree_in_precision(getattr(T, name), NEURAL[name], x)


@pytest.mark.parametrize("mode", ["auto", "py"])
def test_parts_of_floats_at_the_ends_of_their_range(mode):
    mode = tg.Mode(linker=mode)
    for dtype in ("float16", "float32", "float64"):
        info = np.finfo(dtype)
        x, n = T.vector("x", dtype=dtype), T.lvector("n")
        values = np.array([info.max, -info.tiny, info.smallest_subnormal, -0.0, 0.75, np.inf, -np.inf, np.nan], dtype)
        m, e = tg.function([x], T.frexp(x), mode=mode)(values)
        want_m, want_e = np.frexp(values)
        np.testing.assert_array_equal(m, want_m)
        np.testing.assert_array_equal(e[:5], want_e[:5])
        assert (m.dtype, e.dtype, *e[5:]) == (want_m.dtype, want_e.dtype, 0, 0, 0)
        f = tg.function([x, n], T.ldexp(x, n), mode=mode)
        for by in (0, 1, -1, 14, -24, -140, 1000, -1074, 2**40, -(2**62)):
            with np.errstate(all="ignore"):
                wanted = np.ldexp(values, np.full(8, by))
            np.testing.assert_array_equal(f(values, np.full(8, by)), wanted)
        part, whole = tg.function([x], T.modf(x), mode=mode)(values)
        for got, want in zip((part, whole), np.modf(values), strict=True):
            np.testing.assert_array_equal(got, want)
            assert (np.signbit(got) == np.signbit(want))[:7].all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_of_floats_of_all_sizes(dtype, rng):
    """Any bits by any power: what is rounded is rounded once."""
    bits = f"uint{np.dtype(dtype).itemsize * 8}"
    values = rng.integers(0, np.iinfo(bits).max, 100_000, dtype=bits, endpoint=True).view(dtype)
    reach = {"float16": 60, "float32": 320, "float64": 2300}[dtype]
    by = rng.integers(-reach, reach, len(values))
    x, n = T.vector("x", dtype=dtype), T.lvector("n")
    f = tg.function([x, n], [T.ldexp(x, n), *T.frexp(x)], mode=tg.Mode(linker="auto"))
    got, mantissa, exponent = f(values, by)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, np.ldexp(values, by))
        wanted = np.frexp(values)
    np.testing.assert_array_equal(mantissa, wanted[0])
    finite = np.isfinite(values)
    np.testing.assert_array_equal(exponent[finite], wanted[1][finite])


def test_derivatives_of_parts_of_floats():
    x = T.dvector("x")
    f = tg.function([x], [tg.grad(y.sum(), x) for y in (T.ldexp(x, [3, -1]), T.frexp(x)[0], T.modf(x)[0])])
    for got, want in zip(f([1.5, -6.25]), ([8.0, 0.5], [0.5, 0.125], [1.0, 1.0]), strict=True):
        np.testing.assert_array_equal(got, want)


@given(n=st.integers(0, 4), x=arrays(FLOATS + INTS))
@quick(20)
def test_polygamma(n, x):
    expected = np.asarray(numpy_says(scipy.special.polygamma, n, x.astype("float64")))
    got = run(lambda v: T.polygamma(n, v), x)
    assert_same(got.astype("float64"), expected, rtol=2e-3)


@given(case=operands(2, ("float32", "float64", "int64")))
@quick(40)
def test_xlogy(case):
    agree("xlogy", T.xlogy, scipy.special.xlogy, *case)


def test_xlogy_is_zero_where_its_first_operand_is():
    x, y = np.array([0.0, 0.0, 0.0, 2.0, np.nan]), np.array([0.0, np.inf, np.nan, 1.0, 1.0])
    np.testing.assert_array_equal(tg.function([], T.xlogy(x, y))(), [0.0, 0.0, np.nan, 0.0, np.nan])


@given(case=operands(2, ("float32", "float64", "int64")))
@quick(40)
def test_xlog1py(case):
    agree("xlog1py", T.xlog1py, scipy.special.xlog1py, *case)


def test_xlog1py_keeps_the_digits_of_small_operands():
    x, y = np.array([0.0, 0.0, 0.0, 2.0]), np.array([-1.0, np.inf, np.nan, 1e-20])
    np.testing.assert_array_equal(tg.function([], T.xlog1py(x, y))(), [0.0, 0.0, np.nan, 2e-20])


@pytest.mark.parametrize("name", ORDERS)
@given(order=st.sampled_from([0.0, 1.0, 2.0, 0.5, 3.5]), x=arrays(FLOATS))
@quick(12)
def test_functions_of_an_order(name, order, x):
    with np.errstate(all="ignore"):
        expected = np.asarray(getattr(scipy.special, name)(order, x.astype("float64")))
    got = run(lambda v: getattr(T, name)(np.asarray(order, x.dtype), v), x)
    wide = {"float64": 1e-12, "float32": 1e-5}.get(x.dtype.name, 2e-3)
    assert_same(got.astype("float64"), expected.astype(x.dtype).astype("float64"), rtol=wide)


@given(case=operands(3, REALS + COMPLEX))
@quick(20)
def test_where(case):
    check(T.where, lambda c, a, b: np.where(c != 0, a, b), *case)
    check(T.switch, lambda c, a, b: np.where(c != 0, a, b), *case)


@given(case=operands(3, FLOATS + INTS))
@quick(20)
def test_clip(case):
    agree("clip", T.clip, np.clip, *case)
    x = case[0]
    check(lambda v: T.clip(v, None, 3), lambda a: np.clip(a, None, 3), x)
    check(lambda v: v.clip(1, None), lambda a: np.clip(a, 1, None), x)
    check(lambda v: T.clip(v, 0, 2.0), lambda a: np.clip(a, 0, 2.0), x)


@given(case=operands(3, FLOATS, finite=True))
@quick(20)
def test_fma(case):
    common = np.result_type(*case)
    check(T.fma, lambda a, b, c: a.astype(common) * b.astype(common) + c.astype(common), *case)


@given(x=arrays(), dtype=st.sampled_from(DTYPES))
@quick(40)
def test_cast(x, dtype):
    if np.dtype(dtype).kind in "iu" and x.dtype.kind in "fc":
        x = np.where(np.isfinite(x) & (abs(x) < 100) & (x.real >= 0), x, 1).astype(x.dtype)  # else undefined in C
    check(lambda v: T.cast(v, dtype), lambda a: a.astype(dtype), x)
    check(lambda v: v.astype(dtype), lambda a: a.astype(dtype), x)


@given(case=operands(2, REALS))
@quick(20)
def test_complex(case):
    out = "complex64" if np.result_type(np.result_type(*case), np.float32) == np.float32 else "complex128"
    re, im = np.broadcast_arrays(*case)
    expected = np.empty(re.shape, out)
    expected.real, expected.imag = re, im
    check(T.complex, lambda a, b: expected, *case)


@given(x=arrays(FLOATS + INTS + COMPLEX, finite=True), decimals=st.integers(-2, 3))
@quick(20)
def test_round_to_decimals(x, decimals):
    if x.dtype.kind in "iu":
        x = np.clip(x, 0, 100)
    if decimals:
        check(lambda v: T.round(v, decimals), lambda a: np.round(a, decimals), x)
        check(lambda v: v.round(decimals), lambda a: np.round(a, decimals), x)


@pytest.mark.parametrize("mode", ["None", "FAST_RUN", "STRICT"])
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_complex_numbers_are_rounded_to_decimals_part_by_part(dtype, mode):
    """A part that is infinite or NaN leaves the other one as it is, and a zero its sign."""
    parts = np.array([0.0, -0.0, 3.14159265, -2.5, 25.0, np.inf, -np.inf, np.nan])
    z = T.tensor("z", dtype=dtype, shape=(None,))
    a = np.empty(len(parts) ** 2, dtype)
    a.real, a.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    for decimals in (-1, 1, 5):
        found, wanted = tg.function([z], T.round(z, decimals), mode=mode)(a), np.round(a, decimals)
        assert found.dtype == wanted.dtype
        for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
            np.testing.assert_allclose(x, y, rtol=1e-15 if dtype == "complex128" else 1e-6)
            np.testing.assert_array_equal(np.signbit(x[y == 0]), np.signbit(y[y == 0]))


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "minimum", "logical_and", "logical_or", "bitwise_or"])
@given(case=operands(3))
@quick(20)
def test_many_operands_are_folded_in_their_common_dtype(name, case):
    function, common = numpy_function(name), np.result_type(*case)
    assume(not (name.startswith("bitwise") and common.kind in "fc"))
    out = np.dtype(bool) if "logical" in name else common
    expected = lambda a, b, c: function(function(a.astype(out), b.astype(out)), c.astype(out))  # noqa: E731
    agree(name, getattr(T, name), expected, *case)


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "and_", "or_", "xor"]


@pytest.mark.parametrize("name", OPERATORS)
@given(case=operands(2))
@quick(12)
def test_python_operators(name, case):
    op = getattr(operator, name)
    agree(name, op, op, *case)


@given(x=arrays())
@quick(20)
def test_unary_operators(x):
    for op in (operator.neg, operator.abs, operator.invert):
        agree(op.__name__, op, op, x)
    assert_same(run(operator.pos, x), x)


@given(x=arrays(FLOATS, shape=(2, 3)))
@quick(20)
def test_ndarray_operands_on_either_side(x):
    row = np.arange(3.0).astype(x.dtype)
    check(lambda v: row + v, lambda a: row + a, x)
    check(lambda v: v * row, lambda a: a * row, x)
    check(lambda v: [1, 2, 3] - v, lambda a: np.array([1, 2, 3]) - a, x)


def test_refusals_name_the_function_and_the_dtypes():
    with pytest.raises(TypeError, match=r"bitwise_and is not defined for \(float64, float64\)"):
        T.dvector() & T.dvector()
    with pytest.raises(TypeError, match="floor is not defined for .complex128."):
        T.floor(T.zvector())
    with pytest.raises(TypeError, match="unsupported dtype 'float128'"):
        T.cast(T.dvector(), "float128")


def test_what_is_behind_the_point_is_not_divided():
    x = T.dvector("x")
    f = tg.function([x], [T.fmod(x, 1), T.fmod(x, 2)], mode=tg.Mode(linker="py"))
    assert str(f.stage("place")).count("fmod") == 1
    np.testing.assert_array_equal(f([-2.5, np.inf, 3.0])[0], [-0.5, np.nan, 0.0])

"""Special functions written in C, beside SciPy."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.compiled import MachineFunction
from termgraph.terms.ops.special import CALLED

LINKER = "c"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
TINY = 10.0 ** -np.arange(1, 300, 7.0)
POINTS = {
    "digamma": [
        np.linspace(0.01, 60, 4001),
        np.linspace(1.2, 1.8, 601),
        TINY,
        1 / TINY,
        [0.0, -0.0, -3.0, np.inf, np.nan],
    ],
    "erfinv": [np.linspace(-1, 1, 2001), TINY, 1 - 2.0 ** -np.arange(1, 53), [-0.0, 1.5, np.nan]],
    "erfcinv": [np.linspace(0, 2, 2001), TINY, 2 - 2.0 ** -np.arange(1, 52), [-1.0, 3.0, np.nan]],
    "erfcx": [np.linspace(-26, 60, 4001), 1 / TINY, TINY, [-40.0, np.inf, -np.inf, np.nan]],
}


@pytest.mark.parametrize("name", POINTS)
def test_special_functions_agree_with_scipy(name):
    x, y = T.dvector("x"), T.fvector("y")
    f = tg.function([x, y], [getattr(T, name)(x), getattr(T, name)(y)])
    points = np.concatenate(POINTS[name])
    with np.errstate(all="ignore"):
        single = points.astype("float32")
        expected, rough = getattr(scipy.special, name)(points), getattr(scipy.special, name)(single)
    got, got_single = f(points, single)
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(got_single, rough, rtol=1e-6)


def test_digamma_left_of_zero():
    x = T.dvector("x")
    points = np.linspace(-12.3, -0.01, 2000)
    np.testing.assert_allclose(
        tg.function([x], T.digamma(x))(points), scipy.special.digamma(points), rtol=1e-11, atol=1e-13
    )


KIN = {
    "gamma": (T.gamma, mpmath.gamma, scipy.special.gamma, 5),
    "gammaln": (T.gammaln, lambda x: mpmath.log(abs(mpmath.gamma(x))), scipy.special.gammaln, 3),
    "digamma": (T.digamma, mpmath.digamma, scipy.special.digamma, 5),
    "trigamma": (lambda x: T.polygamma(1, x), lambda x: mpmath.psi(1, x), lambda x: scipy.special.polygamma(1, x), 7),
}


@pytest.mark.parametrize("name", KIN)
def test_gamma_and_its_kin_are_right_on_every_range(name):
    """Units of the last place from mpmath: around all joints, near zeros right of 0, left of 0 away from them."""
    ours, exact, _, most = KIN[name]
    x = T.dvector("x")
    f = tg.function([x], ours(x), mode=tg.Mode(linker="c"))
    joints = np.array([0.5, 0.75, 1, 1.4616321449683622, 1.5, 2, 2.5, 3.5, 4.5, 5.5, 6, 170.6])
    left = -0.3 - np.arange(0, 12.0)  # no zero of gammaln and digamma is near
    points = [joints, joints * (1 - 1e-9), joints * (1 + 1e-9), np.geomspace(1e-300, 170, 151), left]
    points.append(np.geomspace(171.62, 1e300, 31) if name != "gamma" else -np.geomspace(0.015, 160.5, 70))
    values = np.concatenate(points)
    with mpmath.workdps(330):
        for value, got in zip(values, f(values)):
            wanted = exact(mpmath.mpf(float(value)))
            if abs(wanted) > 1e-307 and abs(wanted) < 1e308:
                off = abs(mpmath.mpf(float(got)) - wanted) / mpmath.mpf(float(np.spacing(abs(float(wanted)))))
                assert off < most, (value, got, float(wanted), float(off))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", KIN)
def test_gamma_and_its_kin_at_the_ends(name, dtype):
    """At poles, infinities and NaN, and where a result leaves the range of numbers, they are what SciPy has."""
    ours, _, theirs, _ = KIN[name]
    x = T.vector("x", dtype=dtype)
    values = np.array([0, -0.0, -1, -2, -3, -170, np.inf, -np.inf, np.nan, 171.6, 171.7, 1e30, -200.5, 1e-30,
                       -1e-30, 1e-307, -171.5, 1e300, 2.6e305, -1e-305])  # fmt: skip
    with np.errstate(all="ignore"):
        values, wanted = values.astype(dtype), theirs(values.astype(dtype)).astype(dtype)
    got = tg.function([x], ours(x), mode=tg.Mode(linker="c"))(values)
    np.testing.assert_allclose(got, wanted, rtol=1e-6 if dtype == "float32" else 1e-13, atol=1e-305)
    np.testing.assert_array_equal(np.signbit(got[wanted == wanted]), np.signbit(wanted[wanted == wanted]))


def test_gamma_of_whole_numbers_is_exact():
    x = T.dvector("x")
    f = tg.function([x], [T.gamma(x), T.gammaln(x)], mode=tg.Mode(linker="c"))
    values, logs = f(np.arange(1.0, 172))
    np.testing.assert_array_equal(values, [float(math.factorial(n)) for n in range(171)])
    np.testing.assert_array_equal(logs[:2], 0.0)


def test_truncated_normal_is_the_same_stream_in_c():
    drawn = []
    for linker in ("py", "c"):
        draws = T.random.RandomStream(seed=5).truncated_normal(size=500)
        drawn.append(tg.function([], draws, mode=tg.Mode(linker=linker))())
    np.testing.assert_allclose(drawn[0], drawn[1], rtol=1e-13)
    assert np.abs(drawn[1]).max() <= 2


def draws(stream):
    """One of each distribution that is drawn by rejection, with parameters small and large."""
    shapes = np.array([0.01, 0.5, 1.0, 3.7, 200.0])
    means = np.array([0.0, 1e-3, 0.7, 5.0, 1e3, 1e7])
    return [
        stream.gamma(shapes, 3.0, size=(60, 5)),
        stream.gamma(2.0, size=(40,), dtype="float32"),
        stream.beta(shapes, 2.0, size=(60, 5)),
        stream.poisson(means, size=(60, 6)),
        stream.binomial(np.array([0, 1, 20, 1000, 10**9]), 0.3, size=(60, 5)),
        stream.binomial(10, np.array([0.0, 1.0, 0.5]), size=(20, 3)),
        stream.negative_binomial(5, 0.3, size=(40,)),
        stream.chisquare(3.0, size=(40,)),
    ]


def test_draws_by_rejection_give_the_same_bits_in_c():
    drawn = []
    for linker in ("py", "c"):
        f = tg.function([], draws(T.random.RandomStream(seed=5)), mode=tg.Mode(linker=linker))
        f()
        drawn.append(f())
    assert not isinstance(f, MachineFunction)
    for want, got in zip(*drawn):
        np.testing.assert_array_equal(got, want)


def test_a_draw_is_one_loop_with_what_is_made_of_it():
    draw = T.random.RandomStream(seed=5).gamma(2.0, size=(100,))
    f = tg.function([], T.sum(T.log(draw) * 2), mode=tg.Mode(linker="c"))
    assert f.source("c").count("static void kernel") == 2  # the other one is the stream's next state


@pytest.mark.parametrize("build", [lambda r, a: r.poisson(a), lambda r, a: r.binomial(T.constant(5.0), a)])
def test_draws_of_impossible_parameters(build):
    a = T.dvector("a")
    messages = []
    for linker in ("py", "c"):
        f = tg.function([a], build(T.random.RandomStream(seed=1), a) + 1, mode=tg.Mode(linker=linker))
        assert f([1.0, 0.5]).shape == (2,) and f([]).shape == (0,)
        for wrong in ([1.0, -2.0], [np.nan, 1.0]):
            with pytest.raises(ValueError) as caught:
                f(wrong)
            messages.append(next(line for line in str(caught.value).splitlines() if "failed:" in line))
    assert len(set(messages)) == 1 and not isinstance(f, MachineFunction)


def test_polygamma():
    n, x = T.dvector("n"), T.dvector("x")
    f = tg.function([n, x], [T.polygamma(n, x), T.polygamma(1, T.cast(x, "float32"))], mode=tg.Mode(linker="c"))
    order, points = np.repeat(np.arange(5.0), 60), np.tile([*np.linspace(-4.3, 30, 58), 0.0, np.nan], 5)
    with np.errstate(all="ignore"):
        want, rough = scipy.special.polygamma(order, points), scipy.special.polygamma(1, points.astype("float32"))
    got, single = f(order, points)
    ours = order <= 1  # written out; the others are SciPy's own digits
    np.testing.assert_array_equal(got[~ours], want[~ours])
    np.testing.assert_allclose(got[ours], want[ours], rtol=1e-13)
    np.testing.assert_allclose(single, rough, rtol=1e-6)


def test_functions_that_are_calls_of_scipys():
    points = np.array([*np.linspace(-4.3, 30, 58), 0.0, -0.0, 0.3, 1.0, np.nan, np.inf, -np.inf])
    orders = {name: (2.0, 1.5, 2.5)[: n - 1] for name, n in CALLED.items()}
    x, ops = T.dvector("x"), {name: getattr(T, name) for name in orders}
    wide = [op(*orders[name], x) for name, op in ops.items()]
    single = [op(*orders[name], T.cast(x, "float32")) for name, op in ops.items()]
    found = tg.function([x], [*wide, *single], mode=tg.Mode(linker="c"))(points)
    near = points.astype("float32").astype("float64")
    for (name, op), got, rough in zip(ops.items(), found, found[len(ops) :], strict=False):
        want, wanted = (op.meaning(*map(np.asarray, orders[name]), v) for v in (points, near))
        np.testing.assert_array_equal(got, want, err_msg=name)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(rough, wanted.astype("float32"), rtol=1e-6, err_msg=name)
    assert np.isnan(T.hyp2f1(1e5, 0.5, -2.5, [np.nan]).eval()).all()  # SciPy's loop crashes


@pytest.mark.parametrize("dtype, units", [("float64", 4), ("float32", 1)])
@pytest.mark.parametrize("linker", ["c", "py"])
def test_branches_of_lamberts_function(dtype, units, linker, rng):
    at, inf, tiny = np.array(-0.36787944117144233, dtype), np.inf, -300 if dtype == "float64" else -37
    x = T.tensor("x", dtype=dtype, shape=(None,))
    f = tg.function([x], [T.lambertw(x), T.lambertw(x, -1)], mode=tg.Mode(linker=linker))
    last = np.nextafter(at, np.zeros((), dtype))
    below = np.concatenate([last + 10 ** rng.uniform(-17, -1, 200), rng.uniform(last, 0, 200), [-0.3, -0.25, last],
                            -(10 ** rng.uniform(tiny, -2, 100))]).astype(dtype)  # fmt: skip
    above = np.concatenate([rng.uniform(0, 9, 99), 10 ** rng.uniform(tiny, -tiny, 99), [3, 1e-20]]).astype(dtype)
    with mpmath.workdps(60):
        for k, points in ((0, below), (-1, below), (0, above)):
            exact = [mpmath.lambertw(mpmath.mpf(float(v)), k).real for v in points]
            assert off_by(f(points)[-k], exact) < units
    special = np.array([at, np.nextafter(at, np.array(-1, dtype)), -1, 0, -0.0, inf, -inf, np.nan, 1], dtype)
    upper, lower = f(special)
    np.testing.assert_array_equal(upper[:-1], [-1, np.nan, np.nan, 0, 0, inf, np.nan, np.nan])
    np.testing.assert_array_equal(lower, [-1, np.nan, np.nan, -inf, -inf, *[np.nan] * 4])
    assert np.signbit(upper[3:5]).tolist() == [False, True] and f(special[:0])[0].shape == (0,)


@pytest.mark.parametrize("dtype, units", [("float64", 6), ("float32", 6)])
def test_scaled_bessel_functions(dtype, units):
    points = np.array([*np.linspace(-60, 60, 61), 1e-3, 8, 1e12, 1e30], dtype)
    x = T.tensor("x", dtype=dtype, shape=(None,))
    f = tg.function([x], [T.i0e(x), T.i1e(x)], mode=tg.Mode(linker="c"))
    for order, got in enumerate(f(points)):
        with mpmath.workdps(40):
            exact = [
                mpmath.besseli(order, mpmath.mpf(float(v))) * mpmath.exp(-abs(mpmath.mpf(float(v))))
                if abs(v) < 1e4
                else mpmath.sign(v) ** order
                / mpmath.sqrt(2 * mpmath.pi * abs(mpmath.mpf(float(v))))
                * (1 - mpmath.mpf(4 * order**2 - 1) / (8 * abs(mpmath.mpf(float(v)))))
                for v in points
            ]
        assert off_by(got, exact) < units
    at = np.array([0.0, np.inf, -np.inf, np.nan], dtype)
    np.testing.assert_array_equal(f(at), [scipy.special.i0e(at), scipy.special.i1e(at)])


def off_by(got, exact):
    """The largest error in units of the last place; results below the normal numbers are left out."""
    tiny = np.finfo(got.dtype).smallest_normal
    spacing = [np.spacing(got.dtype.type(abs(float(e)))) for e in exact]
    return max(
        [float(abs(mpmath.mpf(float(g)) - e) / float(s)) for g, e, s in zip(got, exact, spacing) if abs(e) > tiny]
    )


# where the order lies, how far the argument is from it, and the most units that both functions may be off (SciPy: 21
# and 30, 38 and 91, 24 and 73, 303 and 368)
ORDERS = [((1e-8, 1), 1.0, 8, 8), ((0.01, 20), 1.0, 10, 40), ((0.2, 4), 0.7, 12, 50), ((20, 100), 0.7, 400, 400)]


@pytest.mark.parametrize("between, spread, lower, upper", ORDERS)
def test_incomplete_gamma_functions(between, spread, lower, upper, rng):
    a, x, b, y = T.dvector("a"), T.dvector("x"), T.fvector("b"), T.fvector("y")
    outs = [T.gammainc(a, x), T.gammaincc(a, x), T.gammainc(b, y), T.gammaincc(b, y)]
    f = tg.function([a, x, b, y], outs, mode=tg.Mode(linker="c"))
    orders = np.exp(rng.uniform(*np.log(between), 60))
    points = orders * np.exp(rng.normal(0, spread, 60))
    narrow = orders.astype("float32"), points.astype("float32")
    with mpmath.workdps(60):
        for given, found, most in (((orders, points), f(orders, points, *narrow)[:2], (lower, upper)),
                                   (narrow, f(orders, points, *narrow)[2:], (0.6, 0.6))):  # fmt: skip
            pairs = [(mpmath.mpf(float(p)), mpmath.mpf(float(q))) for p, q in zip(*given)]
            exact = [mpmath.gammainc(p, 0, q, regularized=True) for p, q in pairs]
            assert off_by(found[0], exact) < most[0]
            assert off_by(found[1], [mpmath.gammainc(p, q, regularized=True) for p, q in pairs]) < most[1]


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_incomplete_gamma_functions_anywhere(name, dtype, rng):
    """What is no ordinary number is SciPy's, and a number gets the same bits whatever stands beside it."""
    a, x = T.tensor("a", dtype=dtype, shape=(None,)), T.tensor("x", dtype=dtype, shape=(None,))
    f = tg.function([a, x], getattr(T, name)(a, x), mode=tg.Mode(linker="c"))
    special = np.array([-1, 0, -0.0, 1e-320, 1e-5, 0.3, 1, 1.1, 5, 30, 150, 700, 1e10, np.inf, np.nan], dtype)
    orders, points = (v.ravel() for v in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(orders.astype("float64"), points.astype("float64")).astype(dtype)
    np.testing.assert_allclose(f(orders, points), wanted, rtol=3e-13 if dtype == "float64" else 1e-6)
    orders = np.exp(rng.uniform(-8, 6, 300)).astype(dtype)
    points = (orders * np.exp(rng.normal(0, 1, 300))).astype(dtype)
    whole = f(orders, points)
    np.testing.assert_array_equal(f(orders[3:], points[3:]), whole[3:])
    np.testing.assert_array_equal([f(orders[k : k + 1], points[k : k + 1])[0] for k in range(300)], whole)


def test_log1mexp():
    """Near 0, near -log(2), where two formulas meet, and far away, as 0 with the sign of -exp(x)."""
    x, y = T.dvector("x"), T.fvector("y")
    f = tg.function([x, y], [T.log1mexp(x), T.log1mexp(-y)], mode=tg.Mode(linker="c"))
    points = -np.concatenate([np.linspace(0.01, 2, 300), 2.0 ** np.arange(-300, 6.2, 1.7), np.linspace(0.69, 0.7, 40)])
    single = points[-points > 1e-30].astype("float32")
    double, narrow = f(points, -single)
    with mpmath.workdps(60):
        for got, given, most in ((double, points, 4), (narrow, single, 3)):
            exact = [mpmath.log(-mpmath.expm1(mpmath.mpf(float(p)))) for p in given]
            assert off_by(got, exact) < most
    ends = np.array([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, -1e-320, -1000.0])
    for got in f(ends, -ends.astype("float32")):
        far = -np.inf if got.dtype == "float32" else np.log(1e-320)
        np.testing.assert_allclose(got, [-np.inf, -np.inf, np.nan, np.nan, np.nan, -0.0, far, -0.0], rtol=1e-15)
        assert np.signbit(got[[5, 7]]).all()


@pytest.mark.parametrize("name", ["j0", "j1", "i0", "i1"])
def test_bessel_functions_without_a_call(name):
    """A few units of the last place from mpmath; beyond 8, J is SciPy's."""
    meaning = mpmath.besselj if name[0] == "j" else mpmath.besseli
    x, y = T.dvector("x"), T.fvector("y")
    f = tg.function([x, y], [getattr(T, name)(x), getattr(T, name)(y)], mode=tg.Mode(linker="c"))
    far = 30 if name[0] == "i" else 8
    points = np.array([*np.linspace(-far, far, 98), 7.999999, 8.0, 0.0, 1e-9, *np.arange(2.0, 8, 0.25)])
    with mpmath.workdps(30):
        exact = [meaning(int(name[1]), mpmath.mpf(float(p))) for p in points]
        single = [meaning(int(name[1]), mpmath.mpf(float(p))) for p in points.astype("float32")]
        for got, wanted, least in zip(f(points, points.astype("float32")), (exact, single), (2.0**-53, 2.0**-24)):
            off = [float(abs(mpmath.mpf(float(g)) - w) / (abs(w) or 1)) / least for g, w in zip(got, wanted)]
            assert max(off) < 12, (got.dtype, max(off))
    ends = np.array([np.inf, -np.inf, np.nan, -0.0, 750.0, -750.0, 9.2e18])
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(ends)
    np.testing.assert_allclose(f(ends, ends.astype("float32"))[0], wanted, rtol=1e-13)


def test_a_sigmoid_keeps_results_below_the_smallest_normal_number():
    x = T.dvector("x")
    points = np.array([-800, -744, -720, -709, -0.0, 720, np.inf, -np.inf, np.nan])
    low = np.minimum(points, 0)
    expected = np.where(points < -700, np.exp(low), 1 / (1 + np.exp(-np.maximum(points, -1))))
    got = tg.function([x], T.sigmoid(x))(points)
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=5e-324)
    assert 0 < got[1] < got[2] < got[3]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nextafter_of_every_kind_of_number(dtype):
    """The bits are counted in C: signs, zeros, infinities and numbers below the normal ones are cases of their own."""
    info = np.finfo(dtype)
    some = [0.0, info.smallest_subnormal, info.tiny, 1.0, 1 + info.eps, 3.0, info.max, np.inf]
    values = np.array([*some, *[-v for v in some], np.nan], dtype)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    found = tg.function([x, y], T.nextafter(x, y), mode=tg.Mode(linker="c"))(a, b)
    with np.errstate(all="ignore"):
        wanted = np.nextafter(a, b)
    np.testing.assert_array_equal(found, wanted)
    number = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(wanted[number]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_inverse_error_functions_from_end_to_end(dtype):
    """At 0, at both ends, beyond them, and where one polynomial takes over from another."""
    from scipy.special import erfcinv, erfinv

    near_one = 1 - np.float64(2.0) ** -np.arange(1, 53)
    x = np.concatenate([[0.0, -0.0, 1.0, -1.0, 1.5, -2.0, np.nan], near_one, -near_one, 10.0 ** -np.arange(0, 300, 7)])
    q = np.concatenate([x + 1, 10.0 ** -np.arange(0, 300, 3), [2.0, 0.0, -1.0]])
    v = T.vector("v", dtype=dtype)
    for ours, theirs, values in ((T.erfinv, erfinv, x), (T.erfcinv, erfcinv, q)):
        values = values.astype(dtype)
        found = tg.function([v], ours(v), mode=tg.Mode(linker="c"))(values)
        np.testing.assert_allclose(found, theirs(values.astype("float64")).astype(dtype), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_kinds_of_complex_numbers(dtype):
    """Also as rules make them: an equality of a number with itself asks whether it is one."""
    z, ends = T.vector("z", dtype=dtype), [0, 1, -0.0, np.nan, np.inf, -np.inf]
    made = [T.isnan(z), T.isinf(z), T.isfinite(z), T.eq(z, z), T.neq(z, z), T.switch(T.eq(z, z), z, 2), T.nan_to_num(z)]
    f = tg.function([z], made, mode=tg.Mode(linker=LINKER))
    a = np.array([complex(p, q) for p in ends for q in ends], dtype)
    wanted = [np.isnan(a), np.isinf(a), np.isfinite(a), a == a, a != a, np.where(a == a, a, 2), np.nan_to_num(a)]
    for given in (slice(None), slice(None, None, -2), slice(0, 0)):
        for got, want in zip(f(a[given]), wanted, strict=True):
            np.testing.assert_array_equal(got, want[given], strict=True)


@pytest.mark.parametrize("dtype, ulps", [("complex128", 4), ("complex64", 4)])
def test_exponentials_of_complex_numbers_in_vectors(dtype, ulps):
    """Ordinary ones, those that overflow but for a small sine, and what C says of infinities, as NumPy has them."""
    real = np.dtype(dtype).type(0).real.dtype
    r = np.random.default_rng(1)
    plain = (r.normal(size=4001) * 9 + 1j * r.normal(size=4001) * 9).astype(dtype)
    most = float(np.log(np.finfo(real).max))
    ends = [0.0, -0.0, 1.0, most + 0.5, 2 * most, -most + 3, -3 * most, np.inf, -np.inf, np.nan]
    turns = [0.0, -0.0, 1.0, -1e-3, 1e4, np.inf, -np.inf, np.nan]
    special = np.array([complex(a, b) for a in ends for b in turns], dtype)
    z = T.tensor("z", dtype=dtype, shape=(None,))
    f = tg.function([z], T.exp(z))
    source = f.source("c")
    assert "tg_exp_c" in source and "cexp" not in source.replace("tg_cexp", "")
    for values in (plain, special):
        with np.errstate(all="ignore"):
            want = np.exp(values.astype("complex128")).astype(dtype) if values is plain else np.exp(values)
        got = f(values)
        assert got.dtype == dtype
        for a, b in ((got.real, want.real), (got.imag, want.imag)):
            np.testing.assert_allclose(a, b, rtol=ulps * float(np.finfo(real).eps))
            zero = b == 0
            np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


def test_erfinv_and_arccosh_of_single_precision():
    """0.6 of a unit and one; also of the numbers next to 1, where the inverse is largest."""
    x, y = T.fvector("x"), T.fvector("y")
    f = tg.function([x, y], [T.erfinv(x), T.arccosh(y)], mode=tg.Mode(linker="c"))
    near = 1 - np.float32(2.0) ** -np.arange(1, 25, dtype="float32")
    points = np.concatenate([near, -near, np.linspace(-0.999, 0.999, 301), 2.0 ** -np.arange(1, 120.0, 7)])
    beyond = np.concatenate(
        [1 + 2.0 ** -np.arange(0, 24.0), np.linspace(1.001, 30, 301), 2.0 ** np.arange(5, 127.0, 7)]
    )
    points, beyond = points.astype("float32"), beyond.astype("float32")
    inverse, area = f(points, beyond)
    with mpmath.workdps(40):
        assert off_by(inverse, [mpmath.erfinv(mpmath.mpf(float(p))) for p in points]) < 0.6
        assert off_by(area, [mpmath.acosh(mpmath.mpf(float(p))) for p in beyond]) < 1.6
    far = [1, 0.5, np.inf, np.nan, np.finfo("float32").max]
    ends = f(np.float32([1, -1, 1.5, np.nan, 0]), np.float32(far))
    np.testing.assert_array_equal(ends[0], np.float32([np.inf, -np.inf, np.nan, np.nan, 0]))
    np.testing.assert_allclose(ends[1], [0, np.nan, np.inf, np.nan, np.arccosh(3.4028235e38)], rtol=1e-6)

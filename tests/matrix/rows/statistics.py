"""Rows of statistics, and of functions that put numbers in places. References are NumPy's and SciPy's functions."""

import numpy as np
import scipy.linalg as sla
import scipy.special as sps

import termgraph.tensor as T
from termgraph.tensor.quantiles import METHODS_OF_QUANTILES as METHODS

from ..draw import FLOATING, INTEGERS
from ..table import row
from .elementwise import in_floats
from .reductions import masked, reduced, under_mask

WIDE = ("float32", "float64")
WHOLE = ("bool", "int32", "int64", "uint8")
REAL = ("bool", *INTEGERS, *FLOATING)
COMPOSED = {"scaled": True, "loose": 40}
PLAIN = {**COMPOSED, "special": False}


# ---------------------------------------------------------------------- special functions
def _share(c):
    c.x(0.1, 0.9)


def _two_positive(c):
    c.x(0.5, 4)
    c.partner(0.5, 4, dtype=c.dtype)


def _shapes_and_share(c):
    _two_positive(c)
    c.partner(0.1, 0.9, dtype=c.dtype)


row("logit", T.logit, in_floats(sps.logit), _share, dtypes=FLOATING, loose=40, special=False)
row("ndtri", T.ndtri, in_floats(sps.ndtri), _share, dtypes=FLOATING, loose=40, special=False)
for name in ("ndtr", "log_ndtr", "entr"):
    row(name, getattr(T, name), in_floats(getattr(sps, name)), lambda c: c.x(0.1, 3), dtypes=FLOATING, loose=40, special=False, signs=False)
row("multigammaln", lambda x: T.multigammaln(x, 3), in_floats(lambda x: sps.gammaln(x) + sps.gammaln(x - 0.5) + sps.gammaln(x - 1)
    + 1.5 * np.log(np.pi)), lambda c: c.x(2, 5), dtypes=FLOATING, loose=100, special=False)  # fmt: skip
row("rel_entr", T.rel_entr, lambda x, y: np.asarray(sps.rel_entr(x.astype("float64"), y.astype("float64"))).astype(x.dtype),
    _two_positive, dtypes=WIDE, **PLAIN)  # fmt: skip
row("betaln", T.betaln, sps.betaln, _two_positive, dtypes=WIDE, **PLAIN)
for name, theirs in {"beta": sps.beta, "poch": sps.poch, "binom": sps.binom, "comb": sps.comb, "owens_t": sps.owens_t, "kn": sps.kv,
                     "boxcox": sps.boxcox, "boxcox1p": sps.boxcox1p, "zeta": sps.zeta, "chi2sf": lambda x, k: sps.chdtrc(k, x),
                     "gammal": lambda k, x: sps.gammainc(k, x) * sps.gamma(k), "gammau": lambda k, x: sps.gammaincc(k, x) * sps.gamma(k)}.items():
    row(name, getattr(T, name), lambda x, y, f=theirs: np.asarray(f(x.astype("float64"), y.astype("float64"))).astype(x.dtype),
        lambda c: [c.x(1.5, 4), c.partner(0.5, 4, dtype=c.dtype)], dtypes=WIDE, smooth=name not in ("kn", "chi2sf", "comb", "gammal", "gammau", "zeta"), **PLAIN)  # fmt: skip
for name in ("exp1", "expi", "spence", "dawsn", "loggamma", "factorial"):
    row(name, getattr(T, name), in_floats(lambda x, f=getattr(sps, name): np.real(f(x))), lambda c: c.x(0.5, 4), dtypes=FLOATING, **PLAIN)
row("lambertw", lambda x, k: T.lambertw(x, k), lambda x, k: in_floats(lambda v: np.real(sps.lambertw(v, k)))(x),
    lambda c: [c.x(-0.35, -0.01), {"k": -c.flip()}][1], dtypes=FLOATING, **PLAIN)  # fmt: skip
row("tri_gamma", T.tri_gamma, in_floats(lambda x: sps.polygamma(1, x)), lambda c: c.x(0.5, 4), dtypes=FLOATING, **PLAIN)
row("sici", T.sici, lambda x: [in_floats(lambda v, k=k: sps.sici(v)[k])(x) for k in (0, 1)], lambda c: c.x(0.5, 4), dtypes=FLOATING, **PLAIN)
for name in ("gammaincinv", "gammainccinv", "betaincinv", "hyp1f1", "hyp2f1"):
    def _shapes_then_share(c, count={"betaincinv": 2, "hyp1f1": 2, "hyp2f1": 3}.get(name, 1)):
        c.x(0.5, 4)
        for _ in range(count - 1):
            c.partner(1.5, 4, dtype=c.dtype)
        c.partner(0.1, 0.9, dtype=c.dtype)


    row(name, getattr(T, name), getattr(sps, name), _shapes_then_share, dtypes=WIDE, loose=100, special=False, smooth=False)
row("inverse_permutation", lambda x: T.inverse_permutation(T.argsort(x)), lambda x: np.argsort(np.argsort(x, kind="stable")), lambda c: c.x(special=False),
    ranks=(1, 2, 3), dtypes=("float64", "int32"))  # fmt: skip
row("betainc", T.betainc, sps.betainc, _shapes_and_share, dtypes=WIDE, loose=100, special=False, smooth=False)


# ---------------------------------------------------------------------- statistics
def _samples(c):
    c.at_least(1, False)
    return reduced(c)


for name in ["nansum", "nanmean"]:
    row(name, getattr(T, name), getattr(np, name), _samples, dtypes=(*WIDE, "int64", "complex128"), scaled=True, loose=40)


for name, differs in {"nanmax": (), "nanmin": (), "nanprod": ("half products", "order of factors")}.items():
    row(name, getattr(T, name), getattr(np, name), _samples, dtypes=(*WIDE, "int64"), scaled=True, loose=40, differs=differs)  # fmt: skip
for name in ["nansum", "nanmean", "nanvar", "nanstd"]:
    row(f"{name} (where)", *under_mask(name), masked, dtypes=(*WIDE, "int64"), smooth=name != "nanstd", **{**PLAIN, "loose": 100})
row("nanprod (where)", *under_mask("nanprod", initial=2), masked, dtypes=WIDE, scaled=True, loose=40, differs=("half products", "order of factors"))
for name in ["nanmax", "nanmin"]:
    row(f"{name} (where)", *under_mask(name, initial=1), masked, dtypes=(*WIDE, "int64"), signs=False)
row("histogram_bin_edges", lambda x: T.histogram_bin_edges(x, 4), lambda x: np.histogram_bin_edges(x, 4),
    lambda c: c.at_least(1, False).x(special=False), dtypes=("float64", "int64"), smooth=False, **PLAIN)  # fmt: skip
for name in ["cumulative_sum", "cumulative_prod"]:
    row(name, getattr(T, name), getattr(np, name), lambda c: [c.x(special=False), {"axis": c.axis(), "include_initial": c.flip()}][1],
        ranks=(1, 2, 3), dtypes=(*WIDE, "int64"), **PLAIN)  # fmt: skip
for name in ["nancumsum", "nancumprod"]:
    row(name, getattr(T, name), getattr(np, name), lambda c: [c.x(special=False), {"axis": c.axis()}][1], ranks=(1, 2, 3),
        dtypes=(*WIDE, "int64"), **PLAIN)  # fmt: skip
for name in ["nanargmax", "nanargmin"]:
    row(name, getattr(T, name), lambda x, axis, keepdims, f=getattr(np, name), least=[-np.inf, np.inf][name == "nanargmin"]:
        np.where(np.isnan(x).all(axis, keepdims=keepdims), -1, f(np.where(np.isnan(x), least, x), axis, keepdims=keepdims)),
        lambda c: [c.at_least(1, False).x(), {"axis": c.axis() if c.rank else None, "keepdims": c.flip(0.3)}][1], dtypes=WIDE, smooth=False, **PLAIN)  # fmt: skip
row("nanmedian", lambda x, axis, keepdims: T.nanmedian(x, axis, keepdims),
    lambda x, axis, keepdims: np.nanmedian(x, axis, keepdims=keepdims), _samples, dtypes=(*WIDE, "int64"), smooth=False, **PLAIN)  # fmt: skip
for name in ["nanvar", "nanstd"]:
    row(name, lambda x, axis, keepdims, f=getattr(T, name): f(x, axis, keepdims=keepdims),
        lambda x, axis, keepdims, f=getattr(np, name): f(x, axis, keepdims=keepdims), _samples, dtypes=(*WIDE, "int64"), smooth=name == "nanvar", **{**PLAIN, "loose": 100})  # fmt: skip


def _with_share(c):
    return {**_samples(c), "q": c.pick(0.0, 0.3, 1.0, [0.1, 0.5]), "method": c.pick(*METHODS)}


row("quantile", T.quantile, np.quantile, _with_share, dtypes=(*WIDE, "int64"), smooth=False, **PLAIN)
row("nanquantile", T.nanquantile, np.nanquantile, _with_share, dtypes=(*WIDE, "int64"), smooth=False, **PLAIN)
row("nanpercentile", lambda x, axis, keepdims: T.nanpercentile(x, 30, axis, keepdims=keepdims),
    lambda x, axis, keepdims: np.nanpercentile(x, 30, axis, keepdims=keepdims), _samples, dtypes=(*WIDE, "int64"), smooth=False, **PLAIN)  # fmt: skip
row("percentile", lambda x, axis, keepdims: T.percentile(x, 30, axis, keepdims=keepdims),
    lambda x, axis, keepdims: np.percentile(x, 30, axis, keepdims=keepdims), _samples, dtypes=(*WIDE, "int64"), smooth=False, **PLAIN)  # fmt: skip


def _counted(c):
    c.at_least(1, False).x(special=False)
    return {"bins": c.pick(3, [-2.0, -0.5, 0.25, 2.0], [-2, 0, 1, 3]), "density": False}


row("histogram", T.histogram, lambda x, bins, density: list(np.histogram(x, bins, density=density)), _counted, dtypes=("float64", "int64"),
    smooth=False, **PLAIN)  # fmt: skip


def _observations(c):
    c.at_least(2, False)
    c.given(c.values.normal(size=(c.n("n"), 6)))
    return {}


row("corrcoef", T.corrcoef, np.corrcoef, _observations, ranks=(2,), dtypes=("float64",),
    smooth=False, **PLAIN)  # fmt: skip


def _slopes(c):
    c.at_least(3, False).x(special=False)
    return {"axis": c.axis(), "edge_order": c.pick(1, 2)}


row("gradient", T.gradient, np.gradient, _slopes, ranks=(1, 2, 3), dtypes=(*WIDE, "complex128"), **PLAIN)


def _area(c):
    c.at_least(1, False).x(special=False)
    return {"axis": c.axis(), "dx": c.pick(1.0, 0.5)}


row("trapezoid", lambda y, axis, dx: T.trapezoid(y, None, dx, axis), lambda y, axis, dx: np.trapezoid(y, None, dx, axis), _area,
    ranks=(1, 2, 3), dtypes=(*WIDE, "int64", "complex128"), **PLAIN)  # fmt: skip


# ---------------------------------------------------------------------- places
def _among(c):
    c.x()
    c.x(shape=(c.n("k"),))
    return {"invert": c.flip(0.3)}


row("isin", T.isin, np.isin, _among, dtypes=("bool", *INTEGERS, "float32", "float64"), smooth=False)


def _two_sets(c):
    c.x()
    c.x(shape=(c.n("k"),))
    return {}


for name in ["union1d", "intersect1d", "setdiff1d", "setxor1d"]:
    row(name, getattr(T, name), getattr(np, name), _two_sets, dtypes=("bool", *INTEGERS, "float32", "float64"), signs=False, smooth=False)


def _keys(c):
    n = c.n("n")
    c.given(c.values.integers(0, 3, (3, n)).astype(c.dtype))
    return {}


row("lexsort", lambda k: T.lexsort([k[0], k[1], k[2]]), np.lexsort, _keys, ranks=(2,), dtypes=("int64", "float64"), special=False, smooth=False)
row("piecewise", lambda x: T.piecewise(x, [x > 1, x > 0], [lambda v: v * 2, 3, 1]),
    lambda x: np.piecewise(x, [x > 1, x > 0], [lambda v: v * 2, 3, 1]), lambda c: c.x(), dtypes=(*WIDE, "int64"))  # fmt: skip
row("select", lambda x, y: T.select([x > 1, x > 0], [x, y], y), lambda x, y: np.select([x > 1, x > 0], [x, y], y),
    lambda c: [c.x(), c.partner(dtype=c.dtype)], dtypes=(*WIDE, "int64"))  # fmt: skip


def _blocks(c):
    shape = c.shape()
    c.x(special=False)
    c.x(special=False, shape=shape)


row("block", lambda x, y: T.block([[x, y], [y, x]]), lambda x, y: np.block([[x, y], [y, x]]), _blocks, ranks=(0, 1, 2, 3),
    dtypes=(*WIDE, "int64"))  # fmt: skip


def _powers(c):
    c.x(special=False)
    return {"N": c.pick(None, 1, 3), "increasing": c.flip()}


row("vander", T.vander, np.vander, _powers, ranks=(1,), dtypes=("float64", "int64"), **PLAIN)


def _bits(c):
    c.x()
    return {"axis": c.pick(None, c.axis()), "bitorder": c.pick("big", "little")}


row("packbits", T.packbits, np.packbits, _bits, ranks=(1, 2, 3), dtypes=("bool", "uint8", "int64"), smooth=False)
row("unpackbits", T.unpackbits, np.unpackbits, _bits, ranks=(1, 2, 3), dtypes=("uint8",), smooth=False)

# ---------------------------------------------------------------------- matrices
SOLVED = {"scaled": True, "loose": 2e3, "special": False}


def _positive(c):
    c.matrix("n", "n", "positive")


def _each(function):
    def run(a):
        flat = a.reshape((-1, *a.shape[-2:]))
        return np.array([function(m) for m in flat], a.dtype).reshape(a.shape) if len(flat) else a

    return run


def _square(c):
    c.matrix("n", "n")
    c.matrix("m", "k")


row("linalg.block_diag", T.linalg.block_diag, sla.block_diag, _square, ranks=(2,), dtypes=(*WIDE, "int64"), special=False)
row("linalg.cho_factor", lambda a: T.linalg.cho_factor(a, True)[0], np.linalg.cholesky, _positive, ranks=(2, 3),
    dtypes=(*WIDE, "complex128"), smooth=False, **SOLVED)  # fmt: skip
row("linalg.sqrtm", T.linalg.sqrtm, _each(sla.sqrtm), _positive, ranks=(2, 3), dtypes=("float64", "complex128"), smooth=False, **SOLVED)
ONE = {"ranks": (2,), "dtypes": ("float64", "complex128"), "smooth": False, **SOLVED}
row("linalg.lu", T.linalg.lu, lambda a: [np.real(f) if k == 0 else f for k, f in enumerate(sla.lu(a))], _positive, **ONE)
row("linalg.lu_factor", T.linalg.lu_factor, lambda a: [f if k == 0 else f.astype("int64") for k, f in enumerate(sla.lu_factor(a))], _positive, **ONE)
row("linalg.lu_solve", lambda a: T.linalg.lu_solve(T.linalg.lu_factor(a), a[0]), lambda a: np.linalg.solve(a, a[0]), _positive, **ONE)
row("linalg.pivot_to_permutation", lambda a: T.linalg.pivot_to_permutation(T.linalg.lu_factor(a)[1]), lambda a: sla.lu(a, p_indices=True)[0].astype("int64"), _positive, **ONE)
row("linalg.polar", T.linalg.polar, sla.polar, _positive, **ONE)
row("linalg.schur", lambda a: T.linalg.schur(T.tril(a))[1], lambda a: sla.schur(np.tril(a))[1], _positive, **ONE)
row("linalg.solve_sylvester", lambda a: T.linalg.solve_sylvester(a, a, a), lambda a: sla.solve_sylvester(a, a, a), _positive, **ONE)
row("linalg.solve_continuous_lyapunov", lambda a: T.linalg.solve_continuous_lyapunov(a, a), lambda a: sla.solve_continuous_lyapunov(a, a), _positive, **ONE)
row("linalg.solve_discrete_lyapunov", lambda a: T.linalg.solve_discrete_lyapunov(a / 99, a), lambda a: sla.solve_discrete_lyapunov(a / 99, a), _positive, **ONE)
row("linalg.matrix_dot", lambda a: T.linalg.matrix_dot(a, a, a), lambda a: a @ a @ a, _positive, **ONE)
for name in ("toeplitz", "hankel", "circulant", "companion"):
    row(f"linalg.{name}", getattr(T.linalg, name), getattr(sla, name), lambda c: c.at_least(2).x(1, 3, special=False), ranks=(1,), dtypes=WIDE)
row("linalg.solve_circulant", lambda x: T.linalg.solve_circulant(x, x), lambda x: sla.solve_circulant(x, x),
    lambda c: c.at_least(3, may_be_empty=False).x(1, 3, special=False), ranks=(1,), dtypes=WIDE, scaled=True, loose=100)
row(".copy", lambda x: x.copy(), lambda x: x.copy(), lambda c: c.x(), dtypes=REAL)


# ---------------------------------------------------------------------- polynomials
def _polynomial(c):
    c.at_least(1, False).x(special=False)
    return {}


def _at_places(c):
    c.given(c.values.integers(-3, 4, 4).astype(c.dtype))
    c.x(special=False)
    return {}


def _two_polynomials(c):
    _polynomial(c)
    c.x(special=False, shape=(c.n("k") + 1,))
    return {}


def _two_factors(c):
    c.given(c.values.integers(1, 4, c.n("n") + 1).astype(c.dtype))
    c.given(c.values.integers(1, 4, c.n("k") + 1).astype(c.dtype))
    return {}


def _apart(c):
    """Coefficients of a polynomial whose roots are whole numbers, none twice."""
    c.given(np.poly(c.values.permutation(np.arange(1, 6))[: c.structure.randint(1, 4)]).astype(c.dtype))
    return {}


def _points(c):
    c.given(c.values.permutation(7) / 3.5 - 1)
    c.given(c.values.normal(size=7))
    return {"deg": c.pick(0, 1, 3)}


NUMBERS = {"ranks": (1,), "dtypes": (*WIDE, "int64"), **PLAIN}
row("polyval", T.polyval, np.polyval, _at_places, dtypes=(*WIDE, "int64"), **PLAIN)
row("polyfit", T.polyfit, np.polyfit, _points, ranks=(1,), dtypes=("float64",), **{**PLAIN, "loose": 1000})
row("roots", lambda p: T.sort(abs(T.roots(p))), lambda p: np.sort(abs(np.roots(p))), _apart, ranks=(1,),
    dtypes=("float32", "float64", "int64"), smooth=False, **{**PLAIN, "loose": 1000})  # fmt: skip
row("polyder", T.polyder, np.polyder, _polynomial, **NUMBERS)
row("polyint", T.polyint, np.polyint, _polynomial, **NUMBERS)
row("polymul", T.polymul, np.polymul, _two_factors, **NUMBERS)
for name in ["polyadd", "polysub"]:
    row(name, getattr(T, name), getattr(np, name), _two_polynomials, **NUMBERS)

"""What the tests of gradients share: which ops, on which values, and how results are compared."""

import functools

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.op import OPS
from termgraph.terms.ops import shaping, triangles
from termgraph.terms.ops.gradmarks import MARKS as MARKED

PLAIN = "FAST_COMPILE"


def check(f, *values, **options):
    """The gradient of f agrees with finite differences."""
    tg.verify_grad(f, list(values), n_tests=1, mode=PLAIN, **options)


UNARY = [  # of one number, under NumPy's names
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sqrt", "abs",
]  # fmt: skip
# Where operands are drawn: where the derivative has no pole nearby. Other ops say it by their values, see `range_of`.
RANGES = {
    "gamma": (0.5, 3), "gammaln": (0.5, 3), "digamma": (0.5, 3), "reciprocal": (0.5, 3), "tan": (-0.9, 0.9),
    "pow": (0.3, 3), "cbrt": (0.2, 3), "abs": (0.2, 3),
}  # fmt: skip
USUAL = (-2.5, 2.5)
NARROWER = ((-0.9, 0.9), (0.2, 3), (0.2, 0.9), (1.2, 3), (-3, -0.2))  # tried in this order
STEPS = {"floor", "ceil", "trunc", "round", "sign", "floor_div"}
NONE = {n for n, op in OPS.items() if op.kind == "elementwise" and n in (
    "lt", "gt", "le", "ge", "eq", "neq", "isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or",
    "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
    "gcd", "lcm", "between", "philox_first", "philox_second", "scale_bits", "poisson_draw", "binomial_draw",
    "bitwise_count", "frexp_exponent",
)}  # fmt: skip
OWN = {"switch", "cast", "complex", "real", "imag", "conj", "clip", "polygamma", "assume", "heaviside", "nextafter"}
OWN |= {"gamma_draw", "beta_draw", "required", "ldexp"}  # have no derivative by a parameter
OWN |= {"gammainc", "gammaincc", "betainc", "jv", "iv", "ive", "kv", "kve", "zeta", "expn"}  # nor by their order
OWN |= {"gammaincinv", "gammainccinv", "betaincinv", "hyp1f1", "hyp2f1", "lambertw"}
MARKS = {op.name for op in MARKED} | {"mean_over_workers"}
ELEMENTWISE = [n for n, op in OPS.items() if op.kind == "elementwise" and n not in NONE | OWN | STEPS | MARKS]


@functools.cache
def range_of(name):
    """The widest of some ranges in which the op has finite values."""
    if name in RANGES or name in STEPS:
        return RANGES.get(name, USUAL)
    return next((r for r in (USUAL, *NARROWER) if _is_finite(OPS[name], *r)), USUAL)


def _is_finite(op, low, high):
    axes = np.meshgrid(*[np.linspace(low, high, 12)] * (op.arity or 2))
    with np.errstate(all="ignore"):
        return bool(np.isfinite(op.meaning(*axes)).all())


def sample(rng, name, shape, dtype="float64"):
    low, high = range_of(name)
    return rng.uniform(low, high, shape).astype(dtype)


def operands(rng, name, shapes, dtype="float64"):
    return [sample(rng, name, s, dtype) for s in shapes]


def arity(name):
    return OPS[name].arity or 2


def of_last(x):
    """Functions that have no derivatives by their orders and shapes, of numbers between 0 and 1."""
    some = [f(2, x) for f in (T.ive, T.kv, T.kve, T.zeta, T.expn)]
    inverse = T.gammaincinv(2.5, x) - T.gammainccinv(1.5, x) + T.betaincinv(2.5, 1.5, x) + T.betainc(2.5, 1.5, x)
    return (
        sum(some)
        + inverse
        + T.hyp2f1(1.0, 2.0, 3.5, x)
        + T.hyp1f1(1.0, 2.5, x)
        + T.lambertw(x)
        + T.lambertw(-x / 3, -1)
    )


HOLOMORPHIC = [
    "add", "sub", "mul", "true_div", "neg", "sqr", "sqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "conj", "abs", "sign", "real", "imag", "pow",
]  # fmt: skip


def regular(rng, n=3, batch=(), dtype=float):
    a = rng.normal(size=(*batch, n, n)) + 2 * np.eye(n)
    return a + 1j * rng.normal(size=a.shape) * 0.5 if dtype is complex else a


def hermitian(rng, n=3, batch=(), dtype=float):
    a = regular(rng, n, batch, dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.diag(np.arange(n) + 1.0)


REDUCTIONS = {
    "sum": T.sum, "prod": T.prod, "max": T.max, "min": T.min, "mean": T.mean, "var": T.var, "std": T.std,
    "logsumexp": T.logsumexp, "ptp": T.ptp,
}  # fmt: skip


SHAPES = {
    "transpose": lambda x: x.T,
    "dimshuffle": lambda x: x.dimshuffle("x", 1, 0, "x"),
    "reshape": lambda x: x.reshape((3, 2, 2)),
    "flatten": lambda x: x.flatten(),
    "flip": lambda x: T.flip(x, 0),
    "roll": lambda x: T.roll(x, 2, axis=1),
    "tile": lambda x: T.tile(x, (2, 3)),
    "repeat": lambda x: T.repeat(x, 2, axis=0),
    "broadcast": lambda x: T.broadcast_to(x, (2, 3, 4)),
    "pad": lambda x: T.pad(x, ((1, 2), (0, 1))),
    "diagonal": lambda x: T.diagonal(x, 1),
    "diagonal_below": lambda x: T.diagonal(x, -1),
    "trace": lambda x: T.trace(x),
    "diag": lambda x: T.diag(x[0]),
    "alloc_diag": lambda x: shaping.alloc_diag(x, offset=-1),
    "pack_triangle": lambda x: triangles.pack_triangle(x[:, :3], lower=True, strict=True),
    "unpack_triangle": lambda x: triangles.unpack_triangle(x[:, 1:], 2),
    "fill_diagonal": lambda x: T.fill_diagonal(x, 2.0) * x,
    "tril": lambda x: T.tril(x),
    "concatenate": lambda x: T.concatenate([x, x * 2, x[:1]], axis=0),
    "stack": lambda x: T.stack([x, T.exp(x)], axis=1),
    "make_vector": lambda x: shaping.make_vector(x[0, 0], x[1, 2], x[0, 0], dtype="float64"),
    "specify_shape": lambda x: T.specify_shape(x, (3, None)) * x,
    "unbroadcast": lambda x: T.unbroadcast(x, 0) * 2,
    "split": lambda x: T.split(x, [1, 3], axis=1)[1],
    "squeeze": lambda x: T.squeeze(x[:1] * 2),
    "sort": lambda x: T.sort(x, axis=0) * T.sort(x, axis=1),
    "median of many": lambda x: T.median(T.concatenate([x, 2 * x.sum(0) * T.ones((40, 1))], axis=0), axis=0) * x,
    "diff": lambda x: T.diff(x, axis=1),
    "topk": lambda x: T.topk(x, 2),
    "median": lambda x: T.median(x, axis=0),
    "interp": lambda x: T.interp(x, np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 2.0])),
}


i = np.array([2, 0, 2])
INDICES = {
    "int": lambda x: x[1],
    "negative": lambda x: x[-1, 2],
    "slice": lambda x: x[1:, ::-2],
    "newaxis": lambda x: x[:, None, 1:3],
    "dynamic": lambda x: x[T.cast(T.argmax(x[:, 0]), "int64") :, T.argmin(x[0])],
    "gather": lambda x: x[i],
    "gather2": lambda x: x[i, np.array([[0], [1]])],
    "mixed": lambda x: x[1:, i[:2]],
    "mask": lambda x: x[x > 0],
    "take": lambda x: T.take(x, i, axis=1),
    "take_along_axis": lambda x: T.take_along_axis(x, T.argsort(x, axis=1), axis=1),
}

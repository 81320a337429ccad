"""Rows of operators, methods, random draws whose values are determined, marks that change nothing, and sparse matrices."""

import operator

import numpy as np
import scipy.sparse as sp
import scipy.special as sps

import termgraph.tensor as T
from termgraph import sparse as S

from ..draw import FLOATING, Operand
from ..table import one, params, row, two
from .elementwise import _apart_from_zero, _cast, _power, _shift
from .reductions import kept_along, reduced

# ---------------------------------------------------------------------- operators
for sign, draw in {
    "add": two, "sub": two, "mul": two, "truediv": _apart_from_zero, "floordiv": _apart_from_zero, "mod": _apart_from_zero,
    "pow": _power, "and_": two, "or_": two, "xor": two, "lshift": _shift, "rshift": _shift, "lt": two, "le": two, "gt": two, "ge": two,
}.items():  # fmt: skip
    f = getattr(operator, sign)
    row(f"operator {sign}", f, f, draw, loose=4, smooth=False, differs=("complex special",) * (sign in ("truediv", "pow")))
for sign in ["neg", "pos", "abs", "invert"]:
    f = getattr(operator, sign)
    row(f"operator {sign}", f, f, one, smooth=False)
row("operator divmod", lambda x, y: list(divmod(x, y)), lambda x, y: [x // y, x % y], _apart_from_zero, smooth=False)


def _with_number(c):
    c.x(0.3, 3)
    return {"number": c.pick(0, 1, 2, 3, 0.5, -2, True)}


for sign in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "ge"]:
    f = getattr(operator, sign)
    g = np.power if sign == "pow" else f  # of bools, NumPy's x ** 2 alone is int8, its power and x ** 3 are int64
    row(f"operator {sign} (number)", lambda x, number, f=f: f(x, number), lambda x, number, g=g: g(x, number), _with_number, loose=4,
        special=False)  # fmt: skip
    row(f"operator {sign} (number first)", lambda x, number, f=f: f(number, x), lambda x, number, f=f: f(number, x), _with_number,
        loose=4, special=False)  # fmt: skip


# ---------------------------------------------------------------------- methods that are more than the function of their name
METHODS = {
    ".astype": (lambda x, dtype: x.astype(dtype), lambda x, dtype: x.astype("float32" if dtype == "bfloat16" else dtype), _cast),
    ".conj": (lambda x: x.conj(), np.conj, one),
    ".conjugate": (lambda x: x.conjugate(), np.conj, one),
    ".real": (lambda x: x.real, np.real, one),
    ".imag": (lambda x: x.imag, np.imag, one),
    ".T": (lambda x: x.T, np.transpose, one),
    ".shape": (lambda x: x.shape, lambda x: np.asarray(x.shape, "int64"), one),
    ".size": (lambda x: x.size, lambda x: np.asarray(x.size), one),
    ".fill": (lambda x: x.fill(1), lambda x: np.ones_like(x), one),
    ".sum": (lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims), lambda x, axis, keepdims: x.sum(axis, keepdims=keepdims), reduced),
    ".argmax": (lambda x, axis, keepdims: x.argmax(axis, keepdims=keepdims), lambda x, axis, keepdims: x.argmax(axis, keepdims=keepdims), kept_along),
}  # fmt: skip
for name, (ours, numpys, draw) in METHODS.items():
    row(name, ours, numpys, draw, smooth=False, scaled=name == ".sum", loose=20 if name == ".sum" else 1)
row(".mT", lambda x: x.mT, lambda x: np.swapaxes(x, -1, -2), one, ranks=(2, 3, 4))
row(".reshape", lambda x: x.reshape((-1,)), lambda x: x.reshape(-1), one)
row(".transpose", lambda x: x.transpose(*range(x.ndim)[::-1]), lambda x: x.transpose(), one)
row(".compress", lambda m, x: x.compress(m, 0), lambda m, x: np.compress(m, x, 0),
    lambda c: [c.given(c.values.random(c.shape()[0]) < 0.5), c.x()], ranks=(1, 2, 3))  # fmt: skip
row(".searchsorted", lambda a, v: a.searchsorted(v), np.searchsorted,
    lambda c: [c.given(np.sort(c.numbers(c.dtype, (c.n("edges"),)))), c.partner(dtype=c.dtype)], smooth=False)  # fmt: skip

# ---------------------------------------------------------------------- marks and wrappers: the value stays
row("assume", lambda x: T.assume(x, real=True), lambda x: x, one, dtypes=FLOATING)
row("as_tensor", T.as_tensor, lambda x: x, one)
row("asarray", T.asarray, lambda x: x, one)
row("astype", lambda x: T.astype(x, "complex128", copy=False), lambda x: x.astype("complex128"), one, smooth=False)
row("assert_op", lambda x: T.assert_op(x, T.eq(x.ndim, x.ndim)), lambda x: x, one)
row("clone", lambda x: T.clone(x + x), lambda x: x + x, one)
row("ndim", lambda x: T.as_tensor(T.ndim(x)) + T.zeros_like(x, dtype="int64").sum(), lambda x: np.asarray(x.ndim), one, smooth=False)


# ---------------------------------------------------------------------- random draws whose values are determined
def _size(c):
    return {"size": tuple(c.structure.randint(0, 4) for _ in range(c.rank))}


def drawn(name, ours, numpys, **more):
    """A draw from `stream` that leaves no choice."""
    row(f"random.{name}", lambda size, f=ours: f(T.random.RandomStream(seed=3), size), numpys, _size,
        **{"dtypes": ("float64",), "special": False, "smooth": False, **more})  # fmt: skip


def _constant(value, dtype="float64"):
    return lambda size: np.full(size, value, dtype)


drawn("uniform", lambda r, size: r.uniform(2.0, 2.0, size, "float64"), _constant(2.0))
drawn("random", lambda r, size: T.floor(r.random(size, "float64")), _constant(0.0))
drawn("normal", lambda r, size: r.normal(3.0, 0.0, size, "float64"), _constant(3.0))
drawn("standard_normal", lambda r, size: r.standard_normal(size, "float64") * 0.0, _constant(0.0), scaled=True)
drawn("exponential", lambda r, size: T.signbit(r.exponential(1.0, size)), _constant(False, bool))
drawn("standard_exponential", lambda r, size: r.standard_exponential(size) >= 0, _constant(True, bool))
drawn("lognormal", lambda r, size: r.lognormal(0.0, 0.0, size, "float64"), _constant(1.0))
drawn("truncated_normal", lambda r, size: abs(r.truncated_normal(0.0, 1.0, size)) <= 2, _constant(True, bool))
drawn("laplace", lambda r, size: r.laplace(1.0, 0.0, size, "float64"), _constant(1.0))
drawn("logistic", lambda r, size: r.logistic(1.0, 0.0, size, "float64"), _constant(1.0))
drawn("gumbel", lambda r, size: r.gumbel(1.0, 0.0, size, "float64"), _constant(1.0))
drawn("cauchy", lambda r, size: r.cauchy(1.0, 0.0, size, "float64"), _constant(1.0))
drawn("weibull", lambda r, size: r.weibull(2.0, 0.0, size, "float64"), _constant(0.0))
drawn("triangular", lambda r, size: T.floor(r.triangular(0.0, 0.5, 1.0, size, "float64")), _constant(0.0))
drawn("gamma", lambda r, size: r.gamma(2.0, 0.0, size, "float64"), _constant(0.0))
drawn("standard_gamma", lambda r, size: r.standard_gamma(2.0, size) > 0, _constant(True, bool))
drawn("chisquare", lambda r, size: r.chisquare(2.0, size) > 0, _constant(True, bool))
drawn("standard_t", lambda r, size: T.isfinite(r.standard_t(3.0, size)), _constant(True, bool))
drawn("beta", lambda r, size: T.isfinite(T.log(r.beta(2.0, 2.0, size))), _constant(True, bool))
drawn("dirichlet", lambda r, size: r.dirichlet(np.ones(3), size, "float64").sum(-1), _constant(1.0), scaled=True)
drawn("multivariate_normal", lambda r, size: r.multivariate_normal(np.ones(2), np.eye(2) * 1e-300, size, "float64"),
      lambda size: np.ones((*size, 2)), scaled=True)  # fmt: skip
drawn("poisson", lambda r, size: r.poisson(0.0, size), _constant(0, "int64"))
drawn("bernoulli", lambda r, size: r.bernoulli(1.0, size), _constant(1, "int64"))
drawn("binomial", lambda r, size: r.binomial(5, 1.0, size), _constant(5, "int64"))
drawn("negative_binomial", lambda r, size: r.negative_binomial(5, 1.0, size), _constant(0, "int64"))
drawn("geometric", lambda r, size: r.geometric(1.0, size), _constant(1, "int64"))
drawn("integers", lambda r, size: r.integers(4, 5, size), _constant(4, "int64"))
drawn("random_integers", lambda r, size: r.random_integers(4, 4, size), _constant(4, "int64"))
drawn("choice", lambda r, size: r.choice(np.array([7, 7]), size), _constant(7, "int64"))
drawn("multinomial", lambda r, size: r.multinomial(6, np.array([0.0, 1.0]), size), lambda size: np.broadcast_to([0, 6], (*size, 2)))
drawn("permutation", lambda r, size: T.sort(r.permutation(5, size), -1), lambda size: np.broadcast_to(np.arange(5), (*size, 5)))


def _shuffled(c):
    c.x()
    return {}


row("random.permuted", lambda x: T.sort(T.random.RandomStream(seed=3).permuted(x, axis=-1), -1), lambda x: np.sort(x, -1), _shuffled,
    ranks=(1, 2, 3), smooth=False, signs=False, dtypes=("int8", "int64", "float32", "float64"))  # fmt: skip
row("random.shuffle_row_elements", lambda x: T.sort(T.random.RandomStreams(seed=3).shuffle_row_elements(x), -1), lambda x: np.sort(x, -1),
    _shuffled, ranks=(1, 2), smooth=False, signs=False, dtypes=("float64",))  # fmt: skip

# ---------------------------------------------------------------------- sparse matrices
SPARSE = ("int32", "int64", "float32", "float64", "complex128", "int16", "bool", "complex64")


def dense(s):
    return s.toarray()


def sparsely(name, ours, numpys, draw=lambda c: c.sparse(), **more):
    """A function of sparse matrices, against NumPy's of dense ones."""
    row(f"sparse.{name}", lambda *xs, **params: _made_dense(ours(*xs, **params)),
        lambda *xs, **params: numpys(*[dense(x) if hasattr(x, "toarray") else x for x in xs], **params), draw,
        **{"ranks": (2,), "dtypes": SPARSE, "special": False, "scaled": True, "loose": 20, "smooth": False, **more})  # fmt: skip


def _made_dense(found):
    if isinstance(found, (list, tuple)):
        return [_made_dense(f) for f in found]
    return S.dense_from_sparse(found) if S.is_sparse(found) else found


KNOWN = {"conj": np.conj, "sqr": np.square, "sgn": np.sign}
for name in S.structured.KEEP_ZERO:
    sparsely(name, lambda s, f=getattr(S, name): f(S.sum_duplicates(s)), KNOWN.get(name) or getattr(np, name),
             dtypes=("float32", "float64"))  # fmt: skip
for name, f in {"exp": np.exp, "sigmoid": sps.expit, "log": np.log}.items():
    sparsely(f"structured_{name}", lambda s, g=getattr(S, f"structured_{name}"): g(abs(s)),
             lambda a, f=f: np.where(a != 0, f(np.where(a != 0, np.abs(a), 1)), 0).astype(a.dtype),
             lambda c: _stored_once(c), dtypes=("float32", "float64"))  # fmt: skip


def _stored_once(c):
    """A matrix without zeros that are stored."""
    s = c.sparse()
    s.sum_duplicates()
    s.data[s.data == 0] = 1
    s.eliminate_zeros()


for name, f in {"pow": lambda a: a**2, "minimum": lambda a: np.minimum(a, 2), "maximum": lambda a: np.maximum(a, 2),
                "add": lambda a: a + 2}.items():  # fmt: skip
    sparsely(f"structured_{name}", lambda s, g=getattr(S, f"structured_{name}"): g(s, 2),
             lambda a, f=f: np.where(a != 0, f(a), 0).astype(a.dtype), lambda c: _stored_once(c), dtypes=SPARSE[:4])  # fmt: skip


def _pair(c):
    c.sparse("csr" if c.flip() else "csc")
    c.sparse("csr" if c.flip() else "csc")


def _with_array(*shape):
    def draw(c):
        c.sparse()
        c.x(shape=tuple(c.n(k) for k in shape), special=False, dtype="float64" if c.flip(0.3) else c.dtype)

    return draw


sparsely("add", S.add, np.add, _pair)
sparsely("sub", S.sub, np.subtract, _pair, dtypes=SPARSE[:5])
sparsely("mul", S.mul, np.multiply, _pair)
sparsely("multiply", S.multiply, np.multiply, _pair)
sparsely("neg", S.neg, np.negative, dtypes=SPARSE[:5])
sparsely("true_div", lambda s, x: S.true_div(s, abs(x) + 1), lambda a, x: a / (abs(x) + 1), _with_array(0, 1), dtypes=SPARSE[:4])
sparsely("transpose", S.transpose, np.transpose)
sparsely("sp_sum", lambda s, axis: S.sp_sum(s, axis), lambda a, axis: a.sum(axis), params(lambda c: c.sparse(), axis=lambda c: c.pick(None, 0, 1)),
         dtypes=("int64", "float32", "float64", "complex128"))  # fmt: skip
sparsely("diag", S.diag, np.diagonal)
for name in ["clean", "remove0", "ensure_sorted_indices", "sum_duplicates", "dense_from_sparse", "csr_from_csc", "csc_from_csr"]:
    wanted = {"csr_from_csc": "csc", "csc_from_csr": "csr"}.get(name)
    sparsely(name, getattr(S, name), lambda a: a, lambda c, f=wanted: c.sparse(f))
sparsely("cast", lambda s: S.cast(s, "float64"), lambda a: a.astype("float64"), dtypes=SPARSE[:4])
sparsely("sp_zeros_like", S.sp_zeros_like, np.zeros_like)
sparsely("sp_ones_like", S.sp_ones_like, lambda a: (a != 0).astype(a.dtype), lambda c: _stored_once(c))
for name in ["dot", "true_dot", "structured_dot"]:
    sparsely(name, getattr(S, name), lambda a, b: a @ b, _with_array(1, "k"), dtypes=("float32", "float64", "complex128"))
sparsely("row_scale", S.row_scale, lambda a, x: a * x[:, None], _with_array(0), dtypes=("float32", "float64", "complex128"))
sparsely("col_scale", S.col_scale, lambda a, x: a * x, _with_array(1), dtypes=("float32", "float64", "complex128"))
sparsely("vstack", lambda s, t: S.vstack([s, t]), lambda a, b: np.vstack([a, b]), _pair)
sparsely("hstack", lambda s, t: S.hstack([s, t]), lambda a, b: np.hstack([a, b]), _pair)
sparsely("sampling_dot", lambda s, x, y: S.sampling_dot(x, y, s), lambda a, x, y: a * (x @ y.T),
         lambda c: [c.sparse(), c.x(shape=(c.n(0), 3), special=False), c.x(shape=(c.n(1), 3), special=False)],
         dtypes=("float32", "float64"))  # fmt: skip
sparsely("square_diagonal", S.square_diagonal, np.diag, lambda c: c.x(shape=(c.n(0),), special=False))
for name in ["csr_from_dense", "csc_from_dense"]:
    sparsely(name, getattr(S, name), lambda a: a, lambda c: c.x(special=False))
sparsely("get_item", lambda s: s[1:, ::-1], lambda a: a[1:, ::-1])
for name in ["csm_data", "csm_indices", "csm_indptr"]:
    attribute = name.removeprefix("csm_")
    row(f"sparse.{name}", getattr(S, name), lambda s, a=attribute: getattr(s, a), lambda c: c.sparse(), ranks=(2,), dtypes=SPARSE,
        special=False, smooth=False)  # fmt: skip
_scipys = {"CSR": sp.csr_matrix, "CSC": sp.csc_matrix}


def _parts_of(c, format):
    s = c.sparse(format, shape=(3, 4))
    c.operands.clear()
    for part in (s.data, s.indices, s.indptr):
        c.operands.append(Operand(part, (None,)))  # how many are stored depends on the values
    return {"shape": (3, 4)}


def _from_parts(make):
    def run(data, indices, indptr, shape):
        return S.dense_from_sparse(make(data, indices, indptr, T.as_tensor(shape)))

    return run


for name in ["CSR", "CSC"]:
    row(f"sparse.{name}", _from_parts(getattr(S, name)), lambda d, i, p, shape, name=name: _scipys[name]((d, i, p), shape=shape).toarray(),
        lambda c, name=name: _parts_of(c, name.lower()), ranks=(2,), dtypes=SPARSE, special=False, smooth=False)  # fmt: skip
row("sparse.csm_shape", S.csm_shape, lambda s: np.asarray(s.shape, "int64"), lambda c: c.sparse(), ranks=(2,), dtypes=SPARSE, special=False,
    smooth=False)  # fmt: skip

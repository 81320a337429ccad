"""Rows of products, of T.linalg and of T.fft. What is not unique (signs of vectors) is compared by what it must satisfy."""

import numpy as np
import scipy.fft
import scipy.linalg as sla

import termgraph.tensor as T

from ..draw import FLOATING
from ..table import params, row

EXACT = {"scaled": True, "loose": 20, "special": False}
NUMERIC = ("float32", "float64", "complex64", "complex128")
ALSO_WHOLE = ("int32", "int64", "bool", "uint8", *NUMERIC)
SOLVED = {"scaled": True, "loose": 2e3, "special": False}


# ---------------------------------------------------------------------- products
def _dot(c):
    """x against a vector, or an array whose last dimension but one fits."""
    shape = c.shape()
    c.x(special=False)
    inner = shape[-1:]
    other = c.other_dtype()
    if not shape or c.flip(0.2):
        c.x(dtype=other, shape=() if not shape or c.flip() else (c.n("k"),) if not shape else inner)
    elif c.flip():
        c.x(dtype=other, shape=(*inner, c.n("m")))
    else:
        c.x(dtype=other, shape=(c.n("l"), *inner, c.n("m")) if c.rank < 4 else inner)


row("dot", T.dot, np.dot, _dot, ranks=(0, 1, 2, 3), **EXACT)


def _matmul(c):
    """Vectors, matrices, and stacks of matrices that broadcast."""
    shape = c.shape()
    c.x(special=False)
    other = c.other_dtype()
    how = c.pick("vector", "matrix", "stack", "one")
    if how == "vector":
        c.x(dtype=other, shape=shape[-1:])
    elif how == "matrix" or c.rank < 3:
        c.x(dtype=other, shape=(shape[-1], c.n("m")))
    else:
        batch = tuple(1 if how == "one" else n for n in shape[:-2])
        known = (*(1 if how == "one" else None for _ in batch), None, None)
        c.x(dtype=other, shape=(*batch, shape[-1], c.n("m")), known=known)


row("matmul", T.matmul, np.matmul, _matmul, ranks=(1, 2, 3, 4), **EXACT)
row("@", lambda x, y: x @ y, lambda x, y: x @ y, _matmul, ranks=(1, 2, 3, 4), **EXACT)


def _shared_axes(c):
    shape = c.shape()
    c.x(special=False)
    k = c.structure.randint(0, c.rank)
    c.x(dtype=c.other_dtype(), shape=(*shape[c.rank - k :], c.n("m")))
    return {"axes": k}


row("tensordot", T.tensordot, np.tensordot, _shared_axes, ranks=(0, 1, 2, 3), **EXACT)


def _paired_axes(c):
    shape = c.shape()
    c.x(special=False)
    some = c.structure.sample(range(c.rank), c.structure.randint(1, c.rank))
    c.x(dtype=c.dtype, shape=(c.n("m"), *(shape[k] for k in some)))
    return {"axes": [some, list(range(1, len(some) + 1))]}


row("tensordot (axes)", T.tensordot, np.tensordot, _paired_axes, ranks=(1, 2, 3), **EXACT)


def _batched(c):
    shape = c.shape()
    c.x(special=False)
    c.x(dtype=c.other_dtype(), shape=(shape[0], shape[-1], c.n("m")) if c.rank > 1 else shape)


row("batched_dot", T.batched_dot, lambda x, y: np.stack([np.dot(a, b) for a, b in zip(x, y)]) if len(x) else
    np.zeros((0, *x.shape[1:-1], *y.shape[2:]), np.result_type(x, y)), _batched, ranks=(2, 3), **EXACT)  # fmt: skip
row("batched_tensordot", lambda x, y: T.batched_tensordot(x, y, 1), lambda x, y: np.einsum("bij,bjk->bik", x, y), _batched,
    ranks=(3,), **EXACT)  # fmt: skip


def _vectors(c):
    c.x(special=False)
    c.x(dtype=c.other_dtype(), shape=(c.n("m"),) if c.rank else ())


row("outer", T.outer, np.outer, _vectors, **EXACT)


def _last_alike(c):
    shape = c.shape()
    c.x(special=False)
    c.x(dtype=c.other_dtype(), shape=(c.n("m"), *shape[-1:]) if c.flip() and shape else shape[-1:])


row("inner", T.inner, np.inner, _last_alike, ranks=(0, 1, 2, 3), **EXACT)


def _alike(c):
    c.x(special=False)
    c.x(special=False, dtype=c.other_dtype())


row("vdot", T.vdot, np.vdot, _alike, **EXACT)


def _vecdot(c):
    _alike(c)
    return {"axis": c.axis()}


def _numpys_vecdot(x, y, axis):
    return np.sum(np.conj(np.moveaxis(x, axis, -1)) * np.moveaxis(y, axis, -1), axis=-1, dtype=np.result_type(x, y))


row("vecdot", T.vecdot, _numpys_vecdot, _vecdot, ranks=(1, 2, 3, 4), **EXACT)


def _matvec(c):
    n, m = c.n("n"), c.n("m")
    c.given(c.numbers(c.dtype, (2, n, m), special=False))
    c.given(c.numbers(c.dtype, (m,), special=False))


def _vecmat(c):
    n, m = c.n("n"), c.n("m")
    c.given(c.numbers(c.dtype, (2, n), special=False))
    c.given(c.numbers(c.dtype, (n, m), special=False))


row("matvec", T.matvec, np.matmul, _matvec, ranks=(3,), **EXACT)
row("vecmat", T.vecmat, lambda x, y: np.matmul(x.conj() if x.dtype.kind == "c" else x, y), _vecmat, ranks=(2,), **EXACT)


def _kron(c):
    c.x(special=False)
    c.x(dtype=c.other_dtype(), shape=tuple(c.n(("k", k)) for k in range(c.structure.randint(max(c.rank - 1, 0), min(c.rank + 1, 3)))))


row("kron", T.kron, np.kron, _kron, ranks=(0, 1, 2), **EXACT)


def _cross(c):
    shape = (*c.shape()[:-1], 3)
    for dtype in (c.dtype, c.other_dtype()):
        c.x(dtype=dtype, shape=shape, known=(*(None,) * (c.rank - 1), 3), special=False)


row("cross", T.cross, np.cross, _cross, ranks=(1, 2, 3), **EXACT)

SUBSCRIPTS = ("ij,jk->ik", "ij->ji", "ii->i", "ij->", "i,i->", "i,j->ij", "bij,bjk->bik", "ijk,k->ij", "ij,ij->i", "ij,jk,kl->il",
              "...i,i->...", "bi,bi->b", "ii", "ijk->kij", "i,ij,j->")  # fmt: skip


def _einsum(c):
    subscripts = c.pick(*SUBSCRIPTS)
    for k, word in enumerate(subscripts.partition("->")[0].split(",")):
        names = word.replace("...", "p")
        c.x(dtype=c.other_dtype() if k and c.flip(0.2) else c.dtype, shape=tuple(c.n(n) for n in names), special=False)
    return {"subscripts": subscripts}


row("einsum", lambda *xs, subscripts: T.einsum(subscripts, *xs), lambda *xs, subscripts: np.einsum(subscripts, *xs), _einsum,
    ranks=(2,), **EXACT)  # fmt: skip
row("linalg.multi_dot", lambda *xs: T.linalg.multi_dot(xs), lambda *xs: np.linalg.multi_dot(xs),
    lambda c: [c.matrix(k, k + 1, batch=0) for k in range(c.structure.randint(2, 4))], ranks=(2,), dtypes=ALSO_WHOLE, **EXACT)  # fmt: skip


def _convolved(c):
    c.at_least(1, False).x(special=False)
    c.x(dtype=c.other_dtype(), shape=(c.n("w"),), special=False)
    return {"mode": c.pick("full", "valid", "same")}


row("convolve", T.convolve, np.convolve, _convolved, ranks=(1,), **EXACT)
row("correlate", T.correlate, np.correlate, _convolved, ranks=(1,), **EXACT)


# ---------------------------------------------------------------------- linalg
def matrix(kind="any", n="n", m="n", batch=None):
    def draw(c):
        c.matrix(n, m, kind, batch)

    return draw


def _linalg(name, draw, ours=None, numpys=None, **more):
    more = {"ranks": (2, 3, 4), "dtypes": NUMERIC, **SOLVED, **more}
    row(f"linalg.{name}", ours or getattr(T.linalg, name), numpys or getattr(np.linalg, name), draw, **more)


_linalg("inv", matrix("heavy"), dtypes=ALSO_WHOLE)
_linalg("matrix_inverse", matrix("heavy"), numpys=np.linalg.inv)
_linalg("det", matrix("heavy"), dtypes=ALSO_WHOLE)
_linalg("slogdet", matrix("heavy"), lambda a: list(T.linalg.slogdet(a)), lambda a: list(np.linalg.slogdet(a)))
_linalg("pinv", matrix("any", "n", "m"), lambda a: T.linalg.pinv(a), lambda a: np.linalg.pinv(a), smooth=False)
_linalg("pinv (full rank)", matrix("heavy"), lambda a: T.linalg.pinv(a), lambda a: np.linalg.pinv(a))
_linalg("cholesky", matrix("positive"))
_linalg("cho_solve", lambda c: [c.matrix("n", "n", "triangular", 0), c.matrix("n", "m", batch=0)],
        lambda a, b: T.linalg.cho_solve((a, True), b), lambda a, b: sla.cho_solve((a, True), b), ranks=(2,))  # fmt: skip


def _right_side(kind):
    def draw(c):
        c.matrix("n", "n", kind)
        c.matrix("n", "m") if c.rank > 2 or c.flip() else c.x(shape=(c.n("n"),), special=False)

    return draw


_linalg("solve", _right_side("heavy"), dtypes=ALSO_WHOLE)
_linalg("solve (positive)", _right_side("positive"), lambda a, b: T.linalg.solve(a, b, assume_a="pos"), np.linalg.solve)
_linalg("solve_triangular", lambda c: {**(_right_side("triangular")(c) or {}), "trans": c.pick(0, 1)},
        lambda a, b, trans: T.linalg.solve_triangular(a, b, lower=True, trans=trans),
        lambda a, b, trans: sla.solve_triangular(a, b, lower=True, trans=trans), ranks=(2,))  # fmt: skip
_linalg("lstsq", lambda c: [c.at_least(3, False).matrix(7, "n", "heavy"), c.matrix(7, "m")],
        lambda a, b: T.linalg.lstsq(a, b)[0], lambda a, b: np.linalg.lstsq(a, b, rcond=None)[0], ranks=(2,), smooth=False)  # fmt: skip
for name in ["eigvalsh", "svdvals"]:
    _linalg(name, matrix("symmetric" if name == "eigvalsh" else "any", "n", "n" if name == "eigvalsh" else "m"), smooth=name != "svdvals")


def _from_eigh(f):
    def run(a):
        w, v = f(a)
        return [w, (v * w[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2))]

    return run


def _ours_from_eigh(a):
    w, v = T.linalg.eigh(a)
    return [w, T.matmul(v * T.expand_dims(w, -2), T.conj(T.swapaxes(v, -1, -2)))]


_linalg("eigh", matrix("symmetric"), _ours_from_eigh, _from_eigh(np.linalg.eigh))
_linalg("eigvals", matrix("symmetric"), lambda a: T.sort(T.real(T.linalg.eigvals(a)), -1), lambda a: np.sort(np.linalg.eigvals(a).real, -1),
        smooth=False)  # fmt: skip


def _ours_from_eig(a):
    w, v = T.linalg.eig(a)
    return T.matmul(a, v) - v * T.expand_dims(w, -2)


def _residual_of_eig(a):
    w, v = np.linalg.eig(a)
    return np.zeros_like(v * w[..., None, :], "complex64" if a.dtype.name in ("float32", "complex64") else "complex128")


_linalg("eig", matrix("heavy"), _ours_from_eig, _residual_of_eig, smooth=False)


def _ours_from_svd(a):
    u, s, v = T.linalg.svd(a, full_matrices=False)
    return [s, T.matmul(u * T.expand_dims(s, -2), v)]


_linalg("svd", matrix("any", "n", "m"), _ours_from_svd, lambda a: [np.linalg.svd(a, compute_uv=False), a], smooth=False)


def _ours_from_qr(a):
    q, r = T.linalg.qr(a)
    return [T.matmul(q, r), T.matmul(T.conj(T.swapaxes(q, -1, -2)), q)]


def _from_qr(a):
    k = min(a.shape[-2:])
    return [a, np.broadcast_to(np.eye(k, dtype=a.dtype), (*a.shape[:-2], k, k))]


_linalg("qr", matrix("heavy"), _ours_from_qr, _from_qr, smooth=False)  # its gradient needs lengths that are known
_linalg("expm", matrix("any"), numpys=sla.expm, loose=1e4)
_linalg("matrix_power", params(lambda c: c.matrix("n", "n", "heavy"), n=lambda c: c.structure.randint(-2, 5)), smooth=False)
_linalg("matrix_rank", matrix("heavy"), smooth=False)
_linalg("cond", matrix("heavy"))


def _norm(c):
    c.at_least(1, False).x(special=False)
    if c.rank == 2 and c.flip():
        return {"ord": c.pick(None, "fro", 1, -1, np.inf, -np.inf), "axis": None, "keepdims": c.flip()}
    axis = None if c.flip(0.3) else c.axis()
    vector = axis is not None or c.rank == 1
    return {"ord": c.pick(None, 2, 1, 3, 0, np.inf, -np.inf) if vector else None, "axis": axis, "keepdims": c.flip()}


_linalg("norm", _norm, dtypes=(*FLOATING[1:], *ALSO_WHOLE[:4], "complex64", "complex128")[1:], ranks=(1, 2, 3), **{**EXACT, "loose": 100})


def _vector_norm(c):
    c.at_least(1, False).x(special=False)
    return {"axis": c.axis(), "keepdims": c.flip(), "ord": c.pick(1, 2, 3, np.inf)}


def _matrix_norm(c):
    c.at_least(1, False).x(special=False)
    return {"keepdims": c.flip(), "ord": c.pick("fro", 1, -1, np.inf)}


_linalg("vector_norm", _vector_norm, ranks=(1, 2, 3), **{**EXACT, "loose": 100})
row(".norm", lambda x, **how: x.norm(**how), np.linalg.vector_norm, _vector_norm, ranks=(1, 2, 3), dtypes=FLOATING[1:], **{**EXACT, "loose": 100})
_linalg("matrix_norm", _matrix_norm, ranks=(2, 3), **{**EXACT, "loose": 100})
_linalg("tensorinv", lambda c: c.given(c.values.uniform(-1, 1, (2, 3, 6)).astype(c.dtype) + np.eye(6, dtype=c.dtype).reshape(2, 3, 6) * 4),
        lambda a: T.linalg.tensorinv(a, ind=2), lambda a: np.linalg.tensorinv(a, ind=2), ranks=(3,))  # fmt: skip
_linalg("cross", _cross, ranks=(1, 2), **EXACT)
_linalg("kron", _kron, numpys=np.kron, ranks=(2,), **EXACT)
_linalg("matmul", _matmul, dtypes=ALSO_WHOLE, ranks=(2, 3), **EXACT)
_linalg("matrix_transpose", matrix("any", "n", "m"), numpys=lambda x: np.swapaxes(x, -1, -2))
_linalg("outer", lambda c: [c.x(special=False), c.x(shape=(c.n("m"),), special=False)], ranks=(1,), **EXACT)
_linalg("tensordot", _shared_axes, numpys=np.tensordot, ranks=(1, 2), **EXACT)
_linalg("vecdot", _vecdot, numpys=_numpys_vecdot, ranks=(1, 2, 3), **EXACT)


def _offset(c):
    c.x(special=False)
    return {"offset": c.structure.randint(-1, 1)}


_linalg("trace", _offset, numpys=lambda a, offset: np.trace(a, offset, -2, -1), **EXACT)
_linalg("diagonal", _offset, numpys=lambda a, offset: np.diagonal(a, offset, -2, -1))


# ---------------------------------------------------------------------- Fourier transforms
FOURIER = {"scaled": True, "loose": 60, "special": False}
FFT_DTYPES = ("int16", "bool", "float16", "float32", "float64", "complex64", "complex128")


def _transformed(c):
    c.at_least(2, False).x(special=False)
    return {"n": c.pick(None, None, 3, 8), "axis": c.axis(), "norm": c.pick(None, "ortho", "forward")}


def _wide_fft(f):
    """NumPy's function, in the precision of the operand."""

    def run(a, **params):
        found = np.asarray(f(a, **params))
        if a.dtype.name in ("float32", "complex64") and found.dtype.name in ("float64", "complex128"):
            found = found.astype({"float64": "float32", "complex128": "complex64"}[found.dtype.name])
        return found

    return run


for name in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]:
    row(f"fft.{name}", getattr(T.fft, name), _wide_fft(getattr(np.fft, name)), _transformed, ranks=(1, 2, 3),
        dtypes=FFT_DTYPES[:5] if name in ("rfft", "ihfft") else FFT_DTYPES, smooth=True, **FOURIER)  # fmt: skip


def _transformed_along_some(c):
    c.at_least(2, False).x(special=False)
    axes = tuple(c.structure.sample(range(c.rank), c.structure.randint(1, c.rank)))
    return {"axes": axes, "s": c.pick(None, tuple(c.structure.randint(2, 6) for _ in axes)), "norm": c.pick(None, "ortho")}


for name in ["fftn", "ifftn", "rfftn", "irfftn"]:
    row(f"fft.{name}", getattr(T.fft, name), _wide_fft(getattr(np.fft, name)), _transformed_along_some, ranks=(1, 2, 3),
        dtypes=FFT_DTYPES[:5] if name == "rfftn" else FFT_DTYPES, **FOURIER)  # fmt: skip
for name in ["fft2", "ifft2", "rfft2", "irfft2"]:
    row(f"fft.{name}", lambda a, f=getattr(T.fft, name): f(a), lambda a, f=getattr(np.fft, name): _wide_fft(f)(a),
        lambda c: c.at_least(2, False).x(special=False), ranks=(2, 3),
        dtypes=FFT_DTYPES[:5] if name == "rfft2" else FFT_DTYPES, **FOURIER)  # fmt: skip


def _cosines(c):
    c.at_least(2, False).x(special=False)
    return {"type": c.pick(1, 2, 3, 4), "n": c.pick(None, None, 3, 8), "axis": c.axis(), "norm": c.pick(None, "ortho", "forward")}


for name in ["dct", "idct", "dst", "idst"]:
    row(f"fft.{name}", getattr(T.fft, name), getattr(scipy.fft, name), _cosines, ranks=(1, 2, 3), dtypes=FFT_DTYPES, smooth=True,
        **FOURIER)  # fmt: skip
    row(f"fft.{name}n", getattr(T.fft, f"{name}n"), getattr(scipy.fft, f"{name}n"),
        lambda c: {"type": c.pick(2, 3), **_transformed_along_some(c)}, ranks=(1, 2, 3), dtypes=FFT_DTYPES, **FOURIER)  # fmt: skip


def _shifted(c):
    c.x()
    return {"axes": None if c.flip(0.3) else c.axis()}


for name in ["fftshift", "ifftshift"]:
    row(f"fft.{name}", getattr(T.fft, name), getattr(np.fft, name), _shifted, ranks=(1, 2, 3))
for name in ["fftfreq", "rfftfreq"]:
    row(f"fft.{name}", getattr(T.fft, name), getattr(np.fft, name), lambda c: {"n": c.structure.randint(1, 9), "d": c.pick(1.0, 0.5)},
        ranks=(0,), dtypes=("float64",), special=False, smooth=False)  # fmt: skip

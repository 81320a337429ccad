"""theano.tensor.fft: complex results as real arrays, real and imaginary part along a last dimension of two."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.tensor import fft as native
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.theano.language import get_scalar_constant_value


def rfft(inp: Any, norm: str | None = None) -> TensorVariable:
    """The transform of real arrays over all dimensions but the first: shape (..., m // 2 + 1, 2)."""
    x = T.as_tensor(inp)
    if x.ndim < 2:
        raise TypeError(f"rfft: the first dimension is that of the batch, {x} has {x.ndim}")
    found = native.rfftn(x, axes=tuple(range(1, x.ndim)), norm=_norm(norm))
    return T.stack([T.real(found), T.imag(found)], axis=-1)


def irfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Any:
    """The inverse of rfft; `is_odd` says that the last dimension had an odd length."""
    x = T.as_tensor(inp)
    whole = T.complex(x[..., 0], x[..., 1])
    lengths: Any = whole.type.shape[1:]
    if not is_odd:
        sizes = None
    elif None in lengths:
        raise NotImplementedError("irfft: is_odd=True needs lengths that are known while the graph is built")
    else:
        sizes = [*lengths[:-1], 2 * lengths[-1] - 1]
    return native.irfftn(whole, s=sizes, axes=tuple(range(1, whole.ndim)), norm=_norm(norm))


def _norm(norm: str | None) -> Any:
    if norm not in (None, "ortho", "no_norm"):
        raise ValueError(f"norm must be None, 'ortho' or 'no_norm', got {norm!r}")
    return {"no_norm": "forward"}.get(norm, norm) if norm else None


def rfft_op(x: TensorLike, s: TensorLike | None = None) -> Any:
    """`rfft`; the lengths are those of the array."""
    return rfft(x)


def irfft_op(x: TensorLike, s: Any = None) -> Any:
    """`irfft`; `s` are the lengths of the result."""
    if s is None:
        return irfft(x)
    whole = T.complex(T.as_tensor(x)[..., 0], T.as_tensor(x)[..., 1])
    listed = s if isinstance(s, (list, tuple)) else [s[d] for d in range(whole.ndim - 1)]
    sizes = [int(get_scalar_constant_value(n)) for n in listed]
    return native.irfftn(whole, s=sizes, axes=tuple(range(1, whole.ndim)), norm="forward")


def fft(a: Any, n: Any = None, axis: Any = -1) -> Any:
    """The transform along one axis, as complex numbers."""
    return native.fft(a, None if n is None else int(n), int(axis))


Fourier = type("Fourier", (), {"__call__": staticmethod(fft), "__doc__": "The op of `fft`."})

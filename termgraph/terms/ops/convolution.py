"""Convolutions of one, two and three dimensions as placeholders, and windows.

The three placeholders are the three partial results of one bilinear form: of an image x, filters w and an array g like
the result, each is linear in two and gives the third. How they are computed is chosen by the rules of
`rules/convolutions.py`; what is here is plain and slow: what they mean. `windows` is what these rules are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.dtypes import promote, working_dtype
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import OPS, Infer, Meaning, Op
from termgraph.terms.ops.shapes import require_tensor, same_length
from termgraph.terms.ops.shaping import static_lengths
from termgraph.terms.types import TensorType, shape_text

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

BORDERS = ("valid", "full", "half", "same")
PARAMS: dict[str, Any] = {
    "stride": (), "border": "valid", "dilation": (), "groups": 1, "flip": False, "algo": None,
    "vectors": None,  # bytes of a vector of the processor that computes it, if that is known: prices depend on it
}  # fmt: skip
FORWARD, INPUTS, WEIGHTS = "AbstractConv2d", "AbstractConv2d_gradInputs", "AbstractConv2d_gradWeights"


# ---------------------------------------------------------------------- lengths
def reach(k: int, dilation: int) -> int:
    """How many elements a window of k spreads over."""
    return (k - 1) * dilation + 1


def padding(
    border: str | tuple[tuple[int, int], ...], axis: int, n: Any, k: int, stride: int, dilation: int,
    most: Callable[..., Any] = max,
) -> tuple[Any, Any]:  # fmt: skip
    """How many zeros go before and after n elements. Lengths may be symbolic; `most` is then their maximum."""
    if isinstance(border, tuple):
        return border[axis]
    if border == "valid":
        return 0, 0
    if border == "full":
        return reach(k, dilation) - 1, reach(k, dilation) - 1
    if border == "half":
        return reach(k, dilation) // 2, reach(k, dilation) // 2
    total = most((-(-n // stride) - 1) * stride + reach(k, dilation) - n, 0)
    return total // 2, total - total // 2


def window_count(name: str, axis: int, n: int, k: int, stride: int, dilation: int) -> int:
    """How many windows of k elements fit into n; a ShapeError if there is none."""
    if k < 1 or n < reach(k, dilation):
        spread = f" ({reach(k, dilation)} with dilation {dilation})" if dilation > 1 and k > 0 else ""
        raise ShapeError(
            f"{name}: a window of length {k}{spread} does not fit into spatial dimension {axis} of length {n}, "
            "padding included; pad more (border_mode), or use smaller filters"
        )
    return (n - reach(k, dilation)) // stride + 1


def result_lengths(name: str, image: Sequence[Any], filters: Sequence[Any], p: dict[str, Any]) -> tuple[Any, ...]:
    """The spatial lengths of a convolution; unknown ones are None."""
    out: list[int | None] = []
    for d, (n, k, s, e) in enumerate(zip(image, filters, p["stride"], p["dilation"], strict=True)):
        if p["border"] == "same" and n is not None:
            out.append(-(-n // s))
        elif n is None or k is None:
            out.append(None)
        else:
            out.append(window_count(name, d, n + sum(padding(p["border"], d, n, k, s, e)), k, s, e))
    return tuple(out)


# ---------------------------------------------------------------------- typing
def _spatial(name: str, a: TensorType, b: TensorType, p: dict[str, Any]) -> None:
    if a.ndim != b.ndim or a.ndim < 3:
        raise TypeError(
            f"{name}: images (batch, channels, ...) and filters (filters, channels, ...) must have the same number of "
            f"dimensions, at least 3; got {a} and {b}"
        )
    if len(p["stride"]) != a.ndim - 2 or len(p["dilation"]) != a.ndim - 2:
        raise ValueError(
            f"{name}: stride and dilation need {a.ndim - 2} numbers, got {p['stride']} and {p['dilation']}"
        )
    if "b" in (a.kind, b.kind):
        raise TypeError(f"{name} takes numbers, got {a.dtype} and {b.dtype}; cast truth values first")


def _check_channels(name: str, channels: int | None, filters: Sequence[Any], groups: int) -> None:
    """`channels` of the image against filters of shape (filters, channels of a group, ...)."""
    if filters[1] is not None and channels is not None and filters[1] * groups != channels:
        per = f" in each of {groups} groups" if groups > 1 else ""
        raise ShapeError(
            f"{name}: the filters, of shape {shape_text(tuple(filters))}, read {filters[1]} channels{per}, "
            f"the image has {channels}"
        )
    if filters[0] is not None and filters[0] % groups:
        raise ShapeError(f"{name}: {filters[0]} filters do not divide into {groups} groups")


def _check_like_result(name: str, g: Sequence[Any], wanted: Sequence[Any]) -> None:
    for d, (n, m) in enumerate(zip(g, wanted, strict=True)):
        if n is not None and m is not None and n != m:
            raise ShapeError(f"{name}: the result has length {m} in dimension {d}, the array like it has {n}")


def _infer_forward(x: TensorType, w: TensorType, **p: Any) -> TensorType:
    x, w = require_tensor(x, "the image of a convolution"), require_tensor(w, "the filters of a convolution")
    _spatial(FORWARD, x, w, p)
    _check_channels(FORWARD, x.shape[1], w.shape, p["groups"])
    lengths = result_lengths(FORWARD, x.shape[2:], w.shape[2:], p)
    return TensorType.of(promote(x.np_dtype, w.np_dtype).name, (x.shape[0], w.shape[0], *lengths))


def _infer_inputs(w: AnyTerm, g: AnyTerm, *lengths: AnyTerm, **p: Any) -> TensorType:
    w, g = require_tensor(w.type, f"operand 0 of {INPUTS}"), require_tensor(g.type, f"operand 1 of {INPUTS}")
    _spatial(INPUTS, g, w, p)
    shape = static_lengths(INPUTS, lengths)
    channels = None if w.shape[1] is None else w.shape[1] * p["groups"]
    _check_channels(INPUTS, channels, w.shape, p["groups"])
    _check_like_result(INPUTS, g.shape[1:], (w.shape[0], *result_lengths(INPUTS, shape, w.shape[2:], p)))
    return TensorType.of(promote(w.np_dtype, g.np_dtype).name, (g.shape[0], channels, *shape))


def _infer_weights(x: AnyTerm, g: AnyTerm, *lengths: AnyTerm, **p: Any) -> TensorType:
    x, g = require_tensor(x.type, f"operand 0 of {WEIGHTS}"), require_tensor(g.type, f"operand 1 of {WEIGHTS}")
    _spatial(WEIGHTS, x, g, p)
    shape = static_lengths(WEIGHTS, lengths)
    same_length(x.shape[0], g.shape[0], f"{WEIGHTS}: lengths of the batch")
    if x.shape[1] is not None and x.shape[1] % p["groups"]:
        raise ShapeError(f"{WEIGHTS}: {x.shape[1]} channels do not divide into {p['groups']} groups")
    channels = None if x.shape[1] is None else x.shape[1] // p["groups"]
    _check_channels(WEIGHTS, x.shape[1], (g.shape[1], channels), p["groups"])
    _check_like_result(WEIGHTS, g.shape[2:], result_lengths(WEIGHTS, x.shape[2:], shape, p))
    return TensorType.of(promote(x.np_dtype, g.np_dtype).name, (g.shape[1], channels, *shape))


# ---------------------------------------------------------------------- meaning
class _Form:
    """The bilinear form on arrays: one tap of the filters after the other."""

    def __init__(self, name: str, image: Sequence[int], taps: Sequence[int], p: dict[str, Any]) -> None:
        self.stride, self.dilation, self.groups, self.taps = p["stride"], p["dilation"], p["groups"], tuple(taps)
        self.out = result_lengths(name, image, taps, p)
        geometry = zip(image, taps, self.stride, self.dilation, strict=True)
        self.pads = [padding(p["border"], d, *lengths) for d, lengths in enumerate(geometry)]

    def padded(self, x: np.ndarray) -> np.ndarray:
        return np.pad(x, [(0, 0), (0, 0), *self.pads])

    def cropped(self, x: np.ndarray) -> np.ndarray:
        inner = [slice(a, n - b) for (a, b), n in zip(self.pads, x.shape[2:], strict=True)]
        return x[(slice(None), slice(None), *inner)]

    def places(self) -> Any:
        """Each tap, and where its elements are in the padded image."""
        for tap in np.ndindex(self.taps):
            steps = zip(tap, self.dilation, self.stride, self.out, strict=True)
            yield tap, tuple([slice(k * e, k * e + (n - 1) * s + 1 if n else k * e, s) for k, e, s, n in steps])

    def grouped(self, x: np.ndarray, axis: int) -> np.ndarray:
        """The array with its channels (or filters) by groups, and its spatial dimensions as one."""
        shape = x.shape
        rest = (-1,) if x.ndim > 2 and axis == 1 else ()
        size = int(np.prod(shape[2:])) if rest else 0
        split = (self.groups, shape[axis] // self.groups)
        return x.reshape(*shape[:axis], *split, *((size,) if rest else shape[axis + 1 :]))


def _wide(p: dict[str, Any], *xs: Any) -> tuple[Any, ...]:
    """The arrays in the dtype to compute in, their filters turned, and the dtype of the result."""
    dtype = promote(*[np.asarray(x).dtype for x in xs])
    return (*[np.asarray(x).astype(working_dtype(dtype), copy=False) for x in xs], dtype)


def _turned(w: np.ndarray, p: dict[str, Any]) -> np.ndarray:
    return w[(slice(None), slice(None), *[slice(None, None, -1)] * (w.ndim - 2))] if p["flip"] else w


def _forward(x: np.ndarray, w: np.ndarray, **p: Any) -> np.ndarray:
    x, w, dtype = _wide(p, x, w)
    _check_channels(FORWARD, x.shape[1], w.shape, p["groups"])
    form, w = _Form(FORWARD, x.shape[2:], w.shape[2:], p), _turned(w, p)
    x = form.padded(x)
    shape = (x.shape[0], w.shape[0], *form.out)
    out = form.grouped(np.zeros(shape, x.dtype), 1)
    for tap, place in form.places():
        out += np.einsum("ngcp,goc->ngop", form.grouped(x[(..., *place)], 1), form.grouped(w[(..., *tap)], 0))
    return out.reshape(shape).astype(dtype, copy=False)


def _grad_inputs(w: np.ndarray, g: np.ndarray, *lengths: np.ndarray, **p: Any) -> np.ndarray:
    w, g, dtype = _wide(p, w, g)
    shape = (g.shape[0], w.shape[1] * p["groups"], *[int(n) for n in lengths])
    form, w = _Form(INPUTS, shape[2:], w.shape[2:], p), _turned(w, p)
    _check_channels(INPUTS, shape[1], w.shape, p["groups"])
    _check_like_result(INPUTS, g.shape[1:], (w.shape[0], *form.out))
    out, g = form.padded(np.zeros(shape, w.dtype)), form.grouped(g, 1)
    for tap, place in form.places():
        part = np.einsum("ngop,goc->ngcp", g, form.grouped(w[(..., *tap)], 0))
        out[(..., *place)] += part.reshape(*shape[:2], *form.out)
    return form.cropped(out).astype(dtype, copy=False)


def _grad_weights(x: object, g: np.ndarray, *lengths: np.ndarray, **p: Any) -> np.ndarray:
    x, g, dtype = _wide(p, x, g)
    taps, groups = [int(n) for n in lengths], p["groups"]
    same_length(x.shape[0], g.shape[0], f"{WEIGHTS}: lengths of the batch")
    _check_channels(WEIGHTS, x.shape[1], (g.shape[1], x.shape[1] // groups), groups)
    form = _Form(WEIGHTS, x.shape[2:], taps, p)
    _check_like_result(WEIGHTS, g.shape[2:], form.out)
    out = np.zeros((g.shape[1], x.shape[1] // groups, *taps), x.dtype)
    x, g = form.padded(x), form.grouped(g, 1)
    for tap, place in form.places():
        part = np.einsum("ngcp,ngop->goc", form.grouped(x[(..., *place)], 1), g)
        out[(..., *tap)] = part.reshape(out.shape[:2])
    return _turned(out, p).astype(dtype, copy=False)


def _placeholder(name: str, arity: int | None, infer: Infer, meaning: Meaning, doc: str) -> Op:
    op = OPS[name] = Op(
        name, arity=arity, infer=infer, meaning=meaning, kind="conv", params=PARAMS, by_value=arity is None, doc=doc
    )
    return op


conv = _placeholder(
    FORWARD, 2, _infer_forward, _forward,
    "The convolution of images (batch, channels, ...) with filters (filters, channels of a group, ...).",
)  # fmt: skip
conv_grad_inputs = _placeholder(
    INPUTS, None, _infer_inputs, _grad_inputs,
    "Filters, an array like the result, spatial lengths: the images' gradient (a transposed convolution).",
)  # fmt: skip
conv_grad_weights = _placeholder(
    WEIGHTS, None, _infer_weights, _grad_weights,
    "Images, an array like the result, lengths of the filters: the filters' gradient.",
)  # fmt: skip


# ---------------------------------------------------------------------- with a routine
# What the placeholders become where compiled code has a routine: the padding is numbers, filters are not turned.
conv_panels = OPS["conv_panels"] = Op(
    "conv_panels", arity=2, infer=_infer_forward, meaning=_forward, kind="conv_routine", params=PARAMS,
    doc="A convolution as products of panels that are packed from the image.",
)  # fmt: skip
conv_winograd = OPS["conv_winograd"] = Op(
    "conv_winograd", arity=2, infer=_infer_forward, meaning=_forward, kind="conv_routine", params=PARAMS,
    doc="A convolution with filters of 3x3 or 5x5 by Winograd's algorithm for 2x2 places.",
)  # fmt: skip
conv_taps = OPS["conv_taps"] = Op(
    "conv_taps", arity=None, infer=_infer_weights, meaning=_grad_weights, kind="conv_routine", params=PARAMS,
    by_value=True, doc="The filters' gradient of a convolution, tap by tap.",
)  # fmt: skip

conv_spread = OPS["conv_spread"] = Op(
    "conv_spread", arity=None, infer=_infer_inputs, meaning=_grad_inputs, kind="conv_routine", params=PARAMS,
    by_value=True, doc="The images' gradient of a convolution whose filters move by more than one, laid out at once.",
)  # fmt: skip


def _two_lines(name: str, x: TensorType, w: TensorType) -> tuple[str, int | None, int | None]:
    """The dtype of a result of two vectors, and their lengths."""
    x, w = require_tensor(x, f"operand 0 of {name}"), require_tensor(w, f"operand 1 of {name}")
    if x.ndim != 1 or w.ndim != 1:
        raise TypeError(f"{name}: both operands must be vectors, got {x} and {w}")
    return promote(x.np_dtype, w.np_dtype).name, x.shape[0], w.shape[0]


def _infer_lines(x: TensorType, w: TensorType) -> TensorType:
    dtype, n, k = _two_lines("convolve_lines", x, w)
    return TensorType.of(dtype, (None if n is None or k is None else n + k - 1,))


def _infer_inside(x: TensorType, w: TensorType) -> TensorType:
    dtype, n, k = _two_lines("correlate_lines", x, w)
    if n is not None and k is not None and k > n:
        raise TypeError(f"correlate_lines: a window of {k} elements does not fit into {n}")
    return TensorType.of(dtype, (None if n is None or k is None else n - k + 1,))


def _lines(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    dtype = promote(x.dtype, w.dtype)
    return np.convolve(x.astype(dtype, copy=False), w.astype(dtype, copy=False))


def _inside(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    if w.size > x.size:  # NumPy would exchange them
        raise ValueError(f"correlate_lines: a window of {w.size} elements does not fit into {x.size}")
    dtype = promote(x.dtype, w.dtype)
    return np.convolve(x.astype(dtype, copy=False), w.astype(dtype, copy=False)[::-1], "valid")


convolve_lines = OPS["convolve_lines"] = Op(
    "convolve_lines", arity=2, infer=_infer_lines, meaning=_lines, kind="conv_routine",
    doc="Two vectors laid over each other at all places, one of them turned: numpy.convolve.",
)  # fmt: skip
correlate_lines = OPS["correlate_lines"] = Op(
    "correlate_lines", arity=2, infer=_infer_inside, meaning=_inside, kind="conv_routine",
    doc="A vector moved along another one to all places inside it, the products added up: both gradients of "
    "convolve_lines.",
)  # fmt: skip


# ---------------------------------------------------------------------- windows
def _infer_windows(x: AnyTerm, *ks: AnyTerm, stride: tuple[int, ...], dilation: tuple[int, ...]) -> TensorType:
    tensor = require_tensor(x.type, "operand of windows")
    sizes = static_lengths("windows", ks)
    if not len(ks) == len(stride) == len(dilation) <= tensor.ndim:
        raise TypeError(f"windows: {len(ks)} lengths, stride {stride} and dilation {dilation} for {tensor}")
    lead = tensor.ndim - len(ks)
    counts: list[int | None] = []
    for d, (n, k) in enumerate(zip(tensor.shape[lead:], sizes, strict=True)):
        known = n is not None and k is not None
        counts.append(window_count("windows", d, n, k, stride[d], dilation[d]) if known else None)  # type: ignore[arg-type]
    return TensorType.of(tensor.dtype, (*tensor.shape[:lead], *counts, *sizes))


def _windows(x: np.ndarray, *ks: np.ndarray, stride: tuple[int, ...], dilation: tuple[int, ...]) -> np.ndarray:
    x = np.asarray(x)
    lead = x.ndim - len(ks)
    counts, taps = [], [int(k) for k in ks]
    for d, k in enumerate(taps):
        counts.append(window_count("windows", d, x.shape[lead + d], k, stride[d], dilation[d]))
    steps = x.strides[lead:]
    strides = (*[a * b for a, b in zip(steps, stride)], *[a * b for a, b in zip(steps, dilation)])
    shape = (*x.shape[:lead], *counts, *taps)
    return np.lib.stride_tricks.as_strided(x, shape, x.strides[:lead] + strides).copy()


windows = OPS["windows"] = Op(
    "windows",
    arity=None,
    infer=_infer_windows,
    meaning=_windows,
    kind="index",
    by_value=True,
    params={"stride": (), "dilation": ()},
    doc="All windows of some lengths over the last dimensions: windows(x, *ks) has one dimension for the place of each "
    "window, and one for the place in it, per length.",
)

"""Pooling and its gradients: one thread for each place of the result, which reads its windows where they lie.

Gradients gather: an element adds up what the windows it lies in give it, in the order in which the NumPy meaning adds
their taps, so results repeat to the last bit. Lengths are those of three dimensions; missing ones are 1. Windows are
known when a kernel is written: of small ones all loads are under way at once. A thread of such a gradient has the
elements of a step of the windows along all dimensions but the last one: the same windows cover them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from termgraph.backends.cuda.text.dialect import COMPUTED, STORED, literal, reader, writer
from termgraph.lower.loops.tree import Place, Routine
from termgraph.lower.storage.pool_routines import IMAGE, PLACES
from termgraph.terms.dtypes import lowest, numpy_dtype, working_dtype
from termgraph.terms.ops.pooling import MAX_GRAD, POOL, SUM_GRAD

NAMES = (POOL, MAX_GRAD, SUM_GRAD)
BATCHES = 2  # dimensions before the pooled ones that a kernel knows; of more, each row is a launch
Number = Callable[[Any], int]  # a polynomial -> its value


def kernel_name(n: Routine) -> str:
    """The kernel for a routine."""
    params = n.term.op.params
    kind = [params["kind"]] if n.term.op.family.name == POOL else []
    windows = ["x".join(map(str, params[k])) for k in ("size", "stride", "pad")]
    return "_".join([n.term.op.family.name, *kind, *windows, *[a.buf.dtype for a in (*_arrays(n), *n.results)]])


def text(n: Routine) -> str:
    """The kernel of a routine."""
    name, out = n.term.op.family.name, n.results[0].buf.dtype
    arrays = _arrays(n)
    computed = COMPUTED[out]
    few = _few(n)
    found = (FEW_FORWARD if few else FORWARD) if name == POOL else FEW_GRADIENT if few else GRADIENT
    sums = name != POOL or n.term.op.params["kind"] == "sum"
    first = "0" if sums else literal(np.asarray(lowest(working_dtype(numpy_dtype(out))), _wide(out)), _wide(out))
    marks = {
        "$NAME": kernel_name(n),
        "$ARRAYS": " ".join(_parameters(k, a) for k, a in enumerate(arrays)),
        "$INTS": ", ".join(f"tg_int {k}" for k in _ints(n)),
        "$KNOWN": _known(n),
        "$PLACES": _places("o" if name == POOL else "n"),
        "$COVERED": ("\n" + " " * 20).join(_covered(arrays)),
        "$ROOMS": " ".join(_rooms(arrays)),
        "$TAP": _inside(0, arrays[0]),
        "$JOIN": f"({computed})(sum + found[w0][w1][w2])" if sums else "tg_max()(sum, found[w0][w1][w2])",
        "$ADDED": "(here[u0][u1] == largest[w0][w1][w2] ? given[w0][w1][w2] : 0)"
        if name == MAX_GRAD
        else "given[w0][w1][w2]",
        "$FOLD": f"({computed})(sum + {_element(0, arrays[0])})"
        if sums
        else f"tg_max()(sum, {_element(0, arrays[0])})",
        "$GIVEN": _given(arrays) if name == MAX_GRAD else _element(0, arrays[0]),
        "$OUT": STORED[out],
        "$C": computed,
        "$FIRST": first,
        "$WRITE": writer(out),
        "$STARTS": " ".join([OUTER, *[_start(k) for k in range(len(arrays))]]),
        "$THERE": _there(arrays[0]) if name == MAX_GRAD else "",
        "$HERE": f"const {COMPUTED[arrays[0].buf.dtype]} here = {_here(arrays[0])};" if name == MAX_GRAD else "",
    }
    for mark, meaning in marks.items():
        found = found.replace(mark, meaning)
    return found


def _wide(dtype: str) -> str:
    return working_dtype(numpy_dtype(dtype)).name


def _arrays(n: Routine) -> list[Place]:
    """The operands that are no lengths."""
    return [place for place, core in zip(n.reads, n.spec.ins) if core]


FEW = 64  # taps of a thread, and words that it keeps, up to which all that it does is written out
_AXES = ("0", "1", "2")


def _windows(n: Routine) -> list[list[int]]:
    """Sizes, strides and borders along three dimensions."""
    params, missing = n.term.op.params, [0, 1, 2][: 3 - len(n.term.op.params["size"])]
    return [[first] * len(missing) + list(params[k]) for k, first in (("size", 1), ("stride", 1), ("pad", 0))]


def _few(n: Routine) -> bool:
    """Whether windows are so small that the text of all their taps is."""
    size, stride, _ = _windows(n)
    words = max(1, np.dtype(n.results[0].buf.dtype).itemsize // 4)
    if n.term.op.family.name == POOL:
        return prod(size) * words <= FEW
    windows = prod(-(-k // s) for k, s in zip(size, stride))
    return max(prod(stride[:2]) * windows, windows * words * (1 + (n.term.op.family.name == MAX_GRAD))) <= FEW


def _divisors(n: Routine) -> list[str]:
    """The lengths of what threads are counted by, from the last dimension on."""
    if n.term.op.family.name == POOL:
        return ["o2", "o1", "o0", "batch"]
    return ["n2", "c1", "c0", "batch"] if _few(n) else ["n2", "n1", "n0", "batch"]


def _ints(n: Routine) -> list[str]:
    """The names of the numbers that a kernel is given."""
    missing = 3 - len(n.term.op.params["size"])
    lengths = [f"{what}{d}" for what in ("n", "o", "c") for d in _AXES[missing:]]
    return ["count", "batch", *lengths, *[f"{what}_{d}" for d in _divisors(n) for what in ("m", "h")]]


def _known(n: Routine) -> str:
    """What is known of windows, and the lengths of dimensions that there are not."""
    missing = 3 - len(n.term.op.params["size"])
    names = [(what, d, v[int(d)]) for what, v in zip("ksp", _windows(n)) for d in _AXES]
    names += [(what, d, 1) for what in ("n", "o", "c") for d in _AXES[:missing]]
    return f"constexpr int {', '.join(f'{what}{d} = {v}' for what, d, v in names)};"


def _places(what: str) -> str:
    """Which place a thread is about: divisions by multiplying."""
    lines, rest = [], "t"
    for k in (2, 1, 0):
        d = f"{what}{k}"
        lines.append(f"const tg_int r{k} = tg_quotient({rest}, {d}, m_{d}, h_{d}), t{k} = {rest} - r{k} * {d};")
        rest = f"r{k}"
    return " ".join([*lines, "const tg_int plane = r0;"])


def _rooms(arrays: Sequence[Place]) -> list[str]:
    """Registers for what `_covered` loads."""
    rooms = [f"{COMPUTED[arrays[-1].buf.dtype]} given[a0][a1][a2] = {{}};"]
    rooms += [f"{COMPUTED[a.buf.dtype]} largest[a0][a1][a2] = {{}};" for a in arrays[1:2]]
    return [*rooms, *[f"{COMPUTED[a.buf.dtype]} here[s0][s1];" for a in arrays[:1] if len(arrays) > 1]]


def _covered(arrays: Sequence[Place]) -> list[str]:
    """The loads of what a window gives, and for maxima of what its largest element is."""
    out = []
    for k, name in ((len(arrays) - 1, "given"), (1, "largest"))[: 1 + (len(arrays) > 1)]:
        kind = COMPUTED[arrays[k].buf.dtype]
        out.append(f"const {kind} {name}_here = {_inside(k, arrays[k])};")
        out.append(f"{name}[w0][w1][w2] = inside ? {name}_here : ({kind})0;")
    return out


def _multiplier(d: int) -> tuple[int, int]:
    """(m, h) with x // d == (m * x // 2^32 + x) >> h for 0 <= x < 2^31."""
    h = (d - 1).bit_length()
    return (2**32 * (2**h - d)) // d + 1, h


_STEPS = ("a", "b", *_AXES)  # of an array: over both batches and over the dimensions that are pooled


def _parameters(k: int, a: Place) -> str:
    steps = " ".join(f"tg_int x{k}_{step}," for step in _STEPS)
    return f"const {STORED[a.buf.dtype]} *__restrict__ x{k}, {steps}"


def _start(k: int) -> str:
    return f"const tg_int at{k} = outer * x{k}_a + (plane - outer * batch) * x{k}_b;"


def _element(k: int, a: Place) -> str:
    """An element that a window covers, or that a window has given."""
    return f"{reader(a.buf.dtype)}(x{k}[at{k} + i0 * x{k}_0 + i1 * x{k}_1 + i2 * x{k}_2])"


def _inside(k: int, a: Place) -> str:
    """The same, or the first element of the plane in the place of what lies outside."""
    return f"{reader(a.buf.dtype)}(x{k}[at{k} + (inside ? i0 * x{k}_0 + i1 * x{k}_1 + i2 * x{k}_2 : 0)])"


def _here(a: Place) -> str:
    """The element of the image that a thread is about."""
    return f"{reader(a.buf.dtype)}(x0[at0 + t0 * x0_0 + t1 * x0_1 + t2 * x0_2])"


def _there(a: Place) -> str:
    """The elements of the image that a thread is about, or others in the place of those that are not there."""
    return f"here[u0][u1] = {reader(a.buf.dtype)}(x0[at0 + t2 * x0_2 + (there ? t0 * x0_0 + t1 * x0_1 : 0)]);"


def _given(arrays: Sequence[Place]) -> str:
    """What a window gives to the element that is its largest."""
    computed = COMPUTED[arrays[2].buf.dtype]
    return f"(here == {_element(1, arrays[1])} ? ({computed}){_element(2, arrays[2])} : ({computed})0)"


# ---------------------------------------------------------------------- launches
def launches(n: Routine, number: Number) -> Iterator[tuple[list[tuple[str, Any]], int]]:
    """The parameters of each launch, and how many threads there is work for."""
    sizes, params = {name: number(size) for name, size in n.sizes.items()}, n.term.op.params
    arrays, out = _arrays(n), n.results[0]
    missing = 3 - len(params["size"])
    image, places = ([1] * missing + [sizes[name] for name in names[missing:]] for names in (IMAGE, PLACES))
    steps = [(m - 1 + p) // s - p // s + 1 for m, s, p in zip(image, *_windows(n)[1:])]
    made = image if n.term.op.family.name != POOL else places
    batch = [number(length) for length in n.batch]
    lead = batch[:-BATCHES]
    for at in itertools.product(*map(range, lead)):
        inner = [1] * (BATCHES - len(batch[-BATCHES:])) + batch[-BATCHES:]
        if 0 in (*inner, *made):
            continue
        names = {f"{what}{d}": v for what, row in zip("noc", (image, places, steps)) for d, v in enumerate(row)}
        names["batch"] = inner[1]
        divisors = [names[d] for d in _divisors(n)]
        count = int(np.prod([*inner, *divisors[:3]], dtype=np.int64))
        ints = [count, inner[1], *image[missing:], *places[missing:], *steps[missing:]]
        found: list[tuple[str, Any]] = [("int", v) for v in (*ints, *itertools.chain(*map(_multiplier, divisors)))]
        for a in arrays:
            found += [("at", _at(a, at, number)), *[("int", v) for v in _steps(a, number)]]
        yield [*found, ("at", _at(out, at, number))], count


def _steps(a: Place, number: Number) -> list[int]:
    """The distances of an array over both batches, and over the pooled dimensions."""
    batch, core = ([number(step) for step in steps] for steps in (a.batch[-BATCHES:], a.core))
    return [*[0] * (BATCHES - len(batch)), *batch, *[0] * (3 - len(core)), *core]


def _at(a: Place, at: Sequence[int], number: Number) -> tuple[Any, int]:
    """Where an array begins: its buffer, and bytes."""
    base = number(a.base) + sum(k * number(step) for k, step in zip(at, a.batch))
    return a.buf, base * np.dtype(a.buf.dtype).itemsize


OUTER = "const tg_int outer = tg_quotient(plane, batch, m_batch, h_batch);"
_HEAD = r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME(
    $INTS,
    $ARRAYS
    $OUT *__restrict__ y, const bool *needed)
{
    $KNOWN
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {"""

FORWARD = rf"""{_HEAD}
        $PLACES
        $STARTS
        const tg_int b0 = t0 * s0 - p0, b1 = t1 * s1 - p1, b2 = t2 * s2 - p2;
        const tg_int e0 = b0 + k0 < n0 ? b0 + k0 : n0, e1 = b1 + k1 < n1 ? b1 + k1 : n1;
        const tg_int e2 = b2 + k2 < n2 ? b2 + k2 : n2;
        $C sum = $FIRST;
        for (tg_int i0 = b0 > 0 ? b0 : 0; i0 < e0; i0++)
            for (tg_int i1 = b1 > 0 ? b1 : 0; i1 < e1; i1++)
                for (tg_int i2 = b2 > 0 ? b2 : 0; i2 < e2; i2++) sum = $FOLD;
        y[t] = $WRITE(sum);
    }}
}}"""

# What lies outside changes nothing: it is 0, or what every number is at least. Instead of it an element is read that is
# there: no load waits for a branch.
FEW_FORWARD = rf"""{_HEAD}
        $PLACES
        $STARTS
        const tg_int b0 = t0 * s0 - p0, b1 = t1 * s1 - p1, b2 = t2 * s2 - p2;
        $C sum = $FIRST, found[k0][k1][k2];
        if (n0 <= 0 || n1 <= 0 || n2 <= 0) {{ /* of an image without elements none can be read */
            y[t] = $WRITE(sum);
            continue;
        }}
#pragma unroll
        for (int w0 = 0; w0 < k0; w0++)
#pragma unroll
            for (int w1 = 0; w1 < k1; w1++)
#pragma unroll
                for (int w2 = 0; w2 < k2; w2++) {{
                    const tg_int i0 = b0 + w0, i1 = b1 + w1, i2 = b2 + w2;
                    const bool inside = i0 >= 0 && i0 < n0 && i1 >= 0 && i1 < n1 && i2 >= 0 && i2 < n2;
                    const $C tap = $TAP;
                    found[w0][w1][w2] = inside ? tap : ($C)$FIRST;
                }}
#pragma unroll
        for (int w0 = 0; w0 < k0; w0++)
#pragma unroll
            for (int w1 = 0; w1 < k1; w1++)
#pragma unroll
                for (int w2 = 0; w2 < k2; w2++) sum = $JOIN;
        y[t] = $WRITE(sum);
    }}
}}"""

# The last window that an element lies in is the one it is the first tap of.
GRADIENT = rf"""{_HEAD}
        $PLACES
        $STARTS
        $HERE
        const tg_int q0 = t0 + p0, q1 = t1 + p1, q2 = t2 + p2;
        const tg_int b0 = q0 < k0 ? 0 : (q0 - k0) / s0 + 1, b1 = q1 < k1 ? 0 : (q1 - k1) / s1 + 1;
        const tg_int b2 = q2 < k2 ? 0 : (q2 - k2) / s2 + 1;
        const tg_int e0 = q0 / s0 < o0 ? q0 / s0 : o0 - 1, e1 = q1 / s1 < o1 ? q1 / s1 : o1 - 1;
        const tg_int e2 = q2 / s2 < o2 ? q2 / s2 : o2 - 1;
        $C sum = $FIRST;
        for (tg_int i0 = e0; i0 >= b0; i0--)
            for (tg_int i1 = e1; i1 >= b1; i1--)
                for (tg_int i2 = e2; i2 >= b2; i2--) sum = ($C)(sum + $GIVEN);
        y[t] = $WRITE(sum);
    }}
}}"""

# Step j of the windows along a dimension has the s elements from the first tap of window j on: window j - w covers
# those of them that are less than k - w s further on.
FEW_GRADIENT = rf"""{_HEAD}
        const tg_int r2 = tg_quotient(t, n2, m_n2, h_n2), t2 = t - r2 * n2;
        const tg_int r1 = tg_quotient(r2, c1, m_c1, h_c1), e1 = r2 - r1 * c1 + p1 / s1;
        const tg_int plane = tg_quotient(r1, c0, m_c0, h_c0), e0 = r1 - plane * c0 + p0 / s0;
        $STARTS
        const tg_int e2 = (tg_int)((unsigned)(t2 + p2) / (unsigned)s2), after = t2 + p2 - e2 * s2;
        constexpr int a0 = (k0 + s0 - 1) / s0, a1 = (k1 + s1 - 1) / s1, a2 = (k2 + s2 - 1) / s2;
        $ROOMS
        if (o0 > 0 && o1 > 0 && o2 > 0) {{
#pragma unroll
        for (int w0 = 0; w0 < a0; w0++)
#pragma unroll
            for (int w1 = 0; w1 < a1; w1++)
#pragma unroll
                for (int w2 = 0; w2 < a2; w2++) {{
                    const tg_int i0 = e0 - w0, i1 = e1 - w1, i2 = e2 - w2;
                    const bool inside = i0 >= 0 && i0 < o0 && i1 >= 0 && i1 < o1 && i2 >= 0 && i2 < o2
                        && after + w2 * s2 < k2;
                    $COVERED
                }}
        }}
#pragma unroll
        for (int u0 = 0; u0 < s0; u0++)
#pragma unroll
            for (int u1 = 0; u1 < s1; u1++) {{
                const tg_int t0 = e0 * s0 + u0 - p0, t1 = e1 * s1 + u1 - p1;
                const bool there = t0 >= 0 && t0 < n0 && t1 >= 0 && t1 < n1;
                $THERE
            }}
#pragma unroll
        for (int u0 = 0; u0 < s0; u0++)
#pragma unroll
            for (int u1 = 0; u1 < s1; u1++) {{
                const tg_int t0 = e0 * s0 + u0 - p0, t1 = e1 * s1 + u1 - p1;
                $C sum = $FIRST;
#pragma unroll
                for (int w0 = 0; w0 < a0; w0++)
#pragma unroll
                    for (int w1 = 0; w1 < a1; w1++)
#pragma unroll
                        for (int w2 = 0; w2 < a2; w2++)
                            if (w0 * s0 + u0 < k0 && w1 * s1 + u1 < k1) sum = ($C)(sum + $ADDED);
                if (t0 >= 0 && t0 < n0 && t1 >= 0 && t1 < n1)
                    y[((plane * n0 + t0) * n1 + t1) * n2 + t2] = $WRITE(sum);
            }}
    }}
}}"""

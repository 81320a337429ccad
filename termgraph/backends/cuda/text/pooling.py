"""Pooling and its gradients: one thread for each place of the result, which reads its windows where they lie.

Gradients gather: an element adds up what the windows it lies in give it, in the order in which the NumPy meaning adds
their taps, so results repeat to the last bit. Lengths are those of three dimensions; missing ones are 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
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
    kind = [n.term.op.params["kind"]] if n.term.op.family.name == POOL else []
    return "_".join([n.term.op.family.name, *kind, *[a.buf.dtype for a in (*_arrays(n), *n.results)]])


def text(n: Routine) -> str:
    """The kernel of a routine."""
    name, out = n.term.op.family.name, n.results[0].buf.dtype
    arrays = _arrays(n)
    computed = COMPUTED[out]
    found = FORWARD if name == POOL else GRADIENT
    sums = name != POOL or n.term.op.params["kind"] == "sum"
    first = "0" if sums else literal(np.asarray(lowest(working_dtype(numpy_dtype(out))), _wide(out)), _wide(out))
    marks = {
        "$NAME": kernel_name(n),
        "$ARRAYS": " ".join(_parameters(k, a) for k, a in enumerate(arrays)),
        "$INTS": ", ".join(f"tg_int {k}" for k in _INTS),
        "$FOLD": f"({computed})(sum + {_element(0, arrays[0])})"
        if sums
        else f"tg_max()(sum, {_element(0, arrays[0])})",
        "$GIVEN": _given(arrays) if name == MAX_GRAD else _element(0, arrays[0]),
        "$OUT": STORED[out],
        "$C": computed,
        "$FIRST": first,
        "$WRITE": writer(out),
        "$STARTS": " ".join(_start(k) for k in range(len(arrays))),
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


_AXES = ("0", "1", "2")
_INTS = ("count", "batch", *[f"{what}{d}" for what in ("n", "o", "k", "s", "p") for d in _AXES])
_STEPS = ("a", "b", *_AXES)  # of an array: over both batches and over the dimensions that are pooled


def _parameters(k: int, a: Place) -> str:
    steps = " ".join(f"tg_int x{k}_{step}," for step in _STEPS)
    return f"const {STORED[a.buf.dtype]} *__restrict__ x{k}, {steps}"


def _start(k: int) -> str:
    return f"const tg_int at{k} = plane / batch * x{k}_a + plane % batch * x{k}_b;"


def _element(k: int, a: Place) -> str:
    """An element that a window covers, or that a window has given."""
    return f"{reader(a.buf.dtype)}(x{k}[at{k} + i0 * x{k}_0 + i1 * x{k}_1 + i2 * x{k}_2])"


def _here(a: Place) -> str:
    """The element of the image that a thread is about."""
    return f"{reader(a.buf.dtype)}(x0[at0 + t0 * x0_0 + t1 * x0_1 + t2 * x0_2])"


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
    windows = [[1] * missing + list(params["size"]), [1] * missing + list(params["stride"])]
    windows.append([0] * missing + list(params["pad"]))
    made = image if n.term.op.family.name != POOL else places
    batch = [number(length) for length in n.batch]
    lead = batch[:-BATCHES]
    for at in itertools.product(*map(range, lead)):
        inner = [1] * (BATCHES - len(batch[-BATCHES:])) + batch[-BATCHES:]
        count = int(np.prod([*inner, *made], dtype=np.int64))
        if count == 0:
            continue
        ints = [count, inner[1], *image, *places, *itertools.chain(*windows)]
        found: list[tuple[str, Any]] = [("int", v) for v in ints]
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


_HEAD = r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME(
    $INTS,
    $ARRAYS
    $OUT *__restrict__ y, const bool *needed)
{
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {"""

FORWARD = rf"""{_HEAD}
        const tg_int t2 = t % o2, t1 = t / o2 % o1, t0 = t / o2 / o1 % o0, plane = t / o2 / o1 / o0;
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

# The last window that an element lies in is the one it is the first tap of.
GRADIENT = rf"""{_HEAD}
        const tg_int t2 = t % n2, t1 = t / n2 % n1, t0 = t / n2 / n1 % n0, plane = t / n2 / n1 / n0;
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

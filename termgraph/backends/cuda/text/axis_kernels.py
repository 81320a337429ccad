"""Running sums and products, sorting and searching along one axis, by many threads: (before, along, after) it.

Running sums: chunks of the axis are added up, then the sums of the chunks, then each chunk again from where it begins.
Sorting: tiles in shared memory by a bitonic network, then runs of twice the length, in which each element finds its
place by itself. All depends on lengths only, and equal elements keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from termgraph.backends.cuda.text.complexes import is_complex
from termgraph.backends.cuda.text.dialect import COMPUTED, STORED, literal, reader, writer
from termgraph.backends.cuda.text.functions import AxisCall, Launch
from termgraph.lower.lengths.index import evaluate
from termgraph.lower.loops.tree import Call
from termgraph.terms.dtypes import numpy_dtype

RUNNING = {"cumsum": "tg_sum", "cumprod": "tg_prod"}
SORTING = ("sort", "argsort")
SEARCHING = "searchsorted"
NAMES = (*RUNNING, *SORTING, SEARCHING)
BLOCK = 256
CHUNK = 2048  # elements of a row that a block adds up, or sorts in shared memory
SHORT = 32  # rows up to this length are added up by one thread each
PART, MANY = 256, 16384  # the same for columns, if there are fewer than MANY


def kernels(calls: Sequence[Call]) -> list[str]:
    """The kernels that some calls need."""
    texts: dict[str, str] = {}
    for call in calls:
        texts.setdefault(_suffix(call), _text(call))
    return list(texts.values())


def _suffix(call: Call) -> str:
    return f"{call.name}_{call.operands[0][0].dtype}_{call.buf.dtype}"


def _text(call: Call) -> str:
    given, made = call.operands[0][0].dtype, call.buf.dtype
    sorts = call.name in (*SORTING, SEARCHING)
    number = given if sorts else made
    marks = {
        "$NAME": _suffix(call), "$IN": STORED[given], "$OUT": STORED[made], "$C": COMPUTED[number],
        "$READ": reader(given), "$WRITE": writer(made), "$KEY": writer(given), "$OP": RUNNING.get(call.name, ""),
        "$ARG": str(int(call.name == "argsort")),
        "$UNIT": _unit(call.name, number),
    }  # fmt: skip
    text = SEARCH_TEXT if call.name == SEARCHING else SORT_TEXT if sorts else RUNNING_TEXT
    for mark, meaning in marks.items():
        text = text.replace(mark, meaning)
    return text


def _unit(name: str, dtype: str) -> str:
    text = literal(np.asarray(int(name == "cumprod")).astype(numpy_dtype(dtype)), dtype)
    return text if is_complex(dtype) else f"({COMPUTED[dtype]}){text}"


# ---------------------------------------------------------------------- launches
def plan(step: AxisCall, env: Mapping[str, int], processors: int) -> tuple[list[Launch], int]:
    """The launches of a call, and the bytes that they need besides."""
    call = step.call
    sizes = [evaluate(n, env) for n in call.sizes]
    if call.name == SEARCHING:
        return _search(step, sizes, env, processors), 0
    if 0 in sizes:
        return [], 0
    (buf, offset, _), item = call.operands[0], np.dtype(call.operands[0][0].dtype).itemsize
    source, target = ("at", (buf, evaluate(offset, env) * item)), ("buf", call.buf)
    make: Any = _sort if call.name in SORTING else _lanes if sizes[2] > 1 or sizes[1] <= SHORT else _rows
    launches, size = make(call, sizes, source, target, processors)
    return [x._replace(params=[*x.params, ("flag", step.guard)]) for x in launches], size


def _launch(name: str, grid: int, params: list[tuple[str, Any]]) -> Launch:
    return Launch(f"tg_{name}", (grid, 1, 1), (BLOCK, 1, 1), params, {})


def _rows(call: Call, sizes: list[int], source: Any, target: Any, processors: int) -> tuple[list[Launch], int]:
    """A block for each chunk of a row."""
    rows, n, _ = sizes
    chunks, name = -(-n // CHUNK), _suffix(call)
    head = [("int", n), ("int", chunks), source]
    if chunks == 1:
        return [_launch(name, rows, [*head, ("null", None), target])], 0
    sums = ("room", 0)
    return [
        _launch(f"{name}_sums", rows * chunks, [*head, sums]),
        _launch(f"{name}_offsets", rows, [("int", chunks), sums]),
        _launch(name, rows * chunks, [*head, sums, target]),
    ], rows * chunks * _width(call.buf.dtype)


def _lanes(call: Call, sizes: list[int], source: Any, target: Any, processors: int) -> tuple[list[Launch], int]:
    """A thread for each column, or part of a column."""
    outer, n, inner = sizes
    step = n if outer * inner >= MANY or n <= 2 * PART else PART
    parts, name = -(-n // step), _suffix(call)
    count, columns = outer * parts * inner, outer * inner
    head = [("int", count), ("int", n), ("int", inner), ("int", parts), ("int", step), source]
    grid = lambda k: min(-(-k // BLOCK), processors * 16)  # noqa: E731
    if parts == 1:
        return [_launch(f"{name}_lanes", grid(count), [*head, ("null", None), target])], 0
    sums = ("room", 0)
    return [
        _launch(f"{name}_lanes", grid(count), [*head, sums, ("null", None)]),
        _launch(f"{name}_lane_offsets", grid(columns), [("int", columns), ("int", inner), ("int", parts), sums]),
        _launch(f"{name}_lanes", grid(count), [*head, sums, target]),
    ], count * _width(call.buf.dtype)


def _width(dtype: str) -> int:
    return max(4, np.dtype(dtype).itemsize)  # half precision is added up in 32 bits


def _sort(call: Call, sizes: list[int], source: Any, target: Any, processors: int) -> tuple[list[Launch], int]:
    """Tiles, then ever longer runs; keys and places go to and fro between two rooms."""
    outer, n, inner = sizes
    rows, tiles, name = outer * inner, -(-n // CHUNK), _suffix(call)
    item, count = np.dtype(call.operands[0][0].dtype).itemsize, rows * n
    keys = -(-count * item // 256) * 256
    places = -(-count * 4 // 256) * 256 if call.name == "argsort" else 0
    rooms = [(("room", k * (keys + places)), ("room", k * (keys + places) + keys)) for k in (0, 1)]
    none = ("null", None)
    size = min(CHUNK, 1 << (n - 1).bit_length())
    first = [none, none, target] if tiles == 1 else [*rooms[0], none]
    head = [("int", n), ("int", inner), ("int", tiles), ("int", size), source]
    out = [_launch(f"{name}_tiles", rows * tiles, [*head, *first])]
    grid, width, k = min(-(-count // BLOCK), processors * 16), CHUNK, 0
    while width < n:
        last = 2 * width >= n
        there = [none, none, target] if last else [*rooms[1 - k], none]
        numbers = [("int", count), ("int", n), ("int", inner), ("int", width)]
        out.append(_launch(f"{name}_merge", grid, [*numbers, *rooms[k], *there]))
        width, k = 2 * width, 1 - k
    return out, 2 * (keys + places) if tiles > 1 else 0


def _search(step: AxisCall, sizes: list[int], env: Mapping[str, int], processors: int) -> list[Launch]:
    """A thread for each value."""
    call, (_, n, count) = step.call, sizes
    item = np.dtype(call.operands[0][0].dtype).itemsize
    places = [("at", (b, evaluate(offset, env) * item)) for b, offset, _ in call.operands]
    params = [("int", count), ("int", n), ("int", int(call.options["side"] == "right")), *places, ("buf", call.buf)]
    grid = min(-(-count // BLOCK), processors * 16)
    return [_launch(_suffix(call), grid, [*params, ("flag", step.guard)])] if count else []


# ---------------------------------------------------------------------- text
SEARCH_TEXT = r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME(
    tg_int count, tg_int n, tg_int right, const $IN *__restrict__ table, const $IN *__restrict__ x,
    $OUT *__restrict__ y, const bool *needed)
{
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {
        const $C v = $READ(x[t]);
        tg_int low = 0, high = n;
        while (low < high) {
            const tg_int middle = low + (high - low) / 2;
            const $C other = $READ(table[middle]);
            if (right ? !tg_less(v, other) : tg_less(other, v)) low = middle + 1;
            else high = middle;
        }
        y[t] = low;
    }
}"""

RUNNING_TEXT = r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_sums(
    tg_int n, tg_int chunks, const $IN *__restrict__ x, $C *__restrict__ sums, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    const tg_int row = (tg_int)blockIdx.x / chunks, first = (tg_int)blockIdx.x % chunks * 2048;
    $C sum = $UNIT;
    for (tg_int i = first + threadIdx.x; i < first + 2048 && i < n; i += 256)
        sum = $OP()(sum, ($C)$READ(x[(int64_t)row * n + i]));
    sum = tg_fold(sum, $OP(), 256, tg_room);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_offsets(
    tg_int chunks, $C *__restrict__ sums, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    sums += (int64_t)blockIdx.x * chunks;
    $C carry = $UNIT;
    for (tg_int first = 0; first < chunks; first += 256) {
        const tg_int c = first + threadIdx.x;
        $C total;
        const $C before = tg_running(c < chunks ? sums[c] : $UNIT, $OP(), $UNIT, total, tg_room);
        if (c < chunks) sums[c] = $OP()(carry, before);
        carry = $OP()(carry, total);
    }
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME(
    tg_int n, tg_int chunks, const $IN *x, const $C *__restrict__ sums, $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    const tg_int row = (tg_int)blockIdx.x / chunks, begin = (tg_int)blockIdx.x % chunks * 2048;
    $C carry = sums ? sums[blockIdx.x] : $UNIT;
    for (tg_int first = begin; first < begin + 2048 && first < n; first += 256) {
        const tg_int i = first + threadIdx.x;
        const $C v = i < n ? ($C)$READ(x[(int64_t)row * n + i]) : $UNIT;
        $C total;
        const $C before = tg_running(v, $OP(), $UNIT, total, tg_room);
        if (i < n) y[(int64_t)row * n + i] = $WRITE($OP()($OP()(carry, before), v));
        carry = $OP()(carry, total);
    }
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_lanes(
    tg_int count, tg_int n, tg_int inner, tg_int parts, tg_int step, const $IN *x, $C *__restrict__ sums,
    $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {
        const tg_int lane = t % inner, part = t / inner % parts, row = t / inner / parts;
        const tg_int end = (part + 1) * step < n ? (part + 1) * step : n;
        $C sum = y && sums ? sums[t] : $UNIT;
        for (tg_int i = part * step; i < end; i++) {
            const int64_t at = ((int64_t)row * n + i) * inner + lane;
            sum = $OP()(sum, ($C)$READ(x[at]));
            if (y) y[at] = $WRITE(sum);
        }
        if (!y) sums[t] = sum;
    }
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_lane_offsets(
    tg_int count, tg_int inner, tg_int parts, $C *__restrict__ sums, const bool *needed)
{
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {
        $C *at = sums + (int64_t)(t / inner) * parts * inner + t % inner;
        $C sum = $UNIT;
        for (tg_int p = 0; p < parts; p++) {
            const $C v = at[(int64_t)p * inner];
            at[(int64_t)p * inner] = sum;
            sum = $OP()(sum, v);
        }
    }
}"""

SORT_TEXT = r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_tiles(
    tg_int n, tg_int inner, tg_int tiles, tg_int size, const $IN *x, $IN *__restrict__ keys,
    int *__restrict__ places, $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ $C key[2048];
    __shared__ int at[2048];
    const tg_int row = (tg_int)blockIdx.x / tiles, first = (tg_int)blockIdx.x % tiles * 2048;
    const int count = n - first < 2048 ? (int)(n - first) : 2048;
    const int64_t start = (int64_t)(row / inner) * n * inner + row % inner;
    for (int e = threadIdx.x; e < size; e += 256) {
        key[e] = e < count ? ($C)$READ(x[start + (int64_t)(first + e) * inner]) : ($C)0;
        at[e] = e < count ? (int)(first + e) : 0x7fffffff; /* nothing, which is after everything */
    }
    for (int width = 2; width <= size; width <<= 1)
        for (int half = width >> 1; half; half >>= 1) {
            __syncthreads();
            for (int e = threadIdx.x; e < size >> 1; e += 256) {
                const int a = (e & ~(half - 1)) * 2 + (e & half - 1), b = a + half;
                if (tg_after(key[a], at[a], key[b], at[b]) == !(a & width)) {
                    const $C k = key[a];
                    const int p = at[a];
                    key[a] = key[b], at[a] = at[b], key[b] = k, at[b] = p;
                }
            }
        }
    __syncthreads();
    for (int e = threadIdx.x; e < count; e += 256) {
        if (y) y[start + (int64_t)(first + e) * inner] = $ARG ? ($OUT)at[e] : ($OUT)$WRITE(key[e]);
        else {
            keys[(int64_t)row * n + first + e] = $KEY(key[e]);
            if ($ARG) places[(int64_t)row * n + first + e] = at[e];
        }
    }
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME_merge(
    tg_int total, tg_int n, tg_int inner, tg_int width, const $IN *__restrict__ keys, const int *__restrict__ places,
    $IN *__restrict__ new_keys, int *__restrict__ new_places, $OUT *__restrict__ y, const bool *needed)
{
    if (needed && !*needed) return;
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < total; t += gridDim.x * (tg_int)blockDim.x) {
        const tg_int row = t / n, e = t % n, run = e / width;
        const tg_int start = (run ^ 1) * width < n ? (run ^ 1) * width : n;
        const tg_int stop = start + width < n ? start + width : n;
        const $C v = $READ(keys[t]);
        tg_int low = start, high = stop; /* of the other run, what goes before this element */
        while (low < high) {
            const tg_int middle = low + (high - low) / 2;
            const $C other = $READ(keys[(int64_t)row * n + middle]);
            if (run & 1 ? !tg_less(v, other) : tg_less(other, v)) low = middle + 1;
            else high = middle;
        }
        const tg_int place = (run & ~(tg_int)1) * width + e % width + (low - start);
        if (y) y[((int64_t)(row / inner) * n + place) * inner + row % inner] = $ARG ? ($OUT)places[t] : ($OUT)keys[t];
        else {
            new_keys[(int64_t)row * n + place] = keys[t];
            if ($ARG) new_places[(int64_t)row * n + place] = places[t];
        }
    }
}"""

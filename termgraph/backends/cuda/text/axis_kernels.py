"""Running sums and their kin, sorting and searching along one axis, by many threads: (before, along, after) it.

Running sums: a block walks along a row, a tile in shared memory at a time. Where rows are few, chunks of them are added
up, then the sums of the chunks, then a block walks along each chunk from where it begins.
Sorting: tiles in shared memory by a bitonic network, then runs of twice the length, in which each element finds its
place by itself; long rows by digits. All depends on lengths only, and equal elements keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.text.dialect import filled
from termgraph.backends.cuda.text import digits
from termgraph.backends.cuda.text.complexes import is_complex
from termgraph.backends.cuda.text.dialect import COMPUTED, STORED, literal, reader, writer
from termgraph.backends.cuda.text.functions import AxisCall, Launch
from termgraph.lower.lengths.index import evaluate
from termgraph.lower.loops.tree import Call
from termgraph.terms.dtypes import highest, lowest, numpy_dtype

RUNNING = {"cumsum": "tg_sum", "cumprod": "tg_prod", "cummax": "tg_max", "cummin": "tg_min"}
UNITS = {"cummax": lowest, "cummin": highest}
SORTING = ("sort", "argsort")
SEARCHING = "searchsorted"
NAMES = (*RUNNING, *SORTING, SEARCHING)
BLOCK = 256
CHUNK = 2048  # elements of a row that a block sorts in shared memory; rows up to it are added up by a block of 256
WALKERS, TILE = 512, 16384  # threads that walk along a row, and the bytes of it that they hold
MERGED, LONGEST = 8192, 2**31  # rows between these are sorted by digits, with places and counts of 32 bits
ENOUGH, SPREAD = 96, 1056  # rows that are not cut into chunks; chunks that others are cut into
SHORT = 32  # rows up to this length are added up by one thread each
PART, MANY = 256, 16384  # the same for columns, if there are fewer than MANY
COUNTS = f"cumsum_{digits.COUNT}_{digits.COUNT}"


def kernels(calls: Sequence[Call]) -> list[str]:
    """The kernels that some calls need."""
    texts: dict[str, str] = {}
    for call in calls:
        texts.setdefault(_suffix(call), _text(call.name, call.operands[0][0].dtype, call.buf.dtype))
        length = call.sizes[1].const
        if call.name in SORTING and (length is None or length > MERGED):
            given, made = call.operands[0][0].dtype, call.buf.dtype
            texts.setdefault(COUNTS, _text("cumsum", digits.COUNT, digits.COUNT))
            key = f"{_suffix(call)} by digits"
            texts.setdefault(key, digits.text(_suffix(call), given, made, call.name == "argsort"))
    return list(texts.values())


def _suffix(call: Call) -> str:
    return _name(call.name, call.operands[0][0].dtype, call.buf.dtype)


def _name(name: str, given: str, made: str) -> str:
    return f"{name}_{given}_{made}"


def _text(name: str, given: str, made: str) -> str:
    sorts = name in (*SORTING, SEARCHING)
    number = given if sorts else made
    marks = {
        "$NAME": _name(name, given, made), "$IN": STORED[given], "$OUT": STORED[made], "$C": COMPUTED[number],
        "$READ": reader(given), "$WRITE": writer(made), "$KEY": writer(given), "$OP": RUNNING.get(name, ""),
        "$ARG": str(int(name == "argsort")),
        "$UNIT": _unit(name, number), "$ITEMS": str(_tile(made) // WALKERS), "$TILE": str(_tile(made)),
    }  # fmt: skip
    return filled(SEARCH_TEXT if name == SEARCHING else SORT_TEXT if sorts else RUNNING_TEXT, marks)


def _unit(name: str, dtype: str) -> str:
    number = UNITS[name](numpy_dtype(dtype)) if name in UNITS else int(name == "cumprod")
    text = literal(np.asarray(number).astype(numpy_dtype(dtype)), dtype)
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


def _launch(name: str, grid: int, params: list[tuple[str, Any]], block: int = BLOCK) -> Launch:
    return Launch(f"tg_{name}", (grid, 1, 1), (block, 1, 1), params, {})


def _rows(call: Call, sizes: list[int], source: Any, target: Any, processors: int) -> tuple[list[Launch], int]:
    """A block for each row, or for each chunk of a row."""
    rows, n, _ = sizes
    return _added(_suffix(call), call.buf.dtype, rows, n, source, target, 0)


def _added(name: str, made: str, rows: int, n: int, source: Any, target: Any, room: int) -> tuple[list[Launch], int]:
    """Running sums along rows, with sums of chunks at some place in the room, and how many bytes these take."""
    tile, none = _tile(made), ("null", None)
    if n <= CHUNK:
        return [_launch(name, rows, [("int", n), source, target])], 0
    parts = 1 if rows >= ENOUGH else min(-(-SPREAD // rows), -(-n // tile))
    chunk = -(-n // (parts * tile)) * tile
    chunks = -(-n // chunk)
    head = [("int", n), ("int", chunks), ("int", chunk), source]
    if chunks == 1:
        return [_launch(f"{name}_walk", rows, [*head, none, target], WALKERS)], 0
    sums = ("room", room)
    return [
        _launch(f"{name}_sums", rows * chunks, [*head, sums]),
        _launch(f"{name}_offsets", rows, [("int", chunks), sums]),
        _launch(f"{name}_walk", rows * chunks, [*head, sums, target], WALKERS),
    ], rows * chunks * _width(made)


def _counts(rows: int, n: int, at: Any, room: int) -> tuple[list[Launch], int]:
    """Counts of digits, added up where they are."""
    return _added(COUNTS, digits.COUNT, rows, n, at, at, room)


def _tile(dtype: str) -> int:
    """How many elements a walking block holds."""
    return TILE // _width(dtype)


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
    if MERGED < n < LONGEST:
        return digits.launches(name, item, call.name == "argsort", sizes, source, target, _counts)
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
    tg_int n, tg_int chunks, tg_int chunk, const $IN *__restrict__ x, $C *__restrict__ sums, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    const tg_int row = (tg_int)blockIdx.x / chunks, begin = (tg_int)blockIdx.x % chunks * chunk;
    const tg_int end = n - begin < chunk ? n : begin + chunk;
    x += (int64_t)row * n;
    $C sum = $UNIT;
    tg_int i = begin + threadIdx.x;
    for (; i + 7 * 256 < end; i += 8 * 256) {
        $IN v[8];
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = x[i + k * 256];
#pragma unroll
        for (int k = 0; k < 8; k++) sum = $OP()(sum, ($C)$READ(v[k]));
    }
    for (; i < end; i += 256) sum = $OP()(sum, ($C)$READ(x[i]));
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
extern "C" __global__ void __launch_bounds__(512, 2) tg_$NAME_walk(
    tg_int n, tg_int chunks, tg_int chunk, const $IN *x, const $C *__restrict__ sums, $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    __shared__ $C tile[$TILE + $TILE / 32]; /* one element more in each 32, so that banks do not collide */
    const tg_int row = (tg_int)blockIdx.x / chunks, begin = (tg_int)blockIdx.x % chunks * chunk;
    const tg_int end = n - begin < chunk ? n : begin + chunk;
    const int own = threadIdx.x * $ITEMS;
    x += (int64_t)row * n, y += (int64_t)row * n;
    $C carry = sums ? sums[blockIdx.x] : $UNIT;
    $IN next[$ITEMS]; /* of the tile after this one, under way while this one is added up */
#pragma unroll
    for (int k = 0; k < $ITEMS; k++) {
        const tg_int i = begin + threadIdx.x + k * 512;
        next[k] = x[i < end ? i : end - 1];
    }
    for (tg_int first = begin; first < end; first += $TILE) {
        const tg_int left = end - first;
#pragma unroll
        for (int k = 0; k < $ITEMS; k++) {
            const int e = threadIdx.x + k * 512;
            tile[e + e / 32] = e < left ? ($C)$READ(next[k]) : $UNIT;
        }
        if (left > $TILE) {
#pragma unroll
            for (int k = 0; k < $ITEMS; k++) {
                const tg_int i = first + $TILE + threadIdx.x + k * 512;
                next[k] = x[i < end ? i : end - 1];
            }
        }
        __syncthreads();
        $C v[$ITEMS];
#pragma unroll
        for (int k = 0; k < $ITEMS; k++) v[k] = tile[own + k + (own + k) / 32];
#pragma unroll
        for (int k = 1; k < $ITEMS; k++) v[k] = $OP()(v[k - 1], v[k]);
        $C total;
        const $C before = $OP()(carry, tg_running(v[$ITEMS - 1], $OP(), $UNIT, total, tg_room));
#pragma unroll
        for (int k = 0; k < $ITEMS; k++) tile[own + k + (own + k) / 32] = $OP()(before, v[k]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < $ITEMS; k++) {
            const int e = threadIdx.x + k * 512;
            if (e < left) y[first + e] = $WRITE(tile[e + e / 32]);
        }
        carry = $OP()(carry, total);
        __syncthreads(); /* the tile is still read */
    }
}
extern "C" __global__ void __launch_bounds__(256, 1) tg_$NAME(
    tg_int n, const $IN *x, $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    $C carry = $UNIT;
    x += (int64_t)blockIdx.x * n, y += (int64_t)blockIdx.x * n;
    for (tg_int first = 0; first < n; first += 256) {
        const tg_int i = first + threadIdx.x;
        const $C v = i < n ? ($C)$READ(x[i]) : $UNIT;
        $C total;
        const $C before = tg_running(v, $OP(), $UNIT, total, tg_room);
        if (i < n) y[i] = $WRITE($OP()($OP()(carry, before), v));
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

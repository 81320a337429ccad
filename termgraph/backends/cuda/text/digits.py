"""Sorting of long rows by digits of 8 bits, the last one first: each pass keeps the order of the one before.

Keys are the bits of elements, changed so that whole numbers without a sign have their order. A pass counts the digits
of each tile, adds the counts up along a row, and moves the elements of each tile, put in order in shared memory first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.backends.c.text.dialect import HALVES, filled
from termgraph.backends.cuda.text.dialect import STORED
from termgraph.backends.cuda.text.functions import Launch
from termgraph.terms.dtypes import numpy_dtype

BLOCK, DIGITS = 256, 256
UNSIGNED = {1: "uint8_t", 2: "uint16_t", 4: "uint32_t", 8: "uint64_t"}
COUNT = "int32"
Room = tuple[str, Any]


def _items(item: int) -> int:
    """Elements of a thread, as many as shared memory has room for."""
    return 16 if item <= 4 else 8


def launches(
    name: str, item: int, places: bool, sizes: list[int], source: Room, target: Room,
    added: Callable[[int, int, Any, int], tuple[list[Launch], int]],
) -> tuple[list[Launch], int]:  # fmt: skip
    """The launches of a sort, and the bytes that they need. `added` gives those of running sums, in some room."""
    outer, n, inner = sizes
    rows, none = outer * inner, ("null", None)
    tile = BLOCK * _items(item)
    tiles = -(-n // tile)
    keys, order = _line(rows * n * item), _line(rows * n * 4) if places else 0
    rooms = [(("room", k * (keys + order)), ("room", k * (keys + order) + keys if places else 0)) for k in (0, 1)]
    counts = 2 * (keys + order)
    counted = ("room", counts)
    sums, more = added(rows, DIGITS * tiles, counted, counts + _line(rows * DIGITS * tiles * 4))
    grid = (rows * tiles, 1, 1)
    out: list[Launch] = []
    for k in range(item):
        here = [source, none, none] if k == 0 else [none, rooms[k % 2][0], rooms[k % 2][1] if places else none]
        there = [none, none, target]
        if k + 1 < item:
            there = [rooms[1 - k % 2][0], rooms[1 - k % 2][1] if places else none, none]
        head = [("int", n), ("int", inner), ("int", tiles), ("int", 8 * k)]
        out.append(Launch(f"tg_{name}_digits", grid, (BLOCK, 1, 1), [*head, *here[:2], counted], {}))
        out += sums
        out.append(Launch(f"tg_{name}_moved", grid, (BLOCK, 1, 1), [*head, *here, counted, *there], {}))
    return out, counts + _line(rows * DIGITS * tiles * 4) + more


def _line(size: int) -> int:
    return -(-size // 256) * 256


def text(name: str, dtype: str, made: str, places: bool) -> str:
    """The kernels of a sort, or of one that gives places."""
    item = np.dtype(numpy_dtype(dtype)).itemsize
    marks = {
        "$NAME": name, "$IN": STORED[dtype], "$OUT": STORED[made], "$U": UNSIGNED[item], "$ARG": str(int(places)),
        "$ITEMS": str(_items(item)), "$TILE": str(BLOCK * _items(item)), **_bits(dtype, item, places),
    }  # fmt: skip
    return filled(TEXT, marks)


def _bits(dtype: str, item: int, places: bool) -> dict[str, str]:
    """How keys are made of elements, and elements of keys. NaN, of either sign, is the last key."""
    kind, word = numpy_dtype(dtype).kind, UNSIGNED[item]
    top = f"(({word})1 << {8 * item - 1})"
    if dtype in HALVES or kind in "fV":
        to, back = {
            4: ("__float_as_uint(x)", "__int_as_float({})"),
            8: ("__double_as_longlong(x)", "__longlong_as_double({})"),
        }.get(item, ("x", "{}"))
        infinity = {"float16": "0x7c00", "bfloat16": "0x7f80", "float32": "0x7f800000u"}.get(
            dtype, "0x7ff0000000000000ull"
        )
        zero = f"if (!({word})(bits << 1)) bits = 0; /* zeros are equal */ " if places else ""
        made = (
            f"{word} bits = {to}; if (({word})(bits & ({word})~{top}) > {infinity}) return ({word})~({word})0; {zero}"
        )
        made += f"return bits & {top} ? ({word})~bits : ({word})(bits | {top});"
        return {"$MADE": made, "$BACK": back.format(f"(key & {top} ? ({word})(key ^ {top}) : ({word})~key)")}
    flip = f" ^ {top}" if kind == "i" else ""
    return {"$MADE": f"return ({word})(({word})x{flip});", "$BACK": f"({STORED[dtype]})({word})(key{flip})"}


TEXT = r"""
static __device__ __forceinline__ $U tg_key_of_$NAME($IN x) { $MADE }
static __device__ __forceinline__ $IN tg_of_key_$NAME($U key) { return $BACK; }
extern "C" __global__ void __launch_bounds__(256, 3) tg_$NAME_digits(
    tg_int n, tg_int inner, tg_int tiles, tg_int shift, const $IN *__restrict__ x, const $U *__restrict__ keys,
    int *__restrict__ counts, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ int count[256];
    const tg_int row = (tg_int)blockIdx.x / tiles, tile = (tg_int)blockIdx.x % tiles;
    const tg_int first = tile * $TILE + (tg_int)threadIdx.x;
    const int64_t start = (int64_t)(row / inner) * n * inner + row % inner;
    count[threadIdx.x] = 0;
    __syncthreads();
    $U own[$ITEMS];
#pragma unroll
    for (int k = 0; k < $ITEMS; k++) {
        const tg_int i = first + k * 256 < n ? first + k * 256 : n - 1;
        own[k] = x ? tg_key_of_$NAME(x[start + (int64_t)i * inner]) : keys[(int64_t)row * n + i];
    }
#pragma unroll
    for (int k = 0; k < $ITEMS; k++)
        if (first + k * 256 < n) atomicAdd(&count[own[k] >> shift & 255], 1);
    __syncthreads();
    counts[((int64_t)row * 256 + threadIdx.x) * tiles + tile] = count[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(256, 3) tg_$NAME_moved(
    tg_int n, tg_int inner, tg_int tiles, tg_int shift, const $IN *x, const $U *__restrict__ keys,
    const int *__restrict__ places, const int *__restrict__ ends, $U *__restrict__ new_keys,
    int *__restrict__ new_places, $OUT *y, const bool *needed)
{
    if (needed && !*needed) return;
    __shared__ __align__(16) char tg_room[512];
    __shared__ $U key[$TILE];
    __shared__ int at[$ARG ? $TILE : 1];
    __shared__ int count[8][256]; /* by warp and digit; then what goes before these */
    __shared__ int begin[256], jump[256]; /* by digit: where it begins in the tile, and how far it goes from there */
    const tg_int row = (tg_int)blockIdx.x / tiles, tile = (tg_int)blockIdx.x % tiles;
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, low = warp * 32 * $ITEMS + lane;
    const tg_int first = tile * $TILE;
    const int size = n - first < $TILE ? (int)(n - first) : $TILE;
    const int64_t start = (int64_t)(row / inner) * n * inner + row % inner, line = (int64_t)row * n;
    for (int w = 0; w < 8; w++) count[w][threadIdx.x] = 0;
    $U own[$ITEMS];
    int rank[$ITEMS];
#pragma unroll
    for (int k = 0; k < $ITEMS; k++) {
        const tg_int i = first + (low + k * 32 < size ? low + k * 32 : size - 1);
        own[k] = x ? tg_key_of_$NAME(x[start + (int64_t)i * inner]) : keys[line + i];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < $ITEMS; k++) { /* a warp's elements in their order: how many before it have the same digit */
        const int digit = own[k] >> shift & 255;
        const bool here = low + k * 32 < size;
        unsigned same = __ballot_sync(0xffffffffu, here);
#pragma unroll
        for (int bit = 0; bit < 8; bit++) {
            const unsigned set = __ballot_sync(0xffffffffu, digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        const int before = __popc(same & ((1u << lane) - 1)), counted = count[warp][digit];
        __syncwarp();
        if (here && !before) count[warp][digit] = counted + __popc(same);
        __syncwarp();
        rank[k] = counted + before;
    }
    __syncthreads();
    int sum = 0, total;
    for (int w = 0; w < 8; w++) {
        const int c = count[w][threadIdx.x];
        count[w][threadIdx.x] = sum;
        sum += c;
    }
    const int before = tg_running(sum, tg_sum(), 0, total, tg_room);
    const int64_t entry = (int64_t)threadIdx.x * tiles + tile;
    begin[threadIdx.x] = before;
    jump[threadIdx.x] = (entry ? ends[(int64_t)row * 256 * tiles + entry - 1] : 0) - before;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < $ITEMS; k++)
        if (low + k * 32 < size) {
            const int digit = own[k] >> shift & 255, to = begin[digit] + count[warp][digit] + rank[k];
            key[to] = own[k];
            if ($ARG) at[to] = x ? (int)first + low + k * 32 : places[line + first + low + k * 32];
        }
    __syncthreads();
    for (int e = threadIdx.x; e < size; e += 256) {
        const $U found = key[e];
        const int to = jump[found >> shift & 255] + e;
        if (y) y[start + (int64_t)to * inner] = $ARG ? ($OUT)at[e] : ($OUT)tg_of_key_$NAME(found);
        else {
            new_keys[line + to] = found;
            if ($ARG) new_places[line + to] = at[e];
        }
    }
}"""

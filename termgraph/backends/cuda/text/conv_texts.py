"""The CUDA text of convolutions as products of matrices of which the windows are never written down.

A product is y[m, n] = the sum over k of a[m, k] * b[k, n]. Columns n are a batch and places (or a channel and taps), k
a channel and taps (or a batch and places): a head and three digits. The element of b lies where the digits of n and of
k put it together, and is 0 where that is outside of the array. `convolution` says what the numbers are.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled

AXES = ("0", "1", "2")
ROWS, COLUMNS, DEPTH = 64, 128, 16  # of a tile; how many k are in shared memory at once

# In the order in which they are passed. `n_*` and `k_*` are lengths of digits; `at_*` and `by_*` how far a digit of n
# and of k moves in b, `from_*` where the first is; `l_*` and `b_*` the lengths and strides of b.
INTS = (
    "m", "n", "k", "parts", "each", "a_m", "y_m", "a_group", "b_group", "y_group", "b_n", "y_n", "a_k", "b_k",
    "along", *[f"{name}_{d}" for name in ("n", "at", "from", "y", "k", "a", "by", "l", "b") for d in AXES],
)  # fmt: skip

_DIGITS = """const tg_int {p}2 = {v} % {x}_2, {p}1 = {v} / {x}_2 % {x}_1, {p}0 = {v} / {x}_2 / {x}_1 % {x}_0;
        const tg_int {p} = {v} / {x}_2 / {x}_1 / {x}_0;"""
_HEAD = r"""extern "C" __global__ void __launch_bounds__(256, 1) tg_conv$KIND_$NAME(
    $INTS,
    const $T *__restrict__ a, const $T *__restrict__ b, $T *__restrict__ y, $C *__restrict__ room, const bool *needed)
{
    if (needed && !*needed) return;"""

# Where a column lies in b, and in the result; far outside if there is no such column.
_TABLES = rf"""
    __shared__ tg_int to_b[128], to_y[128], at0[128], at1[128], at2[128];
    __shared__ tg_int k_a[$DEPTH], k_b[$DEPTH], by0[$DEPTH], by1[$DEPTH], by2[$DEPTH];
    const int id = threadIdx.x;
    const tg_int far = -((tg_int)1 << 30), row0 = (tg_int)blockIdx.y * 64, column0 = (tg_int)blockIdx.x * 128;
    const tg_int group = blockIdx.z / parts, first = blockIdx.z % parts * each;
    const tg_int last = first + each < k ? first + each : k;
    a += group * a_group, b += group * b_group, y += group * y_group;
    for (int j = id; j < 128; j += 256) {{
        const tg_int v = column0 + j;
        {_DIGITS.format(p="d", v="v", x="n")}
        const tg_int q0 = d0 * at_0 + from_0, q1 = d1 * at_1 + from_1, q2 = d2 * at_2 + from_2;
        to_b[j] = d * b_n + q0 * b_0 + q1 * b_1 + q2 * b_2;
        to_y[j] = d * y_n + d0 * y_0 + d1 * y_1 + d2 * y_2;
        at0[j] = v < n ? q0 : far, at1[j] = q1, at2[j] = q2;
    }}
    __syncthreads();"""
_STEP = rf"""
    for (tg_int k0 = first; k0 < last; k0 += $DEPTH) {{
        if (id < $DEPTH) {{
            const tg_int v = k0 + id;
        {_DIGITS.format(p="c", v="v", x="k")}
            const tg_int p0 = c0 * by_0, p1 = c1 * by_1, p2 = c2 * by_2;
            k_a[id] = c * a_k + c0 * a_0 + c1 * a_1 + c2 * a_2;
            k_b[id] = c * b_k + p0 * b_0 + p1 * b_1 + p2 * b_2;
            by0[id] = v < last ? p0 : far, by1[id] = p1, by2[id] = p2;
        }}
        __syncthreads();
        for (int e = id; e < $DEPTH * 64; e += 256) {{ /* neighbours read along a row of a */
            const int r = e & $DEPTH - 1, i = e >> $BITS;
            $PUT_A = k0 + r < last && row0 + i < m ? $READ(a[(row0 + i) * a_m + k_a[r]]) : ($SHARED)0;
        }}
        for (int e = id; e < $DEPTH * 128; e += 256) {{ /* and of b along columns, or along k */
            const int r = along ? e & $DEPTH - 1 : e >> 7, j = along ? e >> $BITS : e & 127;
            const tg_int q0 = at0[j] + by0[r], q1 = at1[j] + by1[r], q2 = at2[j] + by2[r];
            const bool in = q0 >= 0 && q0 < l_0 && q1 >= 0 && q1 < l_1 && q2 >= 0 && q2 < l_2;
            $PUT_B = in ? $READ(b[to_b[j] + k_b[r]]) : ($SHARED)0;
        }}
        __syncthreads();"""
_DONE = r"""
            if (row < m && column0 + j < n) {
                if (parts == 1) y[row * y_m + to_y[j]] = $WRITE(v);
                else room[((int64_t)blockIdx.z * m + row) * n + column0 + j] = v;
            }"""
_UNROLL = "#pragma unroll\n"

# 4 x 8 elements for each thread.
_BY_THREADS = rf"""
    __shared__ __align__(16) $C as[$DEPTH][64 + 4];
    __shared__ __align__(16) $C bs[$DEPTH][128 + 4];
    const int tx = id & 15, ty = id >> 4;
    $C sum[4][8];
{_UNROLL}    for (int i = 0; i < 4; i++)
{_UNROLL}        for (int j = 0; j < 8; j++) sum[i][j] = 0;
    {_STEP.strip()}
{_UNROLL}        for (int q = 0; q < $DEPTH; q++) {{
            $C x[4], z[8];
{_UNROLL}            for (int i = 0; i < 4; i++) {{
                x[i] = as[q][ty * 4 + i];
                z[i] = bs[q][tx * 4 + i], z[i + 4] = bs[q][tx * 4 + i + 64];
            }}
{_UNROLL}            for (int i = 0; i < 4; i++)
{_UNROLL}                for (int j = 0; j < 8; j++) sum[i][j] += x[i] * z[j];
        }}
    }}
{_UNROLL}    for (int i = 0; i < 4; i++)
{_UNROLL}        for (int e = 0; e < 8; e++) {{
            const tg_int row = row0 + ty * 4 + i;
            const int j = tx * 4 + (e & 3) + (e & 4) * 16;
            const $C v = sum[i][e];{_DONE}
        }}"""

# A warp has 32 x 32 elements: two by four tiles of 16 x 8.
_BY_CORES = rf"""
    __shared__ __align__(16) uint16_t as[64][$DEPTH + 8];
    __shared__ __align__(16) uint16_t bs[128][$DEPTH + 8];
    const int lane = id & 31, wm = (id >> 5 & 1) * 32, wn = (id >> 6) * 32, l4 = lane >> 2, l2 = (lane & 3) * 2;
    float sum[2][4][4];
{_UNROLL}    for (int i = 0; i < 2; i++)
{_UNROLL}        for (int j = 0; j < 4; j++)
{_UNROLL}            for (int e = 0; e < 4; e++) sum[i][j][e] = 0;
    {_STEP.strip()}
{_UNROLL}        for (int q = 0; q < $DEPTH; q += 16) {{
            uint32_t x[2][4], z[4][2];
{_UNROLL}            for (int i = 0; i < 2; i++)
{_UNROLL}                for (int e = 0; e < 4; e++)
                    x[i][e] = *(const uint32_t *)&as[wm + i * 16 + l4 + (e & 1) * 8][q + l2 + (e & 2) * 4];
{_UNROLL}            for (int j = 0; j < 4; j++)
{_UNROLL}                for (int e = 0; e < 2; e++) z[j][e] = *(const uint32_t *)&bs[wn + j * 8 + l4][q + l2 + e * 8];
{_UNROLL}            for (int i = 0; i < 2; i++)
{_UNROLL}                for (int j = 0; j < 4; j++) $MMA(sum[i][j], x[i], z[j]);
        }}
    }}
{_UNROLL}    for (int i = 0; i < 2; i++)
{_UNROLL}        for (int f = 0; f < 4; f++)
{_UNROLL}            for (int e = 0; e < 4; e++) {{
            const tg_int row = row0 + wm + i * 16 + l4 + (e >> 1) * 8;
            const int j = wn + f * 8 + l2 + (e & 1);
            const float v = sum[i][f][e];{_DONE}
        }}"""

_THREADS = {
    "$SHARED": "$C",
    "$PUT_A": "as[r][i]",
    "$PUT_B": "bs[r][j]",
    "$READ": "$PLAIN",
    "$DEPTH": str(DEPTH),
    "$BITS": "4",
}
_CORES = {
    "$SHARED": "uint16_t",
    "$PUT_A": "as[i][r]",
    "$PUT_B": "bs[j][r]",
    "$READ": "$BITWISE",
    "$DEPTH": "32",
    "$BITS": "5",
}

# Few rows or columns: one thread for each element, or part of the sum of one.
THIN = rf"""{_HEAD.replace("$KIND", "_thin")}
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < along; t += gridDim.x * (tg_int)blockDim.x) {{
        const tg_int v = t % n, row = t / n % m, part = t / n / m % parts, group = t / n / m / parts;
        {_DIGITS.format(p="d", v="v", x="n")}
        const tg_int q0 = d0 * at_0 + from_0, q1 = d1 * at_1 + from_1, q2 = d2 * at_2 + from_2;
        const $T *x = a + group * a_group + row * a_m;
        const $T *z = b + group * b_group + d * b_n + q0 * b_0 + q1 * b_1 + q2 * b_2;
        const tg_int first = part * each, last = first + each < k ? first + each : k;
        $C sum = 0;
        for (tg_int w = first; w < last; w++) {{
            {_DIGITS.format(p="c", v="w", x="k").replace("        const", "            const")}
            const tg_int p0 = c0 * by_0, p1 = c1 * by_1, p2 = c2 * by_2;
            const bool lies0 = q0 + p0 >= 0 && q0 + p0 < l_0, lies1 = q1 + p1 >= 0 && q1 + p1 < l_1;
            if (lies0 && lies1 && q2 + p2 >= 0 && q2 + p2 < l_2)
                sum += ($C)$PLAIN(x[c * a_k + c0 * a_0 + c1 * a_1 + c2 * a_2]) *
                           ($C)$PLAIN(z[c * b_k + p0 * b_0 + p1 * b_1 + p2 * b_2]);
        }}
        if (parts == 1) y[group * y_group + row * y_m + d * y_n + d0 * y_0 + d1 * y_1 + d2 * y_2] = $WRITE(sum);
        else room[(((int64_t)group * parts + part) * m + row) * n + v] = sum;
    }}
}}"""

# The parts of sums, added up in their order.
SUM = rf"""{_HEAD.replace("$KIND", "_sum")}
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < along; t += gridDim.x * (tg_int)blockDim.x) {{
        const tg_int v = t % n, row = t / n % m, group = t / n / m;
        {_DIGITS.format(p="d", v="v", x="n")}
        $C sum = 0;
        for (tg_int part = 0; part < parts; part++) sum += room[(((int64_t)group * parts + part) * m + row) * n + v];
        y[group * y_group + row * y_m + d * y_n + d0 * y_0 + d1 * y_1 + d2 * y_2] = $WRITE(sum);
    }}
}}"""


def tiled(with_cores: bool) -> str:
    """The kernel for tiles of 64 x 128; where the device has them, tensor cores multiply numbers of 16 bits."""
    plain = filled(_TABLES + _BY_THREADS, _THREADS)
    if with_cores:
        plain = f"\n#ifdef TG_TENSOR_CORES{filled(_TABLES + _BY_CORES, _CORES)}\n#else{plain}\n#endif"
    return f"{_HEAD.replace('$KIND', '')}{plain}\n}}"

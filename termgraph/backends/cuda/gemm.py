"""Matrix products without a library: a tiled kernel for matrices of any strides, and one for a matrix and a vector.

Used where cuBLAS is not installed, and for every product whose strides cuBLAS cannot express. May import lower.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.lower.tree import Call

TILE = 64
THREADS = (16, 16)
CTYPE = {"float32": "float", "float64": "double"}
LETTER = {"float32": "s", "float64": "d"}


def kernels(calls: Sequence[Call]) -> list[str]:
    """The kernels that some products need."""
    wanted = dict.fromkeys((c.name, str(c.options["dtype"])) for c in calls)
    return [TEXTS[name].replace("$T", CTYPE[d]).replace("$L", LETTER[d]) for name, d in wanted]


def kernel_name(call: Call) -> str:
    """The kernel for a product."""
    return f"tg_{call.name}_{LETTER[str(call.options['dtype'])]}"


# 64 x 64 elements per block, 4 x 4 per thread; the next slice of A and B is in shared memory.
TEXTS = {
    "gemm": r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_gemm_$L(
    tg_int m, tg_int n, tg_int k, const $T *__restrict__ a, int64_t a_row, int64_t a_column, int64_t a_batch,
    const $T *__restrict__ b, int64_t b_row, int64_t b_column, int64_t b_batch, $T *__restrict__ c, int64_t c_batch,
    $T alpha, const $T *__restrict__ alpha_at, $T beta)
{
    __shared__ $T as[16][64 + 1];
    __shared__ $T bs[16][64 + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, id = ty * 16 + tx;
    const tg_int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    a += blockIdx.z * a_batch, b += blockIdx.z * b_batch, c += blockIdx.z * c_batch;
    if (alpha_at) alpha *= *alpha_at;
    $T sum[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = 0;
    for (tg_int k0 = 0; k0 < k; k0 += 16) {
        for (int e = id; e < 16 * 64; e += 256) {
            /* neighbouring threads read along the unit stride */
            int i = a_column == 1 ? e >> 4 : e & 63, q = a_column == 1 ? e & 15 : e >> 6;
            as[q][i] = row0 + i < m && k0 + q < k ? a[(row0 + i) * a_row + (k0 + q) * a_column] : ($T)0;
            int j = b_column == 1 ? e & 63 : e >> 4, r = b_column == 1 ? e >> 6 : e & 15;
            bs[r][j] = k0 + r < k && column0 + j < n ? b[(k0 + r) * b_row + (column0 + j) * b_column] : ($T)0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 16; q++) {
            $T x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; i++) x[i] = as[q][ty + 16 * i], y[i] = bs[q][tx + 16 * i];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const tg_int row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
            if (row < m && column < n) {
                $T *at = c + (int64_t)row * n + column;
                *at = beta == 0 ? alpha * sum[i][j] : alpha * sum[i][j] + beta * *at;
            }
        }
}""",
    # One warp per row where rows are contiguous, else one thread per row: neighbours then read neighbouring elements.
    "gemv": r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_gemv_$L(
    tg_int m, tg_int k, const $T *__restrict__ a, int64_t a_row, int64_t a_column, int64_t a_batch,
    const $T *__restrict__ x, int64_t x_step, int64_t x_batch, $T *__restrict__ y, int64_t y_batch,
    $T alpha, const $T *__restrict__ alpha_at, $T beta, int team)
{
    a += blockIdx.z * a_batch, x += blockIdx.z * x_batch, y += blockIdx.z * y_batch;
    if (alpha_at) alpha *= *alpha_at;
    const int lane = threadIdx.x % team;
    for (tg_int row = (blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team; row < m;
         row += gridDim.x * (tg_int)blockDim.x / team) {
        $T sum = 0;
        for (tg_int q = lane; q < k; q += team) sum += a[row * a_row + q * a_column] * x[q * x_step];
        sum = tg_fold(sum, tg_sum(), team, (char *)0);
        if (lane == 0) y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
    }
}""",
}

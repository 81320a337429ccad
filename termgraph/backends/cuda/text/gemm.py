"""Matrix products without a library: a tiled kernel for matrices of any strides, and one for a matrix and a vector.

Used where cuBLAS is not installed, and for every product whose strides cuBLAS cannot express.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph._records import NamedTuple
from termgraph.backends.c.text.dialect import filled
from termgraph.backends.cuda.text.complexes import CTYPES
from termgraph.lower.loops.tree import Call

TILE = 64
THREADS = (16, 16)


class Number(NamedTuple):
    """How the elements of a dtype are named, kept and added up; `scale` is the type of the product's factors."""

    letter: str
    stored: str
    computed: str
    scale: str
    read: str = ""
    written: str = ""
    depth: int = 4  # the binary logarithm of how many columns of the left matrix are in shared memory


NUMBERS = {
    "float16": Number("h", "uint16_t", "float", "float", "tg_from_half", "tg_to_half"),
    "bfloat16": Number("b", "uint16_t", "float", "float", "tg_from_bfloat", "tg_to_bfloat"),
    "float32": Number("s", "float", "float", "float"),
    "float64": Number("d", "double", "double", "double"),
    "complex64": Number("c", CTYPES["complex64"], CTYPES["complex64"], "float"),
    "complex128": Number("z", CTYPES["complex128"], CTYPES["complex128"], "double", depth=3),
}


# what operands of float32 are rounded to where the flag cuda.products asks for it
ROUNDED = {"float32": "", "tf32": "tg_round_tf32", "bfloat16": "tg_round_bfloat", "float16": "tg_round_half"}


def kernels(calls: Sequence[Call], precision: str = "float32") -> list[str]:
    """The kernels that some products need; `precision` is the value of the flag cuda.products."""
    wanted = dict.fromkeys((c.name, str(c.options["dtype"])) for c in calls)
    wanted |= dict.fromkeys(("finish", str(c.options["dtype"])) for c in calls if "epilogue" in c.options)
    return [_text(name, NUMBERS[dtype], ROUNDED[precision] if dtype == "float32" else "") for name, dtype in wanted]


def _text(name: str, n: Number, rounded: str) -> str:
    marks = {
        "$M": rounded or n.read,
        "$R": n.read,
        "$W": n.written,
        "$S": n.scale,
        "$C": n.computed,
        "$T": n.stored,
        "$L": n.letter,
    }
    marks = {"$FINISHED": "v" if n.computed in CTYPES.values() else "tg_finished(v, act)", **marks}
    marks |= {"$D": str(2**n.depth), "$B": str(n.depth)}
    return filled(TEXTS[name], marks)


ACTS = {"": 0, "relu": 1, "gelu": 2}


def kernel_name(call: Call) -> str:
    """The kernel for a product."""
    return f"tg_{call.name}_{NUMBERS[str(call.options['dtype'])].letter}"


# 64 x 64 elements per block, 4 x 4 per thread; the next slice of A and B is in shared memory.
TEXTS = {
    "gemm": r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_gemm_$L(
    tg_int m, tg_int n, tg_int k, const $T *__restrict__ a, int64_t a_row, int64_t a_column, int64_t a_batch,
    const $T *__restrict__ b, int64_t b_row, int64_t b_column, int64_t b_batch, $T *__restrict__ c, int64_t c_batch,
    $S alpha, const $S *__restrict__ alpha_at, $S beta, const bool *needed, const $T *__restrict__ bias, int act)
{
    if (needed && !*needed) return;
    __shared__ $C as[$D][64 + 1];
    __shared__ $C bs[$D][64 + 1];
    const int tx = threadIdx.x, ty = threadIdx.y, id = ty * 16 + tx;
    const tg_int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64;
    a += blockIdx.z * a_batch, b += blockIdx.z * b_batch, c += blockIdx.z * c_batch;
    if (alpha_at) alpha *= *alpha_at;
    $C sum[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = $C();
    for (tg_int k0 = 0; k0 < k; k0 += $D) {
        for (int e = id; e < $D * 64; e += 256) {
            /* neighbouring threads read along the unit stride */
            int i = a_column == 1 ? e >> $B : e & 63, q = a_column == 1 ? e & $D - 1 : e >> 6;
            as[q][i] = row0 + i < m && k0 + q < k ? $M(a[(row0 + i) * a_row + (k0 + q) * a_column]) : $C();
            int j = b_column == 1 ? e & 63 : e >> $B, r = b_column == 1 ? e >> 6 : e & $D - 1;
            bs[r][j] = k0 + r < k && column0 + j < n ? $M(b[(k0 + r) * b_row + (column0 + j) * b_column]) : $C();
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < $D; q++) {
            $C x[4], y[4];
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
                $C v = alpha * sum[i][j];
                if (beta != 0) v += beta * $R(*at);
                if (bias) v += $R(bias[column]);
                *at = $W($FINISHED);
            }
        }
}""",
    # What a library has left to do: it multiplies, this adds the bias.
    "finish": r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_finish_$L(
    tg_int count, tg_int n, $T *__restrict__ c, const $T *__restrict__ bias, int act)
{
    for (tg_int t = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < count; t += gridDim.x * (tg_int)blockDim.x) {
        $C v = $R(c[t]);
        if (bias) v += $R(bias[t % n]);
        c[t] = $W($FINISHED);
    }
}""",
    # One warp per row where rows are contiguous, else one thread per row: neighbours then read neighbouring elements.
    "gemv": r"""
extern "C" __global__ void __launch_bounds__(256, 1) tg_gemv_$L(
    tg_int m, tg_int k, const $T *__restrict__ a, int64_t a_row, int64_t a_column, int64_t a_batch,
    const $T *__restrict__ x, int64_t x_step, int64_t x_batch, $T *__restrict__ y, int64_t y_batch,
    $S alpha, const $S *__restrict__ alpha_at, $S beta, const bool *needed, int team)
{
    if (needed && !*needed) return;
    a += blockIdx.z * a_batch, x += blockIdx.z * x_batch, y += blockIdx.z * y_batch;
    if (alpha_at) alpha *= *alpha_at;
    const int lane = threadIdx.x % team;
    for (tg_int row = (blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team; row < m;
         row += gridDim.x * (tg_int)blockDim.x / team) {
        $C sum = $C();
        for (tg_int q = lane; q < k; q += team) sum += $R(a[row * a_row + q * a_column]) * $R(x[q * x_step]);
        sum = tg_fold(sum, tg_sum(), team, (char *)0);
        if (lane == 0) y[row] = $W(beta == 0 ? alpha * sum : alpha * sum + beta * $R(y[row]));
    }
}""",
}

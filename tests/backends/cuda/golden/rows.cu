extern "C" __global__ void __launch_bounds__(256, 1) kernel0(const float *__restrict__ in0, float *__restrict__ out0, tg_int n0_0, tg_int n0_1, int team)
{
    __shared__ __align__(16) char tg_room[512];
    const int lane = threadIdx.x % team;
    for (tg_int t = (blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team; t < n0_0; t += gridDim.x * (tg_int)blockDim.x / team) {
        const tg_int i0 = t;
        float a0 = (-TG_INFF);
        for (tg_int i1 = lane; i1 < n0_1; i1 += team) {
            const float v0 = in0[i0*n0_1 + i1];
            a0 = v0 > a0 || v0 != v0 ? v0 : a0;
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        const bool v1 = tg_isfinite_f32(a0);
        const float v2 = (v1 ? a0 : 0.0f);
        float a1 = 0.0f;
        for (tg_int i1 = lane; i1 < n0_1; i1 += team) {
            const float v3 = expf((in0[i0*n0_1 + i1] - v2));
            a1 += v3;
            out0[i0*n0_1 + i1] = v3;
        }
        a1 = tg_fold(a1, tg_sum(), team, tg_room);
        const float v4 = (1 / (v1 ? a1 : TG_NANF));
        for (tg_int i1 = lane; i1 < n0_1; i1 += team) {
            const float v5 = out0[i0*n0_1 + i1];
            out0[i0*n0_1 + i1] = (v5 * v4);
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1) kernel0_held(const float *__restrict__ in0, float *__restrict__ out0, tg_int n0_0, tg_int n0_1, int team)
{
    __shared__ __align__(16) char tg_room[512];
    const int lane = threadIdx.x % team;
    for (tg_int t = (blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team; t < n0_0; t += gridDim.x * (tg_int)blockDim.x / team) {
        const tg_int i0 = t;
        float row_0[8];
        float row_1[8];
        #pragma unroll
        for (int q = 0; q < 8; q++) {
            const tg_int i1 = lane + q * team < n0_1 ? lane + q * team : n0_1 - 1;
            row_0[q] = in0[i0*n0_1 + i1];
        }
        float a0 = (-TG_INFF);
        #pragma unroll
        for (int q = 0; q < 8; q++) {
            const tg_int i1 = lane + q * team;
            if (i1 < n0_1) {
                a0 = row_0[q] > a0 || row_0[q] != row_0[q] ? row_0[q] : a0;
            }
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        const bool v0 = tg_isfinite_f32(a0);
        const float v1 = (v0 ? a0 : 0.0f);
        float a1 = 0.0f;
        #pragma unroll
        for (int q = 0; q < 8; q++) {
            const tg_int i1 = lane + q * team;
            if (i1 < n0_1) {
                row_1[q] = expf((row_0[q] - v1));
                a1 += row_1[q];
            }
        }
        a1 = tg_fold(a1, tg_sum(), team, tg_room);
        const float v2 = (1 / (v0 ? a1 : TG_NANF));
        #pragma unroll
        for (int q = 0; q < 8; q++) {
            const tg_int i1 = lane + q * team;
            if (i1 < n0_1) {
                out0[i0*n0_1 + i1] = (row_1[q] * v2);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) kernel0_by_warps(const float *__restrict__ in0, float *__restrict__ out0, tg_int n0_0, tg_int n0_1)
{
    __shared__ __align__(16) char tg_room[512];
    constexpr int team = 32;
    const int lane = threadIdx.x & 31;
    for (tg_int t = (blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team; t < n0_0; t += gridDim.x * (tg_int)blockDim.x / team) {
        const tg_int i0 = t;
        const tg_int left = n0_1 - lane;
        float row_0[32];
        float row_1[32];
        #pragma unroll
        for (int q = 0; q < 32; q++) {
            const tg_int i1 = lane + q * team < n0_1 ? lane + q * team : n0_1 - 1;
            row_0[q] = in0[i0*n0_1 + i1];
        }
        float a0 = (-TG_INFF);
        #pragma unroll
        for (int q = 0; q < 32; q++) {
            const tg_int i1 = lane + q * team;
            if (q * team < left) {
                a0 = row_0[q] > a0 || row_0[q] != row_0[q] ? row_0[q] : a0;
            }
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        const bool v0 = tg_isfinite_f32(a0);
        const float v1 = (v0 ? a0 : 0.0f);
        float a1 = 0.0f;
        #pragma unroll
        for (int q = 0; q < 32; q++) {
            const tg_int i1 = lane + q * team;
            if (q * team < left) {
                row_1[q] = expf((row_0[q] - v1));
                a1 += row_1[q];
            }
        }
        a1 = tg_fold(a1, tg_sum(), team, tg_room);
        const float v2 = (1 / (v0 ? a1 : TG_NANF));
        #pragma unroll
        for (int q = 0; q < 32; q++) {
            const tg_int i1 = lane + q * team;
            if (q * team < left) {
                out0[i0*n0_1 + i1] = (row_1[q] * v2);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) kernel0_part0(const float *__restrict__ in0, tg_int n0_0, tg_int n0_1, char *tg_partials, int parts)
{
    __shared__ __align__(16) char tg_room[512];
    const int team = blockDim.x, lane = threadIdx.x;
    for (tg_int column = blockIdx.x; column < n0_0; column += gridDim.x) {
        const tg_int i0 = column;
        float a0 = (-TG_INFF);
        const tg_int each = ((n0_1) + (int)gridDim.y - 1) / (int)gridDim.y, from = blockIdx.y * each;
        const tg_int to = from + each < n0_1 ? from + each : n0_1;
        tg_int at = from + lane;
        for (; at < to - 7 * team; at += 8 * team) {
            #pragma unroll
            for (int u = 0; u < 8; u++) {
                const tg_int i1 = at + u * team;
                const float v0 = in0[i0*n0_1 + i1];
                a0 = v0 > a0 || v0 != v0 ? v0 : a0;
            }
        }
        for (; at < to; at += team) {
            const tg_int i1 = at;
            const float v1 = in0[i0*n0_1 + i1];
            a0 = v1 > a0 || v1 != v1 ? v1 : a0;
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        if (lane == 0) ((float *)(tg_partials + (int64_t)0 * gridDim.y * (n0_0)))[blockIdx.y * (tg_int)(n0_0) + column] = a0;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) kernel0_part1(const float *__restrict__ in0, float *__restrict__ out0, tg_int n0_0, tg_int n0_1, char *tg_partials, int parts)
{
    __shared__ __align__(16) char tg_room[512];
    const int team = blockDim.x, lane = threadIdx.x;
    for (tg_int column = blockIdx.x; column < n0_0; column += gridDim.x) {
        const tg_int i0 = column;
        float a0 = (-TG_INFF);
        for (int part = lane; part < parts; part += team) {
            a0 = ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] > a0 || ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] != ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] ? ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] : a0;
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        const float v0 = (tg_isfinite_f32(a0) ? a0 : 0.0f);
        float a1 = 0.0f;
        const tg_int each = ((n0_1) + (int)gridDim.y - 1) / (int)gridDim.y, from = blockIdx.y * each;
        const tg_int to = from + each < n0_1 ? from + each : n0_1;
        tg_int at = from + lane;
        for (; at < to; at += team) {
            const tg_int i1 = at;
            const float v1 = expf((in0[i0*n0_1 + i1] - v0));
            a1 += v1;
            out0[i0*n0_1 + i1] = v1;
        }
        a1 = tg_fold(a1, tg_sum(), team, tg_room);
        if (lane == 0) ((float *)(tg_partials + (int64_t)16 * gridDim.y * (n0_0)))[blockIdx.y * (tg_int)(n0_0) + column] = a1;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) kernel0_part2(float *__restrict__ out0, tg_int n0_0, tg_int n0_1, char *tg_partials, int parts)
{
    __shared__ __align__(16) char tg_room[512];
    const int team = blockDim.x, lane = threadIdx.x;
    for (tg_int column = blockIdx.x; column < n0_0; column += gridDim.x) {
        const tg_int i0 = column;
        float a0 = (-TG_INFF);
        for (int part = lane; part < parts; part += team) {
            a0 = ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] > a0 || ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] != ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] ? ((const float *)(tg_partials + (int64_t)0 * parts * (n0_0)))[part * (tg_int)(n0_0) + column] : a0;
        }
        a0 = tg_fold(a0, tg_max(), team, tg_room);
        const bool v0 = tg_isfinite_f32(a0);
        const float v1 = (v0 ? a0 : 0.0f);
        float a1 = 0.0f;
        for (int part = lane; part < parts; part += team) {
            a1 += ((const float *)(tg_partials + (int64_t)16 * parts * (n0_0)))[part * (tg_int)(n0_0) + column];
        }
        a1 = tg_fold(a1, tg_sum(), team, tg_room);
        const float v2 = (1 / (v0 ? a1 : TG_NANF));
        const tg_int each = ((n0_1) + (int)gridDim.y - 1) / (int)gridDim.y, from = blockIdx.y * each;
        const tg_int to = from + each < n0_1 ? from + each : n0_1;
        tg_int at = from + lane;
        for (; at < to; at += team) {
            const tg_int i1 = at;
            const float v3 = out0[i0*n0_1 + i1];
            out0[i0*n0_1 + i1] = (v3 * v2);
        }
    }
}

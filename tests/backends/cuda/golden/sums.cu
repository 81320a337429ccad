extern "C" __global__ void __launch_bounds__(256, 1) kernel0(const float *__restrict__ in0, float *__restrict__ out0, tg_int n0_0, tg_int n0_1, char *__restrict__ tg_scalars, char *tg_partials)
{
    __shared__ __align__(16) char tg_room[512];
    char *part0 = tg_partials + 0;
    char *part1 = tg_partials + 16384;
    float a0 = 0.0f;
    const tg_int step = gridDim.x * (tg_int)blockDim.x;
    tg_int at = blockIdx.x * (tg_int)blockDim.x + threadIdx.x;
    for (; at < n0_0*n0_1 - 7 * step; at += 8 * step) {
        #pragma unroll
        for (int u = 0; u < 8; u++) {
            const tg_int i0 = at + u * step;
            a0 += in0[i0];
        }
    }
    for (; at < n0_0*n0_1; at += step) {
        const tg_int i0 = at;
        a0 += in0[i0];
    }
    a0 = tg_fold(a0, tg_sum(), (int)blockDim.x, tg_room);
    if (threadIdx.x == 0 && gridDim.x == 1) {
        *(float *)(tg_scalars + 0) = a0;
        out0[0] = a0;
    }
    else if (threadIdx.x == 0) {
        ((float *)part0)[blockIdx.x] = a0;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) kernel1(float *__restrict__ out0, char *__restrict__ tg_scalars, char *tg_partials, int parts)
{
    __shared__ __align__(16) char tg_room[512];
    char *part0 = tg_partials + 0;
    char *part1 = tg_partials + 16384;
    const int team = blockDim.x, lane = threadIdx.x;
    float a0 = 0.0f;
    for (int part = lane; part < parts; part += team) {
        a0 += ((float *)part0)[part];
    }
    a0 = tg_fold(a0, tg_sum(), team, tg_room);
    if (lane == 0) {
        *(float *)(tg_scalars + 0) = a0;
        out0[0] = a0;
    }
}

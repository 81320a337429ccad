extern "C" __global__ void __launch_bounds__(256, 1) kernel0(const float *__restrict__ in0, const float *__restrict__ in1, float *__restrict__ out0, tg_int n0_0, tg_int n0_1, int vector)
{
    const tg_int whole = vector ? (n0_0*n0_1) / 4 : 0;
    for (tg_int w = blockIdx.x * (tg_int)blockDim.x + threadIdx.x; w < whole; w += gridDim.x * (tg_int)blockDim.x) {
        const tg_int i1_0 = (w * 4) % (n0_1);
        const tg_int i0 = (w * 4) / (n0_1);
        const tg_vec<float, 4> x0 = *(const tg_vec<float, 4> *)(in0 + i0*n0_1 + i1_0);
        const tg_vec<float, 4> x1 = *(const tg_vec<float, 4> *)(in1 + i1_0);
        tg_vec<float, 4> y0;
        #pragma unroll
        for (int u = 0; u < 4; u++) {
            const tg_int i1 = i1_0 + u;
            const float v0 = x0.v[u];
            y0.v[u] = (tanhf((v0 + x1.v[u])) * v0);
        }
        *(tg_vec<float, 4> *)(out0 + i0*n0_1 + i1_0) = y0;
    }
    for (tg_int t = whole * 4 + blockIdx.x * (tg_int)blockDim.x + threadIdx.x; t < n0_0*n0_1; t += gridDim.x * (tg_int)blockDim.x) {
        const tg_int i1 = t % (n0_1);
        const tg_int i0 = t / (n0_1);
        const float v1 = in0[i0*n0_1 + i1];
        out0[i0*n0_1 + i1] = (tanhf((v1 + in1[i1])) * v1);
    }
}

static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in0 = (double *)c->buf[0];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n0_0 = c->env[0];
    const int64_t n0_1 = c->env[1];
    for (int64_t b0 = begin; b0 < end; b0 += 1024) {
        const int64_t w0 = end - b0 < 1024 ? end - b0 : 1024;
        double a0_lane[1024] __attribute__((aligned(64)));
        for (int64_t u = 0; u < w0; u++) a0_lane[u] = 0.0;
        int64_t r0 = 0;
        for (; r0 + 8 <= n0_0; r0 += 8) {
            #pragma GCC ivdep
            for (int64_t u = 0; u < w0; u++) {
                const int64_t i0 = b0 + u;
                {
                    const int64_t i1 = r0 + 0;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 1;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 2;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 3;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 4;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 5;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 6;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
                {
                    const int64_t i1 = r0 + 7;
                    a0_lane[u] += in0[i0 + i1*n0_1];
                }
            }
        }
        for (; r0 < n0_0; r0++) {
            const int64_t i1 = r0;
            #pragma GCC ivdep
            for (int64_t u = 0; u < w0; u++) {
                const int64_t i0 = b0 + u;
                a0_lane[u] += in0[i0 + i1*n0_1];
            }
        }
        #pragma GCC ivdep
        for (int64_t u = 0; u < w0; u++) {
            const int64_t i0 = b0 + u;
            out0[i0] = a0_lane[u];
        }
    }
}

static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    const double *restrict in0 = (const double *)c->buf[0];
    const double *restrict in1 = (const double *)c->buf[1];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        tg_vector_f64 a0_vector[256 / tg_vector_bytes];
        #pragma GCC unroll 16
        for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
            a0_vector[v] = (tg_vector_f64){0} + 0.0;
        }
        int64_t b0 = 0;
        for (; b0 + 32 <= n0_1; b0 += 32) {
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                const int64_t i1 = b0 + v * (tg_vector_bytes / 8);
                const tg_vector_f64 x0 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                const tg_vector_f64 x1 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                const tg_vector_f64 x2 = x0 * x1;
                a0_vector[v] += x2;
            }
        }
        #pragma GCC unroll 16
        for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
            const int64_t i1 = b0 + v * (tg_vector_bytes / 8);
            if (i1 + tg_vector_bytes / 8 <= n0_1) {
                const tg_vector_f64 x3 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                const tg_vector_f64 x4 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                const tg_vector_f64 x5 = x3 * x4;
                a0_vector[v] += x5;
            }
        }
        if ((n0_1 - b0) % (tg_vector_bytes / 8)) {
            double a0_lane[256 / sizeof(double)];
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                *(tg_vector_f64 *)(a0_lane + v * (tg_vector_bytes / 8)) = a0_vector[v];
            }
            for (int64_t u = (n0_1 - b0) / (tg_vector_bytes / 8) * (tg_vector_bytes / 8); u < n0_1 - b0; u++) {
                const int64_t i1 = b0 + u;
                a0_lane[u] += (in0[i0*n0_1 + i1] * in1[i0*n0_1 + i1]);
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                a0_vector[v] = *(tg_vector_f64 *)(a0_lane + v * (tg_vector_bytes / 8));
            }
        }
        const double a0 = tg_fold_sum_f64(a0_vector, 256 / tg_vector_bytes);
        out0[i0] = a0;
    }
}

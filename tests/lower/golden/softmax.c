static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in0 = (double *)c->buf[0];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        double a0;
        if (n0_1 <= 8) {
            tg_vector_f64 a0_vector[64 / tg_vector_bytes];
            tg_mask_f64 a0_nan[2] = {{0}};
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f64){0} + (-__builtin_inf());
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                const int64_t i1 = v * (tg_vector_bytes / 8);
                const tg_mask_f64 m0 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x0 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m0);
                const tg_vector_f64 x1 = tg_vector_kept_f64(x0, m0, (-__builtin_inf()));
                a0_vector[v] = tg_vector_max_f64(x1, a0_vector[v]);
                a0_nan[v & 1] |= (tg_mask_f64)(x1 != x1);
            }
            a0 = tg_fold_max_f64(a0_vector, 64 / tg_vector_bytes, a0_nan[0] | a0_nan[1]);
        }
        else {
            tg_vector_f64 a0_vector[256 / tg_vector_bytes];
            tg_mask_f64 a0_nan[2] = {{0}};
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f64){0} + (-__builtin_inf());
            }
            int64_t b0 = 0;
            for (; b0 + 32 <= n0_1; b0 += 32) {
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    const int64_t i1 = b0 + v * (tg_vector_bytes / 8);
                    const tg_vector_f64 x2 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    a0_vector[v] = tg_vector_max_f64(x2, a0_vector[v]);
                    a0_nan[v & 1] |= (tg_mask_f64)(x2 != x2);
                }
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                const int64_t i1 = b0 + v * (tg_vector_bytes / 8);
                if (i1 + tg_vector_bytes / 8 <= n0_1) {
                    const tg_vector_f64 x3 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    a0_vector[v] = tg_vector_max_f64(x3, a0_vector[v]);
                    a0_nan[v & 1] |= (tg_mask_f64)(x3 != x3);
                }
            }
            const int64_t w0 = (n0_1 - b0) / (tg_vector_bytes / 8);
            if ((n0_1 - b0) % (tg_vector_bytes / 8)) {
                const int64_t i1 = b0 + w0 * (tg_vector_bytes / 8);
                const tg_mask_f64 m1 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x4 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m1);
                const tg_vector_f64 x5 = tg_vector_kept_f64(x4, m1, (-__builtin_inf()));
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    if (v == w0) {
                        a0_vector[v] = tg_vector_max_f64(x5, a0_vector[v]);
                        a0_nan[v & 1] |= (tg_mask_f64)(x5 != x5);
                    }
                }
            }
            a0 = tg_fold_max_f64(a0_vector, 256 / tg_vector_bytes, a0_nan[0] | a0_nan[1]);
        }
        const _Bool v0 = tg_isfinite_f64(a0);
        const double v1 = (v0 ? a0 : 0.0);
        int64_t w1 = 16;
        while (w1 > 1 && w1 / 2 >= n0_1) w1 /= 2;
        double a1_lane[16] __attribute__((aligned(64)));
        for (int64_t u = 0; u < w1; u++) a1_lane[u] = 0.0;
        int64_t b1 = 0;
        for (; b1 + 16 <= n0_1; b1 += 16) {
            #pragma GCC ivdep
            for (int64_t u = 0; u < 16; u++) {
                const int64_t i1 = b1 + u;
                const double v2 = tg_exp_below_zero_f64((in0[i0*n0_1 + i1] - v1));
                a1_lane[u] += v2;
                out0[i0*n0_1 + i1] = v2;
            }
        }
        #pragma GCC ivdep
        for (int64_t u = 0; u < n0_1 - b1; u++) {
            const int64_t i1 = b1 + u;
            const double v3 = tg_exp_below_zero_f64((in0[i0*n0_1 + i1] - v1));
            a1_lane[u] += v3;
            out0[i0*n0_1 + i1] = v3;
        }
        for (int64_t h = w1 / 2; h; h >>= 1) for (int64_t u = 0; u < h; u++) a1_lane[u] += a1_lane[u + h];
        const double a1 = a1_lane[0];
        const double v4 = (1 / (v0 ? a1 : __builtin_nan("")));
        #pragma GCC ivdep
        for (int64_t i1 = 0; i1 < n0_1; i1++) {
            const double v5 = out0[i0*n0_1 + i1];
            out0[i0*n0_1 + i1] = (v5 * v4);
        }
    }
}

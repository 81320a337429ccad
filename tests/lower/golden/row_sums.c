static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in0 = (double *)c->buf[0];
    double *restrict in1 = (double *)c->buf[1];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        double a0;
        if (n0_1 <= 8) {
            tg_vector_f64 a0_vector[64 / tg_vector_bytes];
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f64){0} + 0.0;
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                const int64_t i1 = v * (tg_vector_bytes / 8);
                const tg_mask_f64 m0 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x0 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m0);
                const tg_vector_f64 x1 = tg_vector_part_f64(in1 + i0*n0_1 + i1, m0);
                const tg_vector_f64 x2 = x0 * x1;
                const tg_vector_f64 x3 = tg_vector_kept_f64(x2, m0, 0.0);
                a0_vector[v] += x3;
            }
            a0 = tg_fold_sum_f64(a0_vector, 64 / tg_vector_bytes);
        }
        else {
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
                    const tg_vector_f64 x4 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    const tg_vector_f64 x5 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                    const tg_vector_f64 x6 = x4 * x5;
                    a0_vector[v] += x6;
                }
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                const int64_t i1 = b0 + v * (tg_vector_bytes / 8);
                if (i1 + tg_vector_bytes / 8 <= n0_1) {
                    const tg_vector_f64 x7 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    const tg_vector_f64 x8 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                    const tg_vector_f64 x9 = x7 * x8;
                    a0_vector[v] += x9;
                }
            }
            const int64_t w0 = (n0_1 - b0) / (tg_vector_bytes / 8);
            if ((n0_1 - b0) % (tg_vector_bytes / 8)) {
                const int64_t i1 = b0 + w0 * (tg_vector_bytes / 8);
                const tg_mask_f64 m1 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x10 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m1);
                const tg_vector_f64 x11 = tg_vector_part_f64(in1 + i0*n0_1 + i1, m1);
                const tg_vector_f64 x12 = x10 * x11;
                const tg_vector_f64 x13 = tg_vector_kept_f64(x12, m1, 0.0);
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    if (v == w0) {
                        a0_vector[v] += x13;
                    }
                }
            }
            a0 = tg_fold_sum_f64(a0_vector, 256 / tg_vector_bytes);
        }
        out0[i0] = a0;
    }
}

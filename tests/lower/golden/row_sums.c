static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in0 = (double *)c->buf[0];
    double *restrict in1 = (double *)c->buf[1];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    int64_t b0 = begin;
    if (n0_1 == 8) for (; b0 + 4 <= end; b0 += 4) {
        if (!(b0 / 4 & 15) && TG_STOP(c->st)) break;
        tg_vector_f64 a0_rows[4 * (64 / tg_vector_bytes)];
        double a0_row[4];
        #pragma GCC unroll 8
        for (int64_t u = 0; u < 4; u++) {
            const int64_t i0 = b0 + u;
            tg_vector_f64 *const a0_vector = a0_rows + u * (64 / tg_vector_bytes);
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f64){0} + 0.0;
                const int64_t i1 = v * (tg_vector_bytes / 8);
                const tg_vector_f64 x0 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                const tg_vector_f64 x1 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                const tg_vector_f64 x2 = x0 * x1;
                a0_vector[v] += x2;
            }
        }
        tg_fold_rows_sum_f64(a0_rows, a0_row);
        for (int64_t u = 0; u < 4; u++) {
            const int64_t i0 = b0 + u;
            out0[i0] = a0_row[u];
        }
    }
    else if (n0_1 < 8) for (; b0 + 4 <= end; b0 += 4) {
        if (!(b0 / 4 & 15) && TG_STOP(c->st)) break;
        tg_vector_f64 a1_rows[4 * (64 / tg_vector_bytes)];
        double a1_row[4];
        #pragma GCC unroll 8
        for (int64_t u = 0; u < 4; u++) {
            const int64_t i0 = b0 + u;
            tg_vector_f64 *const a1_vector = a1_rows + u * (64 / tg_vector_bytes);
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                a1_vector[v] = (tg_vector_f64){0} + 0.0;
                const int64_t i1 = v * (tg_vector_bytes / 8);
                const tg_mask_f64 m0 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x3 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m0);
                const tg_vector_f64 x4 = tg_vector_part_f64(in1 + i0*n0_1 + i1, m0);
                const tg_vector_f64 x5 = x3 * x4;
                const tg_vector_f64 x6 = tg_vector_kept_f64(x5, m0, 0.0);
                a1_vector[v] += x6;
            }
        }
        tg_fold_rows_sum_f64(a1_rows, a1_row);
        for (int64_t u = 0; u < 4; u++) {
            const int64_t i0 = b0 + u;
            out0[i0] = a1_row[u];
        }
    }
    for (int64_t i0 = b0; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        double a2;
        if (n0_1 <= 8) {
            tg_vector_f64 a2_vector[64 / tg_vector_bytes];
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                a2_vector[v] = (tg_vector_f64){0} + 0.0;
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 64 / tg_vector_bytes; v++) {
                const int64_t i1 = v * (tg_vector_bytes / 8);
                const tg_mask_f64 m1 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x7 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m1);
                const tg_vector_f64 x8 = tg_vector_part_f64(in1 + i0*n0_1 + i1, m1);
                const tg_vector_f64 x9 = x7 * x8;
                const tg_vector_f64 x10 = tg_vector_kept_f64(x9, m1, 0.0);
                a2_vector[v] += x10;
            }
            a2 = tg_fold_sum_f64(a2_vector, 64 / tg_vector_bytes);
        }
        else {
            tg_vector_f64 a2_vector[256 / tg_vector_bytes];
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                a2_vector[v] = (tg_vector_f64){0} + 0.0;
            }
            int64_t b1 = 0;
            for (; b1 + 32 <= n0_1; b1 += 32) {
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    const int64_t i1 = b1 + v * (tg_vector_bytes / 8);
                    const tg_vector_f64 x11 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    const tg_vector_f64 x12 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                    const tg_vector_f64 x13 = x11 * x12;
                    a2_vector[v] += x13;
                }
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                const int64_t i1 = b1 + v * (tg_vector_bytes / 8);
                if (i1 + tg_vector_bytes / 8 <= n0_1) {
                    const tg_vector_f64 x14 = *(const tg_vector_f64 *)(in0 + i0*n0_1 + i1);
                    const tg_vector_f64 x15 = *(const tg_vector_f64 *)(in1 + i0*n0_1 + i1);
                    const tg_vector_f64 x16 = x14 * x15;
                    a2_vector[v] += x16;
                }
            }
            const int64_t w0 = (n0_1 - b1) / (tg_vector_bytes / 8);
            if ((n0_1 - b1) % (tg_vector_bytes / 8)) {
                const int64_t i1 = b1 + w0 * (tg_vector_bytes / 8);
                const tg_mask_f64 m2 = tg_below_f64(n0_1 - i1);
                const tg_vector_f64 x17 = tg_vector_part_f64(in0 + i0*n0_1 + i1, m2);
                const tg_vector_f64 x18 = tg_vector_part_f64(in1 + i0*n0_1 + i1, m2);
                const tg_vector_f64 x19 = x17 * x18;
                const tg_vector_f64 x20 = tg_vector_kept_f64(x19, m2, 0.0);
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    if (v == w0) {
                        a2_vector[v] += x20;
                    }
                }
            }
            a2 = tg_fold_sum_f64(a2_vector, 256 / tg_vector_bytes);
        }
        out0[i0] = a2;
    }
}

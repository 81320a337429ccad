static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    float *restrict in0 = (float *)c->buf[0];
    float *restrict out0 = (float *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        float a0;
        if (n0_1 <= 8) {
            tg_vector_f32 a0_vector[32 / tg_vector_bytes];
            tg_mask_f32 a0_nan[2] = {{0}};
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 32 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f32){0} + (-__builtin_inff());
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 32 / tg_vector_bytes; v++) {
                const int64_t i1 = v * (tg_vector_bytes / 4);
                const tg_mask_f32 m0 = tg_below_f32(n0_1 - i1);
                const tg_vector_f32 x0 = tg_vector_part_f32(in0 + i0*n0_1 + i1, m0);
                const tg_vector_f32 x1 = tg_vector_kept_f32(x0, m0, (-__builtin_inff()));
                a0_vector[v] = tg_vector_max_f32(x1, a0_vector[v]);
                a0_nan[v & 1] |= (tg_mask_f32)(x1 != x1);
            }
            a0 = tg_fold_max_f32(a0_vector, 32 / tg_vector_bytes, a0_nan[0] | a0_nan[1]);
        }
        else {
            tg_vector_f32 a0_vector[256 / tg_vector_bytes];
            tg_mask_f32 a0_nan[2] = {{0}};
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                a0_vector[v] = (tg_vector_f32){0} + (-__builtin_inff());
            }
            int64_t b0 = 0;
            for (; b0 + 64 <= n0_1; b0 += 64) {
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    const int64_t i1 = b0 + v * (tg_vector_bytes / 4);
                    const tg_vector_f32 x2 = *(const tg_vector_f32 *)(in0 + i0*n0_1 + i1);
                    a0_vector[v] = tg_vector_max_f32(x2, a0_vector[v]);
                    a0_nan[v & 1] |= (tg_mask_f32)(x2 != x2);
                }
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                const int64_t i1 = b0 + v * (tg_vector_bytes / 4);
                if (i1 + tg_vector_bytes / 4 <= n0_1) {
                    const tg_vector_f32 x3 = *(const tg_vector_f32 *)(in0 + i0*n0_1 + i1);
                    a0_vector[v] = tg_vector_max_f32(x3, a0_vector[v]);
                    a0_nan[v & 1] |= (tg_mask_f32)(x3 != x3);
                }
            }
            const int64_t w0 = (n0_1 - b0) / (tg_vector_bytes / 4);
            if ((n0_1 - b0) % (tg_vector_bytes / 4)) {
                const int64_t i1 = b0 + w0 * (tg_vector_bytes / 4);
                const tg_mask_f32 m1 = tg_below_f32(n0_1 - i1);
                const tg_vector_f32 x4 = tg_vector_part_f32(in0 + i0*n0_1 + i1, m1);
                const tg_vector_f32 x5 = tg_vector_kept_f32(x4, m1, (-__builtin_inff()));
                #pragma GCC unroll 16
                for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                    if (v == w0) {
                        a0_vector[v] = tg_vector_max_f32(x5, a0_vector[v]);
                        a0_nan[v & 1] |= (tg_mask_f32)(x5 != x5);
                    }
                }
            }
            a0 = tg_fold_max_f32(a0_vector, 256 / tg_vector_bytes, a0_nan[0] | a0_nan[1]);
        }
        out0[i0] = a0;
    }
}

static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    const float *restrict in0 = (const float *)c->buf[0];
    float *restrict out0 = (float *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
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
                const tg_vector_f32 x0 = *(const tg_vector_f32 *)(in0 + i0*n0_1 + i1);
                a0_vector[v] = tg_vector_max_f32(x0, a0_vector[v]);
                a0_nan[v & 1] |= (tg_mask_f32)(x0 != x0);
            }
        }
        #pragma GCC unroll 16
        for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
            const int64_t i1 = b0 + v * (tg_vector_bytes / 4);
            if (i1 + tg_vector_bytes / 4 <= n0_1) {
                const tg_vector_f32 x1 = *(const tg_vector_f32 *)(in0 + i0*n0_1 + i1);
                a0_vector[v] = tg_vector_max_f32(x1, a0_vector[v]);
                a0_nan[v & 1] |= (tg_mask_f32)(x1 != x1);
            }
        }
        if ((n0_1 - b0) % (tg_vector_bytes / 4)) {
            float a0_lane[256 / sizeof(float)];
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                *(tg_vector_f32 *)(a0_lane + v * (tg_vector_bytes / 4)) = a0_vector[v];
            }
            for (int64_t u = (n0_1 - b0) / (tg_vector_bytes / 4) * (tg_vector_bytes / 4); u < n0_1 - b0; u++) {
                const int64_t i1 = b0 + u;
                const float v0 = in0[i0*n0_1 + i1];
                a0_lane[u] = v0 > a0_lane[u] || v0 != v0 ? v0 : a0_lane[u];
            }
            #pragma GCC unroll 16
            for (int64_t v = 0; v < 256 / tg_vector_bytes; v++) {
                a0_vector[v] = *(tg_vector_f32 *)(a0_lane + v * (tg_vector_bytes / 4));
            }
        }
        const float a0 = tg_fold_max_f32(a0_vector, 256 / tg_vector_bytes, a0_nan[0] | a0_nan[1]);
        out0[i0] = a0;
    }
}

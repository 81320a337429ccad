static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in2 = (double *)c->buf[2];
    double *restrict in3 = (double *)c->buf[3];
    double *restrict in4 = (double *)c->buf[4];
    double *out0 = (double *)c->buf[6];
    double *t2 = (double *)c->buf[6];
    const int64_t n2_1 = c->env[9];
    const int64_t n3_2 = c->env[16];
    const int64_t n2_2 = c->env[10];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (TG_STOP(c->st)) break;
        tg_gemm_small_d(c->st, TG_PLAIN, TG_PLAIN, n2_1, n3_2, n2_2, in2 + i0*n2_1*n2_2, n2_2, in3 + i0*n2_2*n3_2, n3_2, t2 + i0*n2_1*n3_2);
        for (int64_t i1 = 0; i1 < n2_1; i1++) {
            #pragma GCC ivdep
            for (int64_t i2 = 0; i2 < n3_2; i2++) {
                const double v0 = t2[i0*n2_1*n3_2 + i1*n3_2 + i2];
                out0[i0*n2_1*n3_2 + i1*n3_2 + i2] = tg_at_least_f64((v0 + in4[i2]), 0.0);
            }
        }
    }
}

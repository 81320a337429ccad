static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in4 = (double *)c->buf[4];
    double *restrict out0 = (double *)c->buf[6];
    const int64_t n4_0 = c->env[20];
    #pragma GCC ivdep
    for (int64_t i0 = begin; i0 < end; i0++) {
        const double v0 = in4[i0];
        out0[i0 + n4_0] = exp(v0);
        out0[i0] = v0;
    }
}

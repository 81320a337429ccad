static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    double *restrict in0 = (double *)c->buf[0];
    double *restrict in1 = (double *)c->buf[1];
    double *restrict out0 = (double *)c->buf[6];
    #pragma GCC ivdep
    for (int64_t i0 = begin; i0 < end; i0++) {
        out0[i0] = ((2.0 * in0[i0]) + (sin(in1[i0]) * 3.0));
    }
}

static void kernel0(void *context, int64_t begin, int64_t end, int64_t unused)
{
    tg_context *c = context;
    int32_t *restrict in0 = (int32_t *)c->buf[0];
    int64_t *restrict out0 = (int64_t *)c->buf[6];
    const int64_t n0_1 = c->env[1];
    for (int64_t i0 = begin; i0 < end; i0++) {
        if (!(i0 & 15) && TG_STOP(c->st)) break;
        int64_t a0 = 0l;
        for (int64_t i1 = 0; i1 < n0_1; i1++) {
            a0 += ((int64_t)in0[i0*n0_1 + i1]);
        }
        out0[i0] = a0;
    }
}

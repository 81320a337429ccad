"""C text that copies arguments into row-major order.

Arguments that lie in row-major order already, which is nearly all, cost one comparison per dimension. Pure text.
"""

from termgraph.backends.c.apart import section

COPY = """
/* Lengths and strides (in elements) of an argument are in env: does it lie in row-major order? */
static int tg_is_packed(const int64_t *env, int nd)
{
    int64_t step = 1;
    int packed = 1;
    for (int d = nd - 1; d >= 0; d--) {
        if (env[d] == 0) return 1;
        if (env[d] != 1 && env[nd + d] != step) packed = 0;
        step *= env[d];
    }
    return packed;
}
TG_APART __attribute__((noinline)) int64_t tg_packed_size(const int64_t *env, int nd, int64_t item)
{
    if (tg_is_packed(env, nd)) return 0;
    for (int d = 0; d < nd; d++) item *= env[d];
    return (item + 63) & ~63ll;
}
static void tg_pack(char *to, const char *from, const int64_t *env, int nd, int64_t item)
{
    int64_t at[64] = {0}, n = env[nd - 1], step = env[2 * nd - 1];
    for (;; to += n * item) {
        int64_t place = 0;
        for (int d = 0; d < nd - 1; d++) place += at[d] * env[nd + d];
        const char *row = from + place * item;
        if (step == 1) __builtin_memcpy(to, row, n * item);
        else if (item == 8) for (int64_t k = 0; k < n; k++) ((int64_t *)to)[k] = ((const int64_t *)row)[k * step];
        else if (item == 4) for (int64_t k = 0; k < n; k++) ((int32_t *)to)[k] = ((const int32_t *)row)[k * step];
        else for (int64_t k = 0; k < n; k++) __builtin_memcpy(to + k * item, row + k * step * item, item);
        int d = nd - 2;
        for (; d >= 0; at[d--] = 0)
            if (++at[d] < env[d]) break;
        if (d < 0) return;
    }
}
/* The argument in row-major order; a copy goes to *at, which moves on. */
TG_APART __attribute__((noinline)) char *tg_packed(char **at, char *from, const int64_t *env, int nd, int64_t item)
{
    char *to = *at;
    if (tg_is_packed(env, nd)) return from;
    tg_pack(to, from, env, nd, item);
    *at += tg_packed_size(env, nd, item);
    return to;
}
/* The same for many arguments: `ports` has of each where its lengths are in env, how many, the size of an element and
   its place in buf. Strides are compared first, since most calls copy none. */
TG_APART __attribute__((noinline)) int64_t tg_copied_size(const int64_t *env, const int32_t *ports, int count)
{
    int64_t odd = 0, size = 0;
    for (const int32_t *p = ports; p < ports + count; p += 4) {
        const int64_t *lengths = env + p[0], *strides = lengths + p[1];
        int last = p[1] - 1;
        odd |= strides[last] - 1;
        for (int d = 0; d < last; d++) odd |= strides[d] - strides[d + 1] * lengths[d + 1];
    }
    if (odd)
        for (const int32_t *p = ports; p < ports + count; p += 4) size += tg_packed_size(env + p[0], p[1], p[2]);
    return size;
}
TG_APART __attribute__((noinline)) void
tg_pack_ports(char **buf, const int64_t *env, char *at, const int32_t *ports, int count)
{
    for (const int32_t *p = ports; p < ports + count; p += 4)
        buf[p[3]] = tg_packed(&at, buf[p[3]], env + p[0], p[1], p[2]);
}
"""
PACKING = section("", COPY)  # apart: most calls run none of it, and written into them it was a sixth of the time of gcc

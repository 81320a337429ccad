"""C text that makes random bits for many places at once: both halves of a block come together. Pure text.

gcc makes poor vectors of products of 32 by 32 bits, and a block waits for itself ten times. `made_before.py` calls it.
"""

from __future__ import annotations

PLACES = 256  # for which bits are made at once; a multiple of sixteen
FILL = """
/* The blocks of random bits at n places of one key and step: their first halves, their second ones, or both. There is
   room for a multiple of sixteen. */
static __attribute__((noinline)) void tg_philox_fill(uint64_t key, uint64_t step, const uint64_t *index,
                                                     uint64_t *first, uint64_t *second, int64_t n)
{
#if defined(__AVX2__) && !defined(__clang__)
#ifdef __AVX512F__
    enum { LANES = 8 };
#define TG_MUL(a, b) ((lanes)__builtin_ia32_pmuludq512_mask((ints)(a), (ints)(b), (longs)zero, 255))
#else
    enum { LANES = 4 };
#define TG_MUL(a, b) ((lanes)__builtin_ia32_pmuludq256((ints)(a), (ints)(b)))
#endif
#define TG_ROUND(w) { \\
    const lanes u = key_0 + (uint32_t)(w * 0x9E3779B9u), v = key_1 + (uint32_t)(w * 0xBB67AE85u); \\
    const lanes a = TG_MUL(m0, c0), b = TG_MUL(m1, c2), e = TG_MUL(m0, d0), f = TG_MUL(m1, d2); \\
    c0 = (b >> 32) ^ (c1 ^ u), c1 = b, c2 = (a >> 32) ^ (c3 ^ v), c3 = a; \\
    d0 = (f >> 32) ^ (d1 ^ u), d1 = f, d2 = (e >> 32) ^ (d3 ^ v), d3 = e; }
    typedef uint64_t lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
    typedef int ints __attribute__((vector_size(8 * LANES)));
    typedef long long longs __attribute__((vector_size(8 * LANES)));
    const lanes zero = {0}, low = zero + 0xffffffff, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    const lanes key_0 = zero + (uint32_t)key, key_1 = zero + (key >> 32); /* above 32 bits there may be anything */
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        lanes c0 = *(const lanes *)(index + i), d0 = *(const lanes *)(index + i + LANES), c1 = c0 >> 32, d1 = d0 >> 32;
        lanes c2 = zero + step, c3 = zero + (step >> 32), d2 = c2, d3 = c3;
        TG_ROUND(0) TG_ROUND(1) TG_ROUND(2) TG_ROUND(3) TG_ROUND(4)
        TG_ROUND(5) TG_ROUND(6) TG_ROUND(7) TG_ROUND(8) TG_ROUND(9)
        if (first)
            *(lanes *)(first + i) = (c0 & low) | c1 << 32, *(lanes *)(first + i + LANES) = (d0 & low) | d1 << 32;
        if (second)
            *(lanes *)(second + i) = (c2 & low) | c3 << 32, *(lanes *)(second + i + LANES) = (d2 & low) | d3 << 32;
    }
#undef TG_ROUND
#undef TG_MUL
#else
    if (first && second)
        for (int64_t i = 0; i < n; i++)
            first[i] = tg_philox(key, step, index[i], 0), second[i] = tg_philox(key, step, index[i], 1);
    else if (first) for (int64_t i = 0; i < n; i++) first[i] = tg_philox(key, step, index[i], 0);
    else for (int64_t i = 0; i < n; i++) second[i] = tg_philox(key, step, index[i], 1);
#endif
}"""


def functions(inline: str) -> dict[str, str]:
    """The text by its name: a function that is never written into others."""
    return {"tg_philox_fill": FILL.strip()}

"""C text that brings Fourier transforms into lanes of vectors and back: one transform in each lane. Pure text.

Numbers that lie side by side are moved as vectors: rows are crossed in registers, of columns the parts of complex
numbers are taken apart. All others go one by one.
"""

from __future__ import annotations

# $CROSS loads `a(i)`, exchanges lanes with vectors, and stores `b(i)`.
TEXT = """
typedef $I tg_fi_$N __attribute__((vector_size(sizeof(tg_fv_$N))));
typedef tg_fv_$N tg_fu_$N __attribute__((aligned(sizeof($T)), may_alias));
#ifndef TG_FFT_MIX
#ifdef __clang__
#define TG_FFT_MIX(type, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define TG_FFT_MIX(type, a, b, ...) __builtin_shuffle(a, b, (type){__VA_ARGS__})
#endif
#define TG_FFT_ROW(i) (*(const tg_fft_row *)(rows[i] + j))
#define TG_FFT_ROW_OUT(i) (*(tg_fft_row *)(rows[i] + j))
#endif

/* `m` numbers of each of some transforms into lanes, `pitch` vectors apart. */
TG_APART TG_FFT void tg_fft_load_$N(const $T *x, int64_t inner, int64_t step, int64_t lanes, int64_t m, $T *to,
                                  int64_t pitch)
{
    enum { L = TG_FFT_LANES_$N };
    typedef tg_fu_$N tg_fft_row;
    int64_t j = 0;
    if (step == 1) {
        const $T *rows[L];
        for (int64_t l = 0; l < L; l++) rows[l] = x + (l < lanes ? l : 0) * inner;
#define TG_FFT_LANE(i) (*(tg_fv_$N *)(to + (j + i) * pitch * L))
        for (; j + L <= m; j += L) {
            $CROSS(TG_FFT_ROW, TG_FFT_LANE)
        }
#undef TG_FFT_LANE
    } else if (inner == 1 && lanes == L)
        for (; j < m; j++) *(tg_fv_$N *)(to + j * pitch * L) = *(const tg_fft_row *)(x + j * step);
    for (; j < m; j += TG_FFT_BLOCK) {
        const int64_t end = j + TG_FFT_BLOCK < m ? j + TG_FFT_BLOCK : m;
        for (int64_t l = 0; l < lanes; l++)
            for (int64_t k = j; k < end; k++) to[k * pitch * L + l] = x[l * inner + k * step];
    }
}

/* The same of complex numbers; `swap` exchanges their parts, which inverts a transform. */
TG_APART TG_FFT void tg_fft_load_both_$N(const $T *x, int64_t inner, int64_t step, int64_t lanes, int64_t m, int swap,
                                       $T *to)
{
    enum { L = TG_FFT_LANES_$N };
    typedef tg_fu_$N tg_fft_row;
    int64_t done = 0;
    if (step == 2) {
        const $T *rows[L];
        for (int64_t l = 0; l < L; l++) rows[l] = x + (l < lanes ? l : 0) * inner;
#define TG_FFT_LANE(i) (*(tg_fv_$N *)(to + (j + (i ^ swap)) * L))
        for (int64_t j = 0; j + L <= 2 * m; j += L, done = j / 2) {
            $CROSS(TG_FFT_ROW, TG_FFT_LANE)
        }
#undef TG_FFT_LANE
    } else if (inner == 2 && lanes == L)
        for (; done < m; done++) {
            const tg_fv_$N a = *(const tg_fft_row *)(x + done * step), b = *(const tg_fft_row *)(x + done * step + L);
            $APART
            *(tg_fv_$N *)(to + (2 * done + swap) * L) = even;
            *(tg_fv_$N *)(to + (2 * done + 1 - swap) * L) = odd;
        }
    for (int64_t j = done; j < m; j += TG_FFT_BLOCK) {
        const int64_t end = j + TG_FFT_BLOCK < m ? j + TG_FFT_BLOCK : m;
        for (int64_t l = 0; l < lanes; l++)
            for (int64_t k = j; k < end; k++) {
                const $T *from = x + l * inner + k * step;
                to[2 * k * L + l] = from[swap];
                to[(2 * k + 1) * L + l] = from[1 - swap];
            }
    }
}

TG_APART TG_FFT void tg_fft_store_both_$N(const tg_fc_$N *x, const int32_t *at, int64_t inner, int64_t step,
                                        int64_t lanes, int64_t m, int swap, $T scale, $T *to)
{
    enum { L = TG_FFT_LANES_$N };
    typedef tg_fu_$N tg_fft_row;
    int64_t done = 0;
    if (step == 2 && lanes == L) {
        $T *rows[L];
        for (int64_t l = 0; l < L; l++) rows[l] = to + l * inner;
#define TG_FFT_LANE(i) (((const tg_fv_$N *)(x + (at ? at[(j + i) / 2] : (j + i) / 2)))[(i % 2) ^ swap] * scale)
        for (int64_t j = 0; j + L <= 2 * m; j += L, done = j / 2) {
            $CROSS(TG_FFT_LANE, TG_FFT_ROW_OUT)
        }
#undef TG_FFT_LANE
    } else if (inner == 2 && lanes == L)
        for (; done < m; done++) {
            const tg_fv_$N *from = (const tg_fv_$N *)(x + (at ? at[done] : done));
            const tg_fv_$N a = from[swap] * scale, b = from[1 - swap] * scale;
            $LACED
            *(tg_fft_row *)(to + done * step) = low;
            *(tg_fft_row *)(to + done * step + L) = high;
        }
    for (int64_t j = done; j < m; j += TG_FFT_BLOCK) {
        const int64_t end = j + TG_FFT_BLOCK < m ? j + TG_FFT_BLOCK : m;
        for (int64_t l = 0; l < lanes; l++)
            for (int64_t k = j; k < end; k++) {
                const $T *from = (const $T *)(x + (at ? at[k] : k)) + l;
                $T *out = to + l * inner + k * step;
                out[swap] = from[0] * scale;
                out[1 - swap] = from[L] * scale;
            }
    }
}

/* The parts of complex numbers as real ones: `by` parts of each, of which `first` comes first. */
TG_APART TG_FFT void tg_fft_store_$N(const tg_fc_$N *x, const int32_t *at, int64_t inner, int64_t step, int64_t lanes,
                                   int64_t m, int by, int first, $T scale, $T *to)
{
    enum { L = TG_FFT_LANES_$N };
    typedef tg_fu_$N tg_fft_row;
    if (by == 2 && step == 1) {
        tg_fft_store_both_$N(x, at, inner, 2, lanes, m, first, scale, to);
        return;
    }
    if (inner == 1 && lanes == L) {
        for (int64_t k = 0; k < m; k++)
            for (int c = 0; c < by; c++)
                *(tg_fft_row *)(to + (k * by + c) * step) = ((const tg_fv_$N *)(x + at[k]))[c ^ first] * scale;
        return;
    }
    for (int64_t j = 0; j < m; j += TG_FFT_BLOCK) {
        const int64_t end = j + TG_FFT_BLOCK < m ? j + TG_FFT_BLOCK : m;
        for (int64_t l = 0; l < lanes; l++)
            for (int64_t k = j; k < end; k++)
                for (int c = 0; c < by; c++)
                    to[l * inner + (k * by + c) * step] = ((const $T *)(x + at[k]))[(c ^ first) * L + l] * scale;
    }
}
"""


def text(short: str) -> str:
    """The functions for f32 or f64, with the exchanges of each width of vectors in macros."""
    bits = 32 if short == "f32" else 64
    widths = [("#ifdef __AVX512F__", 512), ("#elif defined(__AVX__)", 256), ("#else", 128)]
    macros = [line for guard, width in widths for line in (guard, _exchanges(width // bits))]
    out = TEXT.strip()
    for name in ("CROSS", "APART", "LACED"):
        out = out.replace(f"${name}", f"TG_FFT_{name}_$N")
    return "\n".join([*macros, "#endif", out]).replace("$I", f"int{bits}_t")


def _mixed(a: str, b: str, places: list[int]) -> str:
    return f"TG_FFT_MIX(tg_fi_$N, {a}, {b}, {', '.join(map(str, places))})"


def _exchanges(lanes: int) -> str:
    """Macros for vectors of so many lanes: crossed, complex numbers taken apart, and put together."""
    names, half, cross = [f"x{i}" for i in range(lanes)], 1, []
    cross.append("tg_fv_$N " + ", ".join(f"{x} = from({i})" for i, x in enumerate(names)) + ", t;")
    while half < lanes:
        low = [j if j // half % 2 == 0 else lanes + j - half for j in range(lanes)]
        high = [j + half if j // half % 2 == 0 else lanes + j for j in range(lanes)]
        for i in range(lanes):
            if i // half % 2 == 0:
                a, b = f"x{i}", f"x{i + half}"
                cross.append(f"t = {_mixed(a, b, low)}, {b} = {_mixed(a, b, high)}, {a} = t;")
        half *= 2
    cross += [f"to({i}) = {x};" for i, x in enumerate(names)]
    even, odd = [list(range(first, 2 * lanes, 2)) for first in (0, 1)]
    laced = [j // 2 + j % 2 * lanes for j in range(2 * lanes)]
    apart = [f"const tg_fv_$N even = {_mixed('a', 'b', even)}, odd = {_mixed('a', 'b', odd)};"]
    together = [f"const tg_fv_$N low = {_mixed('a', 'b', laced[:lanes])}, high = {_mixed('a', 'b', laced[lanes:])};"]
    macros = (("CROSS_$N(from, to)", cross), ("APART_$N", apart), ("LACED_$N", together))
    return "\n".join(" \\\n    ".join([f"#define TG_FFT_{head}", *lines]) for head, lines in macros)

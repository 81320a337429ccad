"""C text of functions that gcc's loops call with whole vectors, as they call libmvec's: these may branch. Pure text.

So what few numbers need is computed only for vectors in which one does. The names are those of gcc's `simd` attribute.
"""

from __future__ import annotations

# tg_whole(T, M, name) defines `name` by two functions: name_first(x, &more), and name_more(x, more) for those numbers
# whose `more`, of type M, is not negative. Hidden and weak, as objects that are linked together may both hold them.
_WHOLE = r"""#define TG_WHOLE_ONE(T, M, name) \
    { \
        M more; \
        const T y = name##_first(x, &more); \
        return more < 0 ? y : name##_more(x, more); \
    }
#if defined(__x86_64__) && !defined(__clang__) && !defined(__cplusplus)
#define TG_WHOLE_HIDDEN __attribute__((weak, visibility("hidden")))
#define TG_WHOLE_TYPES(n) \
    typedef double tg_whole_double_##n __attribute__((vector_size(8 * n))); \
    typedef float tg_whole_float_##n __attribute__((vector_size(4 * n)));
TG_WHOLE_TYPES(2)
TG_WHOLE_TYPES(4)
TG_WHOLE_TYPES(8)
TG_WHOLE_TYPES(16)
#define TG_WHOLE_MASK_double int64_t
#define TG_WHOLE_MASK_float int32_t
#define TG_WHOLE_LOOPS(T, M, name, n) \
    static __attribute__((noinline)) int64_t name##_##n(const T *restrict x, T *restrict y, M *restrict more) \
    { \
        TG_WHOLE_MASK_##M open = 0; \
        _Pragma("GCC ivdep") for (int l = 0; l < n; l++) { \
            M left; \
            y[l] = name##_first(x[l], &left), more[l] = left; \
            open |= left < 0 ? 0 : 1; \
        } \
        return open; \
    } \
    static __attribute__((noinline)) void name##_rest_##n(const T *restrict x, T *restrict y, const M *more) \
    { \
        _Pragma("GCC ivdep") for (int l = 0; l < n; l++) y[l] = more[l] < 0 ? y[l] : name##_more(x[l], more[l]); \
    }
#define TG_WHOLE_VARIANT(T, M, name, letter, n) \
    TG_WHOLE_HIDDEN tg_whole_##T##_##n _ZGV##letter##N##n##v_##name(tg_whole_##T##_##n x) \
    { \
        tg_whole_##T##_##n y; \
        M more[n] __attribute__((aligned(sizeof(M) * n))); \
        if (name##_##n((const T *)&x, (T *)&y, more)) name##_rest_##n((const T *)&x, (T *)&y, more); \
        return y; \
    }
#ifdef __AVX512F__
#define TG_WHOLE_512(T, M, name, n) TG_WHOLE_LOOPS(T, M, name, n) TG_WHOLE_VARIANT(T, M, name, e, n)
#else
#define TG_WHOLE_512(T, M, name, n)
#endif
#ifdef __AVX__
#define TG_WHOLE_256(T, M, name, n) \
    TG_WHOLE_LOOPS(T, M, name, n) TG_WHOLE_VARIANT(T, M, name, c, n) TG_WHOLE_VARIANT(T, M, name, d, n)
#else
#define TG_WHOLE_256(T, M, name, n)
#endif
#define TG_WHOLE_128(T, M, name, n) TG_WHOLE_LOOPS(T, M, name, n) TG_WHOLE_VARIANT(T, M, name, b, n)
#define TG_WHOLE_double(M, name) \
    TG_WHOLE_128(double, M, name, 2) TG_WHOLE_256(double, M, name, 4) TG_WHOLE_512(double, M, name, 8)
#define TG_WHOLE_float(M, name) \
    TG_WHOLE_128(float, M, name, 4) TG_WHOLE_256(float, M, name, 8) TG_WHOLE_512(float, M, name, 16)
#define tg_whole(T, M, name) \
    __attribute__((simd("notinbranch"), const)) T name(T x); \
    TG_WHOLE_HIDDEN T name##_one(T x) __asm__(#name); /* of which gcc is not to make variants */ \
    TG_WHOLE_HIDDEN T name##_one(T x) TG_WHOLE_ONE(T, M, name) \
    TG_WHOLE_##T(M, name)
#else
#define tg_whole(T, M, name) $INLINE T name(T x) TG_WHOLE_ONE(T, M, name)
#endif
"""


def functions(inline: str) -> dict[str, str]:
    """The macro by name."""
    return {"tg_whole": _WHOLE.replace("$INLINE ", inline)}

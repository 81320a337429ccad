/* Clang has vector versions of exp and log (-fveclib) and none of expm1 and log1p: these two are made of those (Kahan's
   way: the error of the rounded argument cancels), so that loops with tanh, expm1, log1p, ... stay vector loops. */
#ifdef TG_VECLIB
static inline __attribute__((always_inline)) double tg_veclib_expm1(double x)
{
    const double u = __builtin_exp(x), v = u - 1;
    return u == 1 ? x : v == -1 ? -1 : u == __builtin_inf() ? u : v * x / __builtin_log(u);
}
static inline __attribute__((always_inline)) double tg_veclib_log1p(double x)
{
    const double u = 1 + x;
    return u == 1 ? x : u == __builtin_inf() ? u : __builtin_log(u) * x / (u - 1);
}
#define expm1 tg_veclib_expm1
#define log1p tg_veclib_log1p
#endif

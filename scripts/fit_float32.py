"""The coefficients of the float32 functions in generated C, and how far the functions are off.

python scripts/fit_float32.py            fits the polynomials and prints them with their errors
python scripts/fit_float32.py --scan 1   compiles the functions and tries every float32 (every k-th with --scan k)
"""

import argparse
import ctypes
from collections.abc import Callable, Sequence

import mpmath
import numpy as np

from termgraph.backends.c.build.library import build_plain
from termgraph.backends.c.text import float32, prelude

mp = mpmath.mp.clone()
mp.prec = 120
POINTS = 400  # where the error is looked at: Chebyshev points


def best(f: Callable, weight: Callable, low, high, given: Sequence, degree: int) -> list:
    """Remez: the polynomial of this degree whose weighted error is smallest; its first coefficients may be given."""
    xs = [low + (high - low) * (1 - mp.cos(mp.pi * (k + 0.5) / POINTS)) / 2 for k in range(POINTS)]
    fs, ws = [f(x) for x in xs], [weight(x) for x in xs]
    free = degree + 1 - len(given)
    at = [round(k * (POINTS - 1) / free) for k in range(free + 1)]
    least, kept = mp.inf, list(given)
    for _ in range(40):
        rows = [[*[xs[i] ** k for k in range(len(given), degree + 1)], (-1) ** r / ws[i]] for r, i in enumerate(at)]
        rest = [fs[i] - mp.polyval([*given][::-1] or [0], xs[i]) for i in at]
        found = [*given, *list(mp.lu_solve(mp.matrix(rows), mp.matrix(rest)))[:free]]
        errors = [w * (y - mp.polyval(found[::-1], x)) for x, y, w in zip(xs, fs, ws)]
        if max(map(abs, errors)) < least:
            least, kept = max(map(abs, errors)), found
        new = extremes(errors, free + 1)
        if len(new) < free + 1 or new == at:
            break
        at = new
    return kept


def extremes(errors: list, count: int) -> list[int]:
    """Where the error is largest between its changes of sign; the smallest at the ends are left out."""
    out: list[int] = []
    for i, e in enumerate(errors):
        if out and errors[out[-1]] * e > 0:
            if abs(e) > abs(errors[out[-1]]):
                out[-1] = i
        else:
            out.append(i)
    while len(out) > count:
        out.pop(0 if abs(errors[out[0]]) < abs(errors[out[-1]]) else -1)
    return out


def rounded(f: Callable, weight: Callable, low, high, degree: int, first: Sequence = ()) -> list:
    """The same with coefficients that are float32: each is rounded, and those after it are fitted anew."""
    given = list(first)
    while len(given) <= degree:
        given.append(mp.mpf(float(np.float32(best(f, weight, low, high, given, degree)[len(given)]))))
    return given


def exp_rest(r):
    return (mp.expm1(r) - r) / r**2


def log_rest(f):
    return (mp.log1p(f) - f) / f**2


def fits() -> None:
    """Print the tables of `termgraph/backends/c/text/float32.py`."""
    half = mp.log(2) / 2 * mp.mpf("1.001")  # rounding to the next integer may be off a little
    report("EXP", exp_rest, lambda r: r**2 / mp.exp(r), -half, half, 4)
    report("WIDE", exp_rest, lambda r: r**2 / mp.exp(r), -2 * half, 2 * half, 5)
    report("LOG", log_rest, lambda f: f**2 / mp.log1p(f), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8, [mp.mpf(-0.5)], 4)


def report(name: str, f, weight, low, high, degree: int, first=(), scale: int = 1) -> None:
    found = rounded(f, weight, low, high, degree, first)
    xs = [low + (high - low) * (k + mp.mpf("0.37")) / 2000 for k in range(2000)]
    worst = max(abs(weight(x) * (f(x) - mp.polyval(found[::-1], x))) for x in xs)
    texts = [f"{np.float32(float(c / scale ** (k + 2)))!s}f" for k, c in enumerate(found)]
    print(f"{name}: relative error {mp.nstr(worst * 2**24, 3)} * 2^-24\n    " + ", ".join(f'"{t}"' for t in texts))


# ---------------------------------------------------------------------- trying them
EXACT = {
    "exp": "exp(x)", "expm1": "expm1(x)", "log1p": "log1p(x)", "tanh": "tanh(x)",
    "sigmoid": "x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x))", "softplus": "fmax(x, 0) + log1p(exp(-fabs(x)))",
}  # fmt: skip
SCAN = """
double frexp(double, int *), ldexp(double, int), exp(double), expm1(double), log1p(double), tanh(double);
double fmax(double, double), fabs(double);
#define SCAN(name, exact)                                                                                 \\
    double scan_##name(uint64_t every, float *at, int64_t *wrong)                                         \\
    {                                                                                                     \\
        static float in[4096], out[4096];                                                                 \\
        double worst = 0;                                                                                 \\
        *wrong = 0;                                                                                       \\
        for (uint64_t base = 0; base < 1ull << 32; base += 4096 * every) {                                \\
            for (int i = 0; i < 4096; i++) {                                                              \\
                uint32_t bits = (uint32_t)(base + i * every + base / 4096 % every);                       \\
                __builtin_memcpy(in + i, &bits, 4);                                                       \\
            }                                                                                             \\
            for (int i = 0; i < 4096; i++) out[i] = tg_own_##name(in[i]);                                 \\
            for (int i = 0; i < 4096; i++) {                                                              \\
                double x = in[i], y = exact, got = out[i];                                                \\
                float near = (float)y;                                                                    \\
                if (y != y || y == 0 || near - near != 0 || got != got) {                                 \\
                    *wrong += y != y ? got == got : near != got || __builtin_signbit(near) != __builtin_signbit(got); \\
                    continue;                                                                             \\
                }                                                                                         \\
                int k;                                                                                    \\
                frexp(y, &k);                                                                             \\
                double off = fabs(got - y) / ldexp(1, (k < -125 ? -125 : k) - 24);                        \\
                if (off > worst) worst = off, *at = in[i];                                                \\
            }                                                                                             \\
        }                                                                                                 \\
        return worst;                                                                                     \\
    }
"""


def scan(every: int, flags: Sequence[str]) -> None:
    """Largest error of each function, in units of the last place of the exact result; zero, infinity and NaN apart."""
    body = "\n".join(f"SCAN({name}, {exact})" for name, exact in EXACT.items())
    helpers = prelude.needed(" ".join(f"tg_own_{name}" for name in EXACT))
    helpers = "\n".join(line for line in helpers.splitlines() if not line.startswith("__attribute__((simd"))
    text = f"#include <stdint.h>\n{helpers}\n{SCAN}\n{body}\n"
    library = ctypes.CDLL(build_plain((text,), "scan", flags=("-fwrapv", *flags), libraries=("-lm",)).path)
    for name in EXACT:
        function = getattr(library, f"scan_{name}")
        function.restype = ctypes.c_double
        at, wrong = ctypes.c_float(), ctypes.c_int64()
        worst = function(ctypes.c_uint64(every), ctypes.byref(at), ctypes.byref(wrong))
        print(f"{name:9} {worst:.3f} ulp at {at.value:.9g}; {wrong.value} zeros, infinities or NaNs are not right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", type=int, metavar="K", help="try every K-th float32")
    parser.add_argument("--cflags", default="", help="flags for the C compiler, such as -mno-fma")
    options = parser.parse_args()
    assert set(EXACT) <= set(float32.FUNCTIONS)
    if options.scan:
        scan(options.scan, options.cflags.split())
    else:
        fits()

"""The tables of the float64 functions for vectors of 64 bytes, and how far the functions are off.

python scripts/fit_float64.py          derives tables and coefficients and says whether they are those in use
python scripts/fit_float64.py --scan   compiles the functions and measures them beside libmvec's, where AVX-512 is there
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from fit_float32 import best, log_rest, mp, rounded

from termgraph.backends.c.text import avx512, avx512_single, prelude

MIDDLE = 9  # which of the sixteenths of `pow` has 1 in its middle
FINE = mp.mpf(2) ** -42


def split_log(inverse):
    """Minus the logarithm of an inverse: a multiple of 2^-42, and the rest."""
    value = -mp.log(inverse)
    high = mp.floor(value / FINE + 0.5) * FINE
    return high, value - high


def inverses() -> list:
    """Of the middles of the sixteenths of [3/4, 3/2), to nine bits; 1 for both that 1 is an end of."""
    middles = [(1 + (mp.mpf(j) + 0.5) / 16) * (1 if j < 8 else mp.mpf(0.5)) for j in range(16)]
    return [mp.mpf(1) if j in (0, 15) else mp.nint(512 / c) / 512 for j, c in enumerate(middles)]


def single_inverses() -> list:
    """Of the middles of the 32nds of [1, 2), to eight bits, with 1/2 for the last: just below 1 no digits are lost."""
    middles = [1 + (mp.mpf(j) + 0.5) / 32 for j in range(32)]
    return [mp.mpf(1) if j == 0 else mp.mpf(0.5) if j == 31 else mp.nint(256 / c) / 256 for j, c in enumerate(middles)]


def middle_inverses() -> list:
    """The same of [45/64, 45/32), to eight bits."""

    def number(sixteenths):  # counted from 1
        return 1 + sixteenths / (32 if sixteenths < 0 else 16)

    ends = [(number(mp.mpf(j - MIDDLE) - 0.5), number(mp.mpf(j - MIDDLE) + 0.5)) for j in range(16)]
    return [mp.mpf(1) if j == MIDDLE else mp.nint(512 / sum(end)) / 256 for j, end in enumerate(ends)]


def series(f, start, end, degree: int, weight) -> list:
    return best(f, weight, mp.mpf(start), mp.mpf(end), [], degree)


def derived() -> dict[str, list]:
    """The numbers by the names they have in the module, in full precision."""
    powers = [mp.mpf(2) ** (mp.mpf(j) / 16) for j in range(16)]
    side = mp.log(2) / 32 * mp.mpf(1.0005)
    logs, middles = [split_log(v) for v in inverses()], [split_log(v) for v in middle_inverses()]
    return {
        "TWO": powers,
        "TWO_LOW": [p - mp.mpf(float(p)) for p in powers],
        "EXP": series(lambda r: (mp.expm1(r) - r) / r**2, -side, side, 5, lambda r: r**2),
        "INVERSE": inverses(),
        "INVERSE_HIGH": [high for high, _ in logs],
        "INVERSE_LOW": [low for _, low in logs],
        "LOG": series(lambda r: (mp.log1p(r) - r) / r**2, -mp.mpf(1) / 31, 10 / mp.mpf(159), 9, abs),
        "MIDDLE": middle_inverses(),
        "MIDDLE_HIGH": [high for high, _ in middles],
        "MIDDLE_LOW": [low for _, low in middles],
        "CUBE": series(
            lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3, -1 / mp.mpf(32), 1 / mp.mpf(32), 8, lambda r: r**2
        ),
    }


def single(value):
    return mp.mpf(float(np.float32(float(value))))


def scaled_erfc(x):
    return mp.exp(x * x) * mp.erfc(x)


def piece(j: int, degree: int = 5) -> list:
    """Of `erfcx` in float32: a centre where it is nearly a float32, that number, and the coefficients that follow."""
    if 20 <= j < 24:  # from 11 on
        return [mp.mpf(0)] * (degree + 2)
    unit = mp.mpf(2) ** (0 if j >= 24 else j // 8 + 1)
    low, width = unit * (1 + mp.mpf(j % 8) / 8) - 1, unit / 8
    middle = single(low + width / 2)
    near = [middle + k * mp.mpf(float(np.spacing(np.float32(float(middle))))) for k in range(-300, 301)]
    c = min(near, key=lambda x: abs(single(scaled_erfc(x)) / scaled_erfc(x) - 1))
    first = single(scaled_erfc(c))
    at = [low - c + width * (1 - mp.cos(mp.pi * (k + mp.mpf(0.5)) / 40)) / 2 for k in range(40)]
    rows = mp.matrix([[t**k / scaled_erfc(c + t) for k in range(1, degree + 1)] for t in at])
    rest = mp.matrix([1 - first / scaled_erfc(c + t) for t in at])
    return [c, first, *[single(v) for v in mp.lu_solve(rows, rest)]]


def single_power() -> dict[str, list]:
    """The tables of `pow` of float32, its polynomials and that of `log`, and the logarithm's base."""
    inverse, powers = single_inverses(), [mp.mpf(2) ** (mp.mpf(j) / 32) for j in range(32)]
    logs = [-mp.log(v, 2) for v in inverse]
    high = [mp.nint(v * 2**16) / 2**16 for v in logs]
    low, end, side = (
        min((1 + mp.mpf(j) / 32) * c - 1 for j, c in enumerate(inverse)),
        mp.mpf(1) / 32,
        mp.mpf(1.001) / 64,
    )
    return {
        "power_inverse": inverse,
        "power_log2": high,
        "power_log2_low": [single(v - h) for v, h in zip(logs, high)],
        "power_two": [single(v) for v in powers],
        "power_two_low": [single(v - single(v)) for v in powers],
        "POWER_CUBE": rounded(lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3, lambda r: r**2, low, end, 3),
        "POWER_EXP2": rounded(lambda s: (mp.mpf(2) ** s - 1) / s, abs, -side, side, 2),
        "LOGARITHM": rounded(log_rest, lambda r: r**2 / mp.log1p(r), -mp.mpf(1) / 4, mp.mpf(1) / 2, 8, [mp.mpf(-0.5)]),
        "LOG2_E": [single(1 / mp.log(2))],
        "LOG2_E_LOW": [single(1 / mp.log(2) - single(1 / mp.log(2)))],
    }


def derived_single() -> dict[str, list]:
    erfc = dict(zip(avx512_single.SCALED_ERFC, zip(*[piece(j) for j in range(32)]), strict=True))
    return erfc | single_power()


def report() -> None:
    texts = {name: getattr(avx512, name) for name in derived()} | avx512_single.SCALED_ERFC | avx512_single.POWER
    texts |= {name: getattr(avx512_single, name) for name in single_power() if name.isupper()}
    for name, numbers in (derived() | derived_single()).items():
        used = [float.fromhex(word) for word in texts[name].replace(",", " ").split()]
        off = max(abs(u - float(n)) / abs(float(n)) if n else abs(u) for u, n in zip(used, numbers, strict=True))
        print(
            f"{name:13s} {len(used):2d} numbers, relative difference {off:.1e}:",
            ", ".join(float(n).hex() for n in numbers),
        )


_SCAN = r"""
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
$TEXT
enum { N = 1 << 20 };
static double unit(void) { return (rand() + rand() / 2147483648.0) / 2147483648.0; }
static void measured(const char *name, const double *got, const long double *want)
{
    double worst = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        int e;
        frexpl(want[i], &e);
        const double off = fabsl(got[i] - want[i]) / ldexpl(1, (e < -1021 ? -1021 : e) - 53);
        sum += off, worst = off > worst ? off : worst;
    }
    printf("%-14s largest %.3f, mean %.3f units of the last place\n", name, worst, sum / N);
}
int main(void)
{
    static double x[N] __attribute__((aligned(64))), y[N] __attribute__((aligned(64)));
    static double got[N] __attribute__((aligned(64)));
    static long double want[N];
    void *libmvec = dlopen("libmvec.so.1", RTLD_NOW);
    $CALLS
}"""
RANGES = {"exp": (-700, 700), "expm1": (-3, 3), "log": (0.5, 2), "pow": (0.9, 1.1)}
_ONE = r"""for (int i = 0; i < N; i++) x[i] = $LOW + ($HIGH - $LOW) * unit(), y[i] = -6600 + 13200 * unit();
    for (int i = 0; i < N; i++) want[i] = $NAMEl($SCALARS);
    for (int i = 0; i < N; i += 8) *(tg_eight *)(got + i) = $SYMBOL($VECTORS);
    measured("$NAME", got, want);
    for (int i = 0; i < N; i += 8) *(tg_eight *)(got + i) = ((tg_eight(*)($TYPES))dlsym(libmvec, "$SYMBOL"))($VECTORS);
    measured("libmvec's $NAME", got, want);"""


def measuring(name: str) -> str:
    """C text that measures a function, and libmvec's."""
    (low, high), two = RANGES[name], name == "pow"
    vectors = ["*(tg_eight *)(x + i)", "*(tg_eight *)(y + i)"][: 1 + two]
    words = {
        "$LOW": low, "$HIGH": high, "$NAME": name, "$SCALARS": "x[i], y[i]" if two else "x[i]",
        "$SYMBOL": f"_ZGVeN8{'vv' if two else 'v'}_{name}", "$VECTORS": ", ".join(vectors),
        "$TYPES": ", ".join(["tg_eight"] * len(vectors)),
    }  # fmt: skip
    text = _ONE
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def scan() -> None:
    """Random arguments where each function is least exact, with the 64 bits of `long double` as the measure."""
    calls = "\n    ".join(map(measuring, RANGES))
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "scan.c"), str(Path(folder, "scan"))
        source.write_text(_SCAN.replace("$TEXT", prelude.needed(" ".join(RANGES))).replace("$CALLS", calls))
        subprocess.run(["gcc", "-O1", "-w", "-march=native", source, "-o", program, "-ldl", "-lm"], check=True)
        subprocess.run([program], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", action="store_true", help="compile the functions and measure them")
    scan() if parser.parse_args().scan else report()

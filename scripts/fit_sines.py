"""The numbers of `sin` and `cos` of float32 in vectors, and how far the functions are off.

python scripts/fit_sines.py            derives the numbers and says whether they are those in use
python scripts/fit_sines.py --scan 7   compiles the functions and tries every 7th float32, libmvec's beside them
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from fit_float32 import best, mp

from termgraph.backends.c.text import prelude, sines

mp.prec = 300


def parts_of_turns() -> list[list]:
    """Of 2^(8j) / pi modulo 2^23: a multiple of 2^-6, one of 2^-35, and the rest."""
    out: list[list] = [[], [], []]
    for j in range(16):
        rest = mp.mpf(2) ** (8 * j) / mp.pi % mp.mpf(2) ** 23
        for k, unit in enumerate((mp.mpf(2) ** -6, mp.mpf(2) ** -35)):
            out[k].append(mp.nint(rest / unit) * unit)
            rest -= out[k][-1]
        out[2].append(rest)
    return out


def parts_of_pi() -> list:
    out, rest = [], -mp.pi
    for _ in range(3):
        out.append(mp.mpf(float(np.float32(float(rest)))))
        rest -= out[-1]
    return out


def turned() -> list:
    """sin(pi*f) / f as a polynomial in f^2."""

    def value(z):
        return mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z)

    return best(value, lambda z: 1 / value(z), mp.mpf("1e-8"), mp.mpf("0.5001") ** 2, [], 5)


def report() -> None:
    numbers = [n for row in parts_of_turns() for n in row] + parts_of_pi()
    used = [float.fromhex(w) for w in sines.TURNS.replace("{", " ").replace("}", " ").replace(",", " ").split()]
    used += [float.fromhex(w) for w in sines.LESS]
    print(f"parts of 1/pi and pi as in use: {used == [float(n) for n in numbers]}")
    found, kept = turned(), [float.fromhex(w) for w in sines.TURNED]
    print(f"sin(pi*f): relative difference {max(abs(k / float(n) - 1) for k, n in zip(kept, found)):.1e}")
    print(f"sin(r): relative error {off_by_polynomial():.2f} * 2^-24")


def off_by_polynomial() -> float:
    c = [mp.mpf(float.fromhex(w)) for w in sines.SINE]
    at = [mp.pi / 2 * k / 500 for k in range(1, 501)]
    return float(max(abs((r + r**3 * mp.polyval(c[::-1], r * r)) / mp.sin(r) - 1) for r in at) * 2**24)


_SCAN = r"""
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
$TEXT
#define WORD(x) WORD_OF(x)
#define WORD_OF(x) #x
enum { LANES = sizeof(tg_sines) / 4, KINDS = 4 };
static const double ends[] = {1, 10, 1e4, 0x1p17, 1e39};
static const char *const kinds[KINDS] = {"sin", "libmvec's sin", "cos", "libmvec's cos"};
int main(int count, char **words)
{
    void *const libmvec = dlopen("libmvec.so.1", RTLD_NOW);
    tg_sines (*const f[KINDS])(tg_sines) = {TG_SINE_NAME(sinf), dlsym(libmvec, WORD(TG_SINE_NAME(sinf))),
                                            TG_SINE_NAME(cosf), dlsym(libmvec, WORD(TG_SINE_NAME(cosf)))};
    double worst[KINDS][5] = {{0}}, sum[KINDS][5] = {{0}};
    long all[5] = {0}, beyond[KINDS] = {0}, unlike = 0;
    const unsigned step = atoi(words[1]);
    for (uint64_t base = 0x800000; base + LANES * step < 0x7f800000; base += LANES * step) {
        tg_sine_bits bits;
        for (int l = 0; l < LANES; l++) bits[l] = base + l * step;
        const tg_sines x = (tg_sines)bits;
        tg_sines y[KINDS];
        for (int k = 0; k < KINDS; k++) y[k] = f[k](x);
        const tg_sines odd = f[0](-x), even = f[2](-x);
        for (int l = 0; l < LANES; l++) {
            const double want[2] = {sin(x[l]), cos(x[l])};
            int w = 0, e;
            while (x[l] > ends[w]) w++;
            all[w]++, unlike += odd[l] != -y[0][l] || even[l] != y[2][l];
            for (int k = 0; k < KINDS; k++) {
                frexp(want[k / 2], &e);
                const double off = fabs(y[k][l] - want[k / 2]) / ldexp(1, (e < -125 ? -125 : e) - 24);
                worst[k][w] = fmax(worst[k][w], off), sum[k][w] += off, beyond[k] += fabsf(y[k][l]) > 1;
            }
        }
    }
    for (int k = 0; k < KINDS; k++) {
        printf("%-14s", kinds[k]);
        for (int w = 0; w < 5; w++) printf(" to %g %.4f, %.4f;", ends[w], worst[k][w], sum[k][w] / all[w]);
        printf(" beyond 1: %ld\n", beyond[k]);
    }
    printf("negative arguments give something else: %ld\n", unlike);
}"""


def scan(step: int) -> None:
    """Largest and mean errors in units of the last place, by ranges; libm's functions of float64 are the measure."""
    text = _SCAN.replace("$TEXT", prelude.needed("sinf cosf"))
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "scan.c"), str(Path(folder, "scan"))
        source.write_text("#include <stdint.h>\n" + text)
        flags = ["-O1", "-ftree-vectorize", "-fno-math-errno", "-fno-trapping-math", "-w", "-march=native"]
        subprocess.run(["gcc", *flags, source, "-o", program, "-ldl", "-lm"], check=True)
        subprocess.run([program, str(step)], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", type=int, metavar="K", help="try every K-th float32")
    options = parser.parse_args()
    scan(options.scan) if options.scan else report()

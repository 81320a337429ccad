"""Other compilers than gcc, where they are installed, and C libraries without vector mathematics."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import compilers
from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import build_plain
from termgraph.backends.c.cprogram import FLAGS, GATHERS, MULTIPLY_ADD, SPARED, WIDE
from termgraph.backends.c.text import halves, loop_flags

LINKER = "auto"
ZIG = importlib.util.find_spec("ziglang")
CHOICES = {
    "clang": shutil.which("clang") or shutil.which("clang-14") or "",
    "zig": f"'{pathlib.Path(ZIG.origin).with_name('zig')}' cc" if ZIG is not None and ZIG.origin else "",
}
SCRIPT = """
import numpy as np, termgraph as tg, termgraph.tensor as T
from termgraph.backends.c.run import glue
from termgraph.backends.c.build.compilers import find_compiler

rng = np.random.default_rng(0)
x, m, h, k, z = T.dvector("x"), T.fmatrix("m"), T.vector("h", dtype="float16"), T.lvector("k"), T.zvector("z")
b = T.cast(m, "bfloat16")
values = [rng.normal(size=103), rng.normal(size=(17, 33)).astype("f4"), rng.normal(size=19).astype("f2"),
          rng.integers(-9, 9, 40), rng.normal(size=9) + 1j]
long = x
for i in range(260):  # several functions over blocks
    long = T.sin(long) * 1.5 + x if i % 3 else long - x / (i + 2)
total, _ = tg.scan(lambda e, s: T.tanh(s + e), sequences=x, outputs_info=T.constant(0.0))
outputs = [
    T.tanh(2 * x + 1) * T.exp(-(x**2)) + T.log1p(abs(x)), T.expm1(x), T.log1p(x * x), x.max(), x.argmin(),
    (x * x).sum(), T.dot(m.T, m[:, 0]), z * z / (z + 1), abs(z), k << 2,
    T.exp(m) / T.exp(m).sum(axis=1, keepdims=True), m.sum(axis=0), m.max(axis=1), T.tanh(T.dot(m, m.T) + 1),
    h * 3 + h.sum(), T.cast(x * 1000, "float16"), T.cast(h, "float32"), k // 3 + k % 5, k.sum(),
    b * 3 + b.sum(0), T.dot(b, b.T), long, total, m[::-2, 1:].T + 1, T.cumsum(x), T.join(0, x, x * 2), x[k + 10],
    T.sort(x), T.sort(h), T.argsort(k), T.argtopk(x, 5), T.median(m, axis=1), T.median(T.cast(k, "int8")), T.median(x),
    T.partition(x, 40), T.argpartition(m, [3, 9], axis=1), T.partition(k, 7), T.searchsorted(T.sort(x), m[0]),
    T.linalg.solve_banded((1, 1), T.stack([x, x + 9, x]), x), T.linalg.solve_toeplitz(T.join(0, [50.0], x[1:]), x),
    k.argmax(), T.signal.upfirdn(x[:9], x, 2, 3), T.erfinv(T.tanh(x)), T.dot(m > 0, m.T > 0), x[:, None] > x[:2],
]
inputs = [x, m, h, k, z]
found = tg.function(inputs, outputs)(*values)
wanted = tg.function(inputs, outputs, mode=tg.Mode(linker="py"))(*values)
for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
    if a.dtype == b.dtype == "bfloat16":
        a, b = a.astype("float16"), b.astype("float16")
    bound = {1: 0, 2: 8e-3, 4: 2e-5, 8: 1e-11, 16: 1e-11}[np.asarray(b).itemsize]
    np.testing.assert_allclose(a, b, rtol=bound, atol=bound, err_msg=str(i))
ends = np.array([-np.inf, -800.0, -1e-300, -0.0, 0.0, 1e-300, 710.0, 800.0, np.inf, np.nan])
y = T.dvector("y")
names = ["expm1", "log1p", "tanh", "exp", "log"]
with np.errstate(all="ignore"):
    for name, a in zip(names, tg.function([y], [getattr(T, name)(y) for name in names])(ends)):
        np.testing.assert_allclose(a, getattr(np, name)(ends), rtol=1e-14, err_msg=name)
big = rng.normal(size=10**6)
np.testing.assert_allclose(tg.function([x], T.exp(x).sum())(big), np.exp(big).sum())
print(find_compiler().kind, glue.provider().__name__)
"""


@pytest.mark.parametrize("kind", ["gcc", "clang", "zig", "cc"])
def test_passes_are_left_out_by_the_compiler_that_knows_their_names(kind):
    """Others would refuse the flags, or warn of them."""
    compiler = compilers.Compiler(("a compiler",), kind, compilers.COMMON_FLAGS, "it")
    assert SPARED and [compiler.suits(flag) for flag in SPARED] == [kind == "gcc"] * len(SPARED)
    assert compiler.suits("-fwrapv")


@pytest.mark.parametrize("kind", ["clang", pytest.param("zig", marks=pytest.mark.slow)])
def test_flags_of_programs_are_known_to_the_compiler_that_gets_them(kind, cache_dir, monkeypatch):
    """Each one that any program may ask for, not only those of a handful of programs."""
    if not CHOICES[kind]:
        pytest.skip(f"{kind} is not installed")
    monkeypatch.setenv("CC", CHOICES[kind])
    named = [v for k, v in vars(loop_flags).items() if k.isupper() and isinstance(v, tuple)]
    of_loops = [flag for flags in named for flag in flags if isinstance(flag, str) and flag[0] == "-"]
    assert {*loop_flags.UNMOVED, *loop_flags.LESS, *loop_flags.MIXED} <= set(of_loops)
    strict = ("-Werror", "-Wno-error=ignored-optimization-argument")
    flags = (*FLAGS, *MULTIPLY_ADD, *WIDE, *GATHERS, *of_loops, *strict)
    text = "int f(int x) { return x + 1; }\n"
    assert build_plain([text], "flags", flags=flags, defined=False, load=False)


@pytest.mark.parametrize("kind", ["clang", pytest.param("zig", marks=pytest.mark.slow)])
def test_a_handful_of_programs(kind, tmp_path):
    if not CHOICES[kind]:
        pytest.skip(f"{kind} is not installed")
    environment = {
        **os.environ, "TERMGRAPH_FLAGS": f"cc={CHOICES[kind]},cache.dir={tmp_path},linker=auto",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [kind, "_glue"]


@pytest.mark.parametrize("kind", ["gcc", "clang", pytest.param("zig", marks=pytest.mark.slow)])
def test_pointers_to_other_types_are_refused_and_those_to_constant_numbers_are_not(kind, cache_dir, monkeypatch):
    command = CHOICES.get(kind) or shutil.which(kind)
    if not command:
        pytest.skip(f"{kind} is not installed")
    monkeypatch.setenv("CC", command)
    given = "void g(double *); int f({} *p) {{ g(p); return 0; }}\n"
    assert build_plain([given.format("const double")], "constant", defined=False, load=False)
    with pytest.raises(CompileError, match="incompatible pointer type"):
        build_plain([given.format("float")], "other", defined=False, load=False)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("known", [set(), {"exp", "log"}])
def test_without_vector_mathematics_functions_are_called_one_by_one(known, cache_dir, monkeypatch):
    monkeypatch.setattr(compilers, "libmvec", lambda: frozenset(known))
    monkeypatch.setattr("termgraph.backends.c.build.library.has_libmvec", lambda: bool(known))
    x = T.dvector("x")
    f = tg.function([x], T.tanh(x) + T.exp(x) + T.cbrt(x))
    source = f.source("c")
    assert source.count("simd(") == len(known & {"exp"}) and "double cbrt(double)" in source
    values = np.linspace(-2, 2, 37)
    np.testing.assert_allclose(f(values), np.tanh(values) + np.exp(values) + np.cbrt(values), rtol=1e-14)
    (command,) = [c for e in default_cache().entries() if e.why["name"] == "function" for c in e.why.get("command", ())]
    assert ("-lmvec" in command) == bool(known)


def test_flags_of_clang_name_vector_mathematics_only_where_all_of_it_is(monkeypatch):
    passes = compilers._LOOKED_AT_ONCE
    assert compilers._choices("gcc") == [
        ("-march=native", compilers._CLEARED, *kept) for kept in (passes, passes[:1], ())
    ] + [("-march=native",)]
    monkeypatch.setattr(compilers, "libmvec", lambda: frozenset({"exp"}))
    assert compilers._choices("clang") == [("-march=native",)]
    monkeypatch.setattr(compilers, "libmvec", lambda: frozenset(compilers._LIBMVEC_ONE + compilers._LIBMVEC_TWO))
    assert compilers._choices("clang")[0] == ("-march=native", "-fveclib=libmvec", "-DTG_VECLIB")


@pytest.mark.parametrize("missing", ["nothing", "__F16C__"])
def test_halves_without_their_instructions(cache_dir, missing):
    import ctypes

    if find_compiler() is None:
        pytest.skip("no C compiler")
    text = "".join(halves.TEXTS[name] + "\n" for name in ("tg_from_half", "tg_to_half", "tg_round_half"))
    text = "#include <stdint.h>\n" + text.replace(missing, "NOT_DEFINED") + (
        "void widen(uint16_t *h, float *f, long n) { for (long i = 0; i < n; i++) f[i] = tg_from_half(h[i]); }\n"
        "void narrow(float *f, uint16_t *h, long n) { for (long i = 0; i < n; i++) h[i] = tg_to_half(f[i]); }\n"
        "void rounded(float *f, float *g, long n) { for (long i = 0; i < n; i++) g[i] = tg_round_half(f[i]); }\n"
    )  # fmt: skip
    handle = build_plain([text], "halves").handle

    def run(function, given, dtype):
        out = np.empty(given.size, dtype)
        function(given.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(given.size))
        return out

    every = np.arange(65536, dtype="u2")
    with np.errstate(all="ignore"):
        wide = every.view("f2").astype("f4")
        between = [wide, np.nextafter(wide, np.float32(np.inf)), (wide[:-1] + wide[1:]) / 2]
        between.append(np.random.default_rng(0).integers(0, 2**32, 10**5, dtype="u8").astype("u4").view("f4"))
        given = np.concatenate(between).astype("f4")
        wanted = given.astype("f2")
    found = run(handle.widen, every, "f4")
    np.testing.assert_array_equal(found, wide)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wide))
    found = run(handle.rounded, given, "f4")
    np.testing.assert_array_equal(found, wanted.astype("f4"))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
    found = run(handle.narrow, given, "u2").view("f2")
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))

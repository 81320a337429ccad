"""What `termgraph doctor` says about the C backend: compiler, vector mathematics, BLAS, glue and cache.

May touch: whatever it examines. Each function yields (what, status, detail), where status is "ok", "note" or "problem".
"""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from termgraph.backends.c.build import cache_files, compiler_errors, compilers
from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.run import blas as blas_module
from termgraph.backends.c.run import glue, numpy_loops
from termgraph.backends.c.run.cores import thread_count
from termgraph.backends.c.signature import Input, Output, Signature

Row = tuple[str, str, str]

_NO_COMPILER = (
    "none, so functions run on NumPy, which is slower; install one (apt install gcc, conda install gcc, or pip install "
    "ziglang) or name one in $CC"
)
_PROBE = """
/* checked %d */
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[2] = env[0]; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    for (int64_t i = 0; i < env[0]; i++) ((double *)buf[1])[i] = ((double *)buf[0])[i * env[1]] + 1;
    return 0;
}
"""
_PROBE_SIGNATURE = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one")


def compiler() -> Iterator[Row]:
    """Which compiler is used, how long a program takes to build, how long a call takes."""
    found = compilers.find_compiler()
    if found is None:
        yield "compiler", "problem", _NO_COMPILER
        yield "tried", "note", compilers.why_no_compiler().replace("\n", "; ")
        return
    yield "compiler", "ok", f"{found.kind}, {shlex.join(found.command)}: {found.version}"
    native = "-march=native" in found.flags
    slower = "" if native else "; it does not know -march=native: code uses no more than any processor of this kind has"
    yield "flags", "ok" if native else "note", " ".join(found.flags) + slower
    yield from _probe()
    yield _vector_functions(found)
    yield "threads", "ok", f"{thread_count()} for a compiled loop"


def _probe() -> Iterator[Row]:
    fast = glue.provider().__name__ == "_glue"
    begin = time.perf_counter()
    try:
        library = build_library(_PROBE % time.time_ns(), "doctor")
    except (compiler_errors.CompileError, OSError) as error:
        yield "probe", "problem", f"a small program cannot be built: {error}"
        return
    seconds = time.perf_counter() - begin
    yield "probe", "ok", f"built and loaded in {seconds * 1e3:.0f} ms"
    f, x = glue.bind(library, _PROBE_SIGNATURE), np.zeros(3)
    if list(f(x)) != [1, 1, 1]:
        yield "calls", "problem", f"x + 1 gives {f(x)} for x = {x}; please report this"
        return
    default_cache().discard(library.key)
    rate = f"{_best(lambda: [f(x) for _ in range(1000)]) * 1e3:.2f} us per call of x + 1, {x.size} elements"
    yield (
        "calls",
        "ok" if fast else "note",
        rate + ("" if fast else "; through ctypes, because the glue cannot be built"),
    )


def _vector_functions(compiler: compilers.Compiler) -> Row:
    available = sorted(compilers.libmvec())
    missing = sorted({*compilers._LIBMVEC_ONE, *compilers._LIBMVEC_TWO} - set(available))
    if not available:
        return (
            "libmvec",
            "note",
            "not found: exp, log, tanh ... are computed one element at a time (glibc 2.35 has them)",
        )
    if compiler.kind != "gcc":
        which = "exp, log, pow, sin, cos" if compilers._VECLIB[0] in compiler.flags else "none"
        return "libmvec", "note", f"{compiler.kind} uses few of its functions ({which} and their like); gcc uses all"
    return "libmvec", "ok", f"{len(available)} functions" + (f"; missing: {', '.join(missing)}" if missing else "")


def blas() -> Iterator[Row]:
    """Which BLAS is used and how fast it is."""
    found, tried = blas_module.available()
    for text in tried:
        yield "passed over", "note", text
    if found is None:
        yield "BLAS", "problem", "none can be loaded; run: pip install scipy-openblas32"
        return
    found.set_threads(blas_module.blas_thread_count())
    yield "BLAS", "ok", f"{found.provider}, {blas_module.blas_thread_count()} thread(s), {found.path}"
    if compilers.find_compiler() is not None:
        for letter, dtype in (("s", np.float32), ("d", np.float64)):
            yield f"{letter}gemm 512", "ok", f"{_gemm_rate(letter, dtype, 512):.0f} GFLOP/s"


def routines() -> Iterator[Row]:
    """Which compiled loops of NumPy and SciPy generated code can call."""
    wanted = {
        "linear algebra": ["linalg__solve__dd_d", "linalg__svd_f__d_ddd", "linalg__qr_r_raw__d_d"],
        "transforms": ["fft__fft__Dd_D", "fft__rfft_n_even__dd_D"],
        "sorting": ["sort__sort__float64_", "sort__argsort__float64_"],
    }
    for what, names in wanted.items():
        missing = [name.split("__")[1] for name in names if not numpy_loops.available([name])]
        text = f"no address for {', '.join(missing)} in NumPy {np.__version__}: they run between compiled parts"
        yield what, "note" if missing else "ok", text if missing else f"NumPy {np.__version__}, called without Python"


def _gemm_rate(letter: str, dtype: type, n: int) -> float:
    """GFLOP/s of a square matrix product, called the way compiled programs call it."""
    text = (
        "int tg_plan(int64_t *env, char *const *buf, tg_status *st)\n"
        "{\n    env[8] = env[9] = env[0];\n    env[10] = 1000000;\n    return 0;\n}\n"
        "int tg_run(char **buf, const int64_t *env, tg_status *st)\n{\n"
        f"    TG_BLAS->{letter}gemm(TG_ROWS, TG_PLAIN, TG_PLAIN, env[0], env[0], env[0], 1, (void *)buf[0], env[0],\n"
        "        (void *)buf[1], env[0], 0, (void *)buf[2], env[0]);\n    return 0;\n}\n"
    )
    name = np.dtype(dtype).name
    signature = Signature(
        [Input("a", name, (None, None)), Input("b", name, (None, None))], outputs=[Output(name, 2)], returns="one"
    )
    f = glue.bind(build_library(text, f"doctor_{letter}gemm", needs_blas=True), signature)
    a: np.ndarray = np.ones((n, n), dtype)
    if f(a, a)[0, 0] != n:
        raise RuntimeError(f"{letter}gemm is wrong: {f(a, a)[0, 0]} instead of {n}")
    return 2 * n**3 / _best(lambda: f(a, a)) / 1e9


def cache() -> Iterator[Row]:
    """Where compiled code is kept, how much there is, whether it can be written."""
    kept = default_cache()
    entries = list(kept.entries())
    size = sum(entry.size for entry in entries)
    yield "folder", "ok", kept.root
    yield "content", "ok", f"{len(entries)} entries, {size / 1e6:.1f} of at most {kept.limit() / 1e6:.0f} MB"
    place = kept.root
    while not os.path.exists(place):
        place = os.path.dirname(place)
    refusal = _why_not_writable(place)
    if refusal is not None:
        yield (
            "writable",
            "problem",
            f"{place} cannot be written ({refusal}), so every process compiles anew; make room there, or set the flag "
            "cache.dir to a folder you can write",
        )
    doubt = cache_files.distrust(kept.root)
    if doubt is not None:
        yield (
            "safety",
            "problem",
            f"{doubt}, and so nothing is loaded from it; repair it with: chmod -R go-w {kept.root}",
        )


def _why_not_writable(folder: str) -> str | None:
    """Why a file as large as a program cannot be written: one is, for a full disk has its permissions still."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 18))
    except OSError as error:
        return error.strerror or str(error)
    return None


def _best(run, seconds: float = 0.1) -> float:
    """Shortest time of one call, in seconds."""
    best, until = float("inf"), time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        run()
        end = time.perf_counter()
        best = min(best, end - begin)
        if end > until:
            return best

"""Runs tests with generated code built for the address and undefined-behaviour sanitizers.

    python scripts/sanitize.py SECONDS [pytest arguments]
    python scripts/sanitize.py SECONDS matrix SEED        the cells of the op matrix that run in C

A finding ends the process at once, with the place in the generated code. No test is started after SECONDS. First a
program that writes out of bounds is built the same way: if nothing stops it, the sanitizers are not at work and this
script fails. Needs gcc with its sanitizers; says so and does nothing where they are missing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = "-g1 -fno-omit-frame-pointer -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all"
FAULTY = """
import ctypes
from termgraph.backends.c.build.library import build_plain
from termgraph.config import config

config.cflags = "FLAGS"
out_of_bounds = "int tg_faulty(int n) { int a[4] = {n}; for (int i = 0; i < n; i++) a[i] += i; return a[n - 1]; }"
library = build_plain([out_of_bounds], "faulty", header="")
ctypes.CDLL(library.path).tg_faulty(9)
"""


def runtime(name):
    """The path of a run-time library of gcc, or None."""
    if shutil.which("gcc") is None:
        return None
    path = Path(subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip())
    return str(path) if path.is_absolute() and path.exists() else None


def environment(libraries, caches):
    """The sanitizers' run-time libraries must be loaded before Python; leaks are Python's own business."""
    preload = {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    return {**os.environ, **preload, "UBSAN_OPTIONS": "print_stacktrace=1", "XDG_CACHE_HOME": caches}


def main(seconds, *arguments):
    libraries = [runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    if None in libraries:
        print("gcc's sanitizers are not installed: nothing is checked")
        return 0
    with tempfile.TemporaryDirectory(prefix="termgraph-sanitize-") as caches:
        inside = environment(libraries, caches)
        code = FAULTY.replace("FLAGS", FLAGS)
        faulty = subprocess.run([sys.executable, "-c", code], env=inside, capture_output=True, text=True)
        if faulty.returncode == 0 or "runtime error" not in faulty.stderr + faulty.stdout:
            print(f"the sanitizers did not stop a faulty program:\n{faulty.stdout}{faulty.stderr}")
            return 1
        return subprocess.run([sys.executable, *command(seconds, arguments)], env=inside).returncode


def command(seconds, arguments):
    """What Python runs under the sanitizers."""
    if arguments[:1] == ("matrix",):
        begin = f"import runpy; from termgraph.config import config; config.cflags = {FLAGS!r}; "
        seed = arguments[1] if len(arguments) > 1 else "0"
        asked = ["--linker", "auto", "--seconds", seconds, "--seed", seed]
        return ["-c", f"{begin}runpy.run_module('tests.matrix', run_name='__main__', alter_sys=True)", *asked]
    tests = arguments or ("tests/lower/test_fuzz.py", "tests/backends/c/test_c_vectors.py")
    return ["-m", "pytest", "-q", "-x", "--budget", seconds, "--cflags", FLAGS, *tests]


if __name__ == "__main__":
    raise SystemExit(main(*(sys.argv[1:] or ["60"])))

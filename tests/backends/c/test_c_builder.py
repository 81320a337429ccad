"""From text to a loaded library, BLAS, the choice of glue or ctypes, the doctor, and warm starts."""

import ast
import importlib.util
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import doctor
from termgraph.backends.c.build import cache as caches
from termgraph.backends.c.build import library as libraries
from termgraph.backends.c.build.cache import Cache, default_cache, installation_cache
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import NoCompilerError
from termgraph.backends.c.build.program_library import build_library, program_header
from termgraph.backends.c.run import blas, cores, glue
from termgraph.backends.c.signature import Input, Output, Signature
from termgraph.config import config

TWO_HALVES = [
    """
TG_HIDDEN int half(double *x, int64_t n, tg_status *st);
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[2] = env[0]; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    __builtin_memcpy(buf[1], buf[0], 8 * env[0]);
    return half((void *)buf[1], env[0], st);
}
""",
    """
TG_HIDDEN int half(double *x, int64_t n, tg_status *st);
int half(double *x, int64_t n, tg_status *st)
{
    for (int64_t i = 0; i < n; i++) x[i] *= 0.5;
    return tg_rt->abi == TG_ABI ? 0 : tg_fail(st, 1, 0, tg_rt->abi, 0, 0, 0);
}
""",
]
VECTOR = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one")


@pytest.fixture(autouse=True)
def forget_loaded(monkeypatch):
    monkeypatch.setattr(libraries, "_loaded", {})


def test_two_sources_make_one_library(shared_cache):
    f = glue.bind(build_library(TWO_HALVES, "halves"), VECTOR)
    np.testing.assert_array_equal(f(np.arange(4.0)), np.arange(4.0) / 2)


MATHEMATICS = """
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tgmath.h>
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[2] = env[0]; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    double *copy = malloc(env[0] * sizeof(double)), *out = (double *)buf[1];
    memmove(copy, buf[0], env[0] * sizeof(double));
    for (int64_t i = 0; i < env[0]; i++) {
        double complex z = copy[i] + I * copy[i], w = z * z / (1 + z); /* calls the compiler's own functions */
        out[i] = pow(copy[i], 1.5) + lgamma(copy[i]) + creal(w) * 0;
    }
    free(copy);
    return 0;
}
"""


def test_a_program_finds_what_it_calls_though_the_c_library_is_not_linked(cache_dir):
    """The newest versions of mathematical functions, too: `pow` of old glibc sets errno."""
    made = build_library(MATHEMATICS, "mathematics")
    x = np.array([0.5, 1.5, 7.0])
    expected = [math.pow(v, 1.5) + math.lgamma(v) for v in x]
    np.testing.assert_allclose(glue.bind(made, VECTOR)(x), expected, rtol=1e-14)
    command = default_cache().lookup(made.key).why["command"][0]
    assert ("-nostdlib" in command) == (find_compiler().kind == "gcc" and sys.platform == "linux")
    with config.change_flags(cflags="-O1"):  # the user's flags may need libraries of the compiler's
        made = build_library(MATHEMATICS, "mathematics")
        assert "-nostdlib" not in default_cache().lookup(made.key).why["command"][0]


def linked_with(folder):
    """How the newest library of a cache was linked, and the names that it leaves to other libraries."""
    library = max(pathlib.Path(folder).rglob("m.so"), key=lambda path: path.stat().st_mtime_ns)
    command = json.loads((library.parent / "why.json").read_text())["command"][0]
    asked = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    return command, {line.split()[-1].split("@")[0] for line in asked.stdout.splitlines() if " U " in line}


@pytest.mark.skipif(shutil.which("nm") is None or sys.platform != "linux", reason="no nm to ask")
@pytest.mark.parametrize("kind", ["plain", "exp", "floor", "pow", "hypot", "remainder", "complex power", "solve"])
def test_the_library_of_mathematics_is_linked_where_it_is_called(cache_dir, kind):
    x = T.dmatrix("x")
    y = x.astype("float32")
    plain = [
        T.sqrt(x),
        abs(x),
        T.maximum(x, 0),
        T.tanh(y),
        T.exp(y),
        T.sigmoid(y),
        (x @ x).var(0),
        x.sum() / x.shape[0],
    ]
    outs = {
        "plain": plain, "exp": [T.exp(x)], "floor": [T.floor(x)], "pow": [x**x], "hypot": [T.hypot(x, x.T)],
        "remainder": [T.mod(x, x.T)], "complex power": [(x + 1j) ** (x - 2j)], "solve": [T.linalg.solve(x, x)],
    }[kind]  # fmt: skip
    tg.function([x], outs, mode=tg.Mode(linker="c"))
    command, left = linked_with(cache_dir)
    gcc = find_compiler().kind == "gcc"
    assert ("-lm" in command) == (kind != "plain" or not gcc)
    if kind == "plain" and gcc:
        assert left <= {"memcpy", "memset", "memmove", "malloc", "calloc", "free", "aligned_alloc"}


def test_a_library_is_built_once(cache_dir, kernels):
    text = kernels.VECTOR_ADD_ONE.replace("TYPE", "double")
    first = build_library(text, "f")
    assert first.how == "built" and build_library(text, "f") is first
    libraries._loaded.clear()
    again = build_library(text, "f")
    assert again.how == "hit" and again.key == first.key and again.path == first.path
    assert build_library(text, "f", flags=["-O2"]).how == "built"
    assert build_library(text, "f", parts={"header of the user": "1"}).how == "built"
    why = default_cache().lookup(first.key).why
    assert why["name"] == "f" and find_compiler().version == why["version"] and why["seconds"] > 0


def test_a_second_process_compiles_nothing(cache_dir, kernels):
    code = f"""
import numpy as np, sys
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.build import calling, compiling
from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import Input, Output, Signature
from termgraph.config import config
config.cache.dir = {str(cache_dir)!r}
if sys.argv[1] == "warm":
    calling.start_compiler = compiling.start_compiler = None
library = build_library({kernels.VECTOR_ADD_ONE.replace("TYPE", "double")!r}, "f")
f = glue.bind(library, Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one"))
print(library.how, f(np.zeros(2)), glue.provider().__name__)
"""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    said = [
        subprocess.run(
            [sys.executable, "-c", code, step], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for step in ("cold", "warm")
    ]
    assert said == ["built [1. 1.] _glue\n", "hit [1. 1.] _glue\n"]


def test_the_glue_is_built_and_the_compiler_tried_once_per_installation(tmp_path):
    """Both are kept beside the bytecode: a process with an empty cache of programs compiles the program alone."""
    code = """
import sys, termgraph as tg, termgraph.tensor as T
from termgraph.backends.c.build.cache import default_cache, installation_cache
x = T.dvector("x")
tg.function([x], x + float(sys.argv[1]), mode=tg.Mode(linker="c"))
print(sorted(e.why["name"] for e in default_cache().entries() if e.why["kind"] in ("library", "compiler")), end="; ")
print(sorted(e.why["kind"] + " " + e.why["name"] for e in installation_cache().entries()), end="; ")
print(installation_cache().counts["built"])
"""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONPYCACHEPREFIX": str(tmp_path / "pyc")}
    said = []
    for k in "12":
        environment = {**kept, **paths, "TERMGRAPH_FLAGS": f"cache.dir={tmp_path / k}"}
        done = subprocess.run([sys.executable, "-c", code, k], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip().split("; "))
    (programs, kept, built), (_, kept_still, built_again) = said
    assert "_glue" not in programs and "gcc" not in programs
    assert kept == kept_still and "library _glue" in kept and "compiler /" in kept
    assert (built, built_again) == ("3", "0")  # also how arguments are copied, which all programs share


def test_the_glue_of_a_changed_file_is_another_one(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "_SOURCES", str(tmp_path))
    for name in ("a.c", "b.h"):
        (tmp_path / name).write_text("int a;")
        os.utime(tmp_path / name, ns=(0, 10**18))
    seen = [libraries.package_times(["a.c", "b.h"])]
    assert libraries.package_times(["a.c", "b.h"]) == seen[0]
    for change in ({"ns": (0, 10**18 + 1)}, {"text": "int aa;"}):
        if "text" in change:
            (tmp_path / "b.h").write_text(change["text"])
        os.utime(tmp_path / "b.h", ns=change.get("ns", (0, 10**18)))
        seen.append(libraries.package_times(["a.c", "b.h"]))
    assert len(set(seen)) == 3


def test_a_text_that_is_known_by_something_else_is_read_to_compile_it_only(cache_dir):
    read = []

    def texts():
        read.append(1)
        return ["int known;"]

    made = [libraries.build_plain(texts, "f", known_by=by, load=False) for by in ("one", "one", "two")]
    assert [library.how for library in made] == ["built", "hit", "built"] and len(read) == 2
    assert made[0].key == made[1].key != made[2].key


def test_where_the_glue_is_kept(cache_dir, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert installation_cache() is default_cache()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    assert installation_cache() is default_cache()  # Python has written nothing there
    folder = pathlib.Path(importlib.util.cache_from_source(caches.__file__)).parent
    folder.mkdir(parents=True)
    assert installation_cache().root == str(folder / "compiled")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)  # somebody else's installation
    assert installation_cache() is default_cache()


def test_compile_errors_show_the_line_of_the_generated_code(cache_dir):
    with pytest.raises(CompileError, match="oops") as caught:
        build_library("int a;\nint b = oops;\n", "broken")
    assert caught.value.line == 2 and "int b = oops;" in str(caught.value) and "broken" in str(caught.value)
    with pytest.raises(CompileError) as caught:
        build_library([TWO_HALVES[0], "int c;\n\nint d = oops;"], "broken")
    assert caught.value.line == 3 and "int d = oops;" in str(caught.value)
    assert [entry.why["kind"] for entry in default_cache().entries() if entry.why["kind"] == "library"] == []


def test_a_missing_symbol_is_found_when_building(cache_dir):
    with pytest.raises(CompileError, match="not_there"):
        build_library(
            "int not_there(void);\nint tg_plan(int64_t *e, char *const *b, tg_status *s) { return not_there(); }", "f"
        )


def test_a_damaged_library_is_built_again(cache_dir, kernels):
    text = kernels.VECTOR_ADD_ONE.replace("TYPE", "float")
    path = pathlib.Path(build_library(text, "f").path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    replacement = path.with_name("new")
    replacement.write_bytes(content)
    os.replace(replacement, path)  # a new file: the old one is mapped into this process
    libraries._loaded.clear()
    with pytest.warns(UserWarning, match="damaged"):
        assert build_library(text, "f").how == "built"


def test_an_entry_that_vanishes_before_loading_is_built_again(cache_dir, kernels, monkeypatch):
    text = f"int vanishing_{os.getpid()};"
    libraries.build_plain([text], "f", load=False)
    cache, real, calls = default_cache(), default_cache().get_or_make, []

    def vanishing(*args, **keywords):
        entry, how = real(*args, **keywords)
        calls.append(how)
        if len(calls) == 1:
            cache.clear()
        return entry, how

    monkeypatch.setattr(cache, "get_or_make", vanishing)
    assert libraries.build_plain([text], "f").how == "built" and calls == ["hit", "built"]


def test_flags_of_the_user_are_used(cache_dir, kernels, monkeypatch):
    monkeypatch.setattr(config, "cflags", "-DTYPE=double -O2")
    library = build_library(kernels.VECTOR_ADD_ONE, "f")
    assert "-DTYPE=double -O2" in default_cache().lookup(library.key).why["parts"]["flags"]


def test_no_compiler_is_an_error_that_says_what_was_tried(cache_dir, monkeypatch):
    monkeypatch.setattr(config, "cc", "none")
    with pytest.raises(NoCompilerError, match="no compiler is wanted"):
        build_library("int a;", "f")


# -- glue or ctypes -------------------------------------------------------------------------


def test_ctypes_is_used_with_a_warning_where_the_glue_fails(shared_cache, monkeypatch, kernels):
    monkeypatch.setattr(glue, "_provider", None)

    def fails():
        raise RuntimeError("laid out differently")

    monkeypatch.setattr(glue, "load_glue", fails)
    with pytest.warns(glue.GlueWarning, match="laid out differently"):
        module = glue.provider()
    assert module is glue.load_fallback()
    f = glue.bind(build_library(kernels.VECTOR_ADD_ONE.replace("TYPE", "double"), "f"), VECTOR)
    assert list(f(np.zeros(2))) == [1, 1]


def test_the_glue_refuses_objects_laid_out_otherwise(shared_cache):
    module = glue.load_glue()
    with pytest.raises(RuntimeError, match="differently"):
        module.start(glue._numpy_api(), np.zeros((2, 3)), np.float64(1.5), np.bool_(True))


def test_nothing_is_probed_when_imported():
    code = (
        "import sys, subprocess, ctypes\n"
        "subprocess.Popen = ctypes.CDLL = None\n"
        "import termgraph.backends.c.build.library, termgraph.backends.c.run.glue, termgraph.backends.c.doctor\n"
        "import termgraph.backends.c.build.cache_cli, termgraph.backends.c.run.ctypes_glue\n"
        "assert 'scipy_openblas32' not in sys.modules and 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- BLAS -----------------------------------------------------------------------------------


def gemm(letter, ctype):
    one = "1, " if letter in "sd" else f"({ctype}[]){{1}}, "
    zero = "0, " if letter in "sd" else f"({ctype}[]){{0}}, "
    return f"""
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{{ env[8] = env[0]; env[9] = env[4]; env[10] = 0; return 0; }}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{{
    TG_BLAS->{letter}gemm(TG_ROWS, TG_PLAIN, TG_TRANS, env[0], env[4], env[1], {one}(void *)buf[0], env[2],
                          (void *)buf[1], env[6], {zero}(void *)buf[2], env[4]);
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("letter", "dtype", "ctype"),
    [
        ("s", "float32", "float"),
        ("d", "float64", "double"),
        ("c", "complex64", "_Complex float"),
        ("z", "complex128", "_Complex double"),
    ],
)
def test_matrix_products(programs, letter, dtype, ctype):
    inputs = [Input("a", dtype, (None, None)), Input("b", dtype, (None, None))]
    signature = Signature(inputs, outputs=[Output(dtype, 2)], returns="one")
    f = programs.bind(gemm(letter, ctype), signature, "gemm", build={"needs_blas": True})
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(dtype) for shape in ((3, 5), (4, 5)))
    if letter in "cz":
        a = a * np.array(1 + 2j, dtype)
    np.testing.assert_allclose(f(a, b), a @ b.T, rtol=1e-5)


def test_every_function_of_the_table_exists():
    found, tried = blas.available()
    assert found is not None, tried
    assert found.provider == "scipy-openblas32" and all(found.table)


def test_numpys_own_library_can_stand_in(monkeypatch, cache_dir):
    candidates = [c for c in blas._candidates() if c[0] == "numpy"]
    if candidates[0][1] is None:
        pytest.skip("this NumPy was not installed as a wheel with OpenBLAS")
    monkeypatch.setattr(blas, "_candidates", lambda: [("scipy-openblas32", None, False), *candidates])
    blas._load.cache_clear()
    try:
        inputs = [Input("a", "float64", (None, None)), Input("b", "float64", (None, None))]
        library = build_library(gemm("d", "double"), "gemm", needs_blas=True)
        f = glue.bind(library, Signature(inputs, outputs=[Output("float64", 2)], returns="one"))
        assert blas.load().wide and "int64_t tg_int" in program_header(needs_blas=True)
        np.testing.assert_allclose(f(np.eye(3), np.arange(6.0).reshape(2, 3)), np.arange(6.0).reshape(2, 3).T)
    finally:
        blas._load.cache_clear()


def test_no_blas_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(blas, "_candidates", lambda: [("scipy-openblas32", None, False)])
    blas._load.cache_clear()
    try:
        with pytest.raises(blas.BlasError, match="pip install scipy-openblas32"):
            blas.load()
    finally:
        blas._load.cache_clear()


# -- the doctor -----------------------------------------------------------------------------


def test_the_doctor_finds_nothing_wrong_here(shared_cache):
    rows = [*doctor.compiler(), *doctor.blas(), *doctor.cache()]
    assert {"compiler", "probe", "calls", "libmvec", "BLAS", "sgemm 512", "folder"} <= {what for what, _, _ in rows}
    assert not [row for row in rows if row[1] == "problem"]


def test_the_doctor_says_what_to_install(monkeypatch, cache_dir):
    monkeypatch.setattr(config, "cc", "none")
    rows = list(doctor.compiler())
    assert rows[0][1] == "problem" and "ziglang" in rows[0][2]


def test_the_doctor_writes_to_the_cache_to_see_whether_it_can(monkeypatch, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    monkeypatch.setattr(doctor, "default_cache", lambda: Cache(str(in_the_way / "termgraph")))
    assert [row[:2] for row in doctor.cache() if row[1] != "ok"] == [("writable", "problem")]
    monkeypatch.setattr(doctor, "default_cache", lambda: Cache(str(tmp_path / "termgraph")))
    assert all(row[1] == "ok" for row in doctor.cache()) and os.listdir(tmp_path) == ["file"]


def test_cores_are_counted_and_flags_obeyed(monkeypatch):
    assert cores.available_cores() >= 1
    monkeypatch.setattr(config, "threads", 3)
    assert cores.thread_count() == 3
    monkeypatch.setattr(config, "threads", 0)
    assert cores.thread_count() == cores.available_cores()


# -- many processes -------------------------------------------------------------------------

PROCESS = """
import sys
import numpy as np
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import Input, Output, Signature
from termgraph.config import config
config.cache.dir, first = sys.argv[1], int(sys.argv[2])
signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], returns="one")
built = []
for i in range(5):
    k = (first + i) % 5
    library = build_library(sys.argv[3].replace("TYPE", "double").replace("+ 1", f"+ {k}"), f"add {k}")
    assert list(glue.bind(library, signature)(np.zeros(2))) == [k, k]
    built.append((k, library.how))
print(built)
"""


def start_processes(count, cache_dir, text):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    return [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(cache_dir), str(i), text],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in range(count)
    ]  # fmt: skip


@pytest.mark.slow
def test_fifty_processes_on_one_cold_cache(cache_dir, kernels):
    builds = []
    for process in start_processes(50, cache_dir, kernels.VECTOR_ADD_ONE):
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        builds += [k for k, how in ast.literal_eval(out) if how != "hit"]
    assert sorted(set(builds)) == [0, 1, 2, 3, 4] and len(builds) <= 10
    names = [entry.why["name"] for entry in default_cache().entries() if entry.why["name"].startswith("add")]
    assert sorted(names) == [f"add {k}" for k in range(5)]


@pytest.mark.slow
def test_processes_killed_while_they_compile_leave_a_cache_that_works(cache_dir, kernels):
    rng = random.Random(0)
    for _ in range(6):
        running = start_processes(4, cache_dir, kernels.VECTOR_ADD_ONE)
        time.sleep(0.3 + 0.7 * rng.random())
        for process in running:
            process.kill()
            process.communicate()
    process = start_processes(1, cache_dir, kernels.VECTOR_ADD_ONE)[0]
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0 and "damaged" not in err, err

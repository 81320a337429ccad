"""A C compiler that fails on a function: the user's line, the expression, the first error; no silent way round it."""

import stat
import subprocess
import sys
import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import CompilerWarning, find_compiler
from termgraph.config import config

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"

# Refuses the loop of the programs it is given; compiles everything else with the real compiler.
FAILS = """#!/bin/sh
line=$(awk '/^#line /{{n = $2 - 1; next}} {{n++}} /tanh/{{line = n}} END {{print line}}' source0.c 2>/dev/null)
if [ -n "$line" ]; then
    {action}
fi
exec {real} "$@"
"""
REFUSES = "echo \"source0.c:$line:9: error: 'tanh' is too hard\" >&2; seq 400; exit 1"


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Makes a compiler that fails on programs with tanh, and chooses it."""
    real = " ".join(find_compiler().command)
    config_cache = tmp_path / "cache"
    monkeypatch.setattr(config.cache, "dir", str(config_cache))

    def choose(action):
        script = tmp_path / "cc"
        script.write_text(FAILS.format(action=action, real=real))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(config, "cc", str(script))
        return script

    return choose


def refusal(make, *, match="cannot be compiled"):
    with pytest.raises(CompileError, match=match) as caught:
        make()
    return caught.value


def test_the_message_names_line_expression_and_error(compiler):
    compiler(REFUSES)
    x = T.dvector("x")
    y = (T.tanh(x) * 3).sum()  # the line named
    error = refusal(lambda: tg.function([x], y, name="f"))
    *shown, says, advice = str(error).replace(str(error.log), "LOG").splitlines()
    assert (
        shown[0].startswith(f'  File "{__file__}", line ') and "y = (T.tanh(x) * 3).sum()  # the line named" in shown[1]
    )
    assert "cannot be compiled: the C compiler refused the code of f: source0.c:" in shown[2] and "tanh(x)" in shown[2]
    assert shown[2].endswith("'tanh' is too hard")
    marked = [line for line in shown if line.startswith("  > ")]
    assert len(marked) == 1 and "tanh" in marked[0]
    assert (says, advice[:27]) == ("  compiler: cc; all it said: LOG", "  this text was generated: ")
    assert len(str(error).splitlines()) <= 10


def test_the_kernel_that_holds_the_error_is_named(compiler):
    compiler(REFUSES)
    x, m = T.dvector("x"), T.dmatrix("m")
    first = T.exp(m).sum(axis=0)
    second = T.tanh(x)  # this one
    error = refusal(lambda: tg.function([x, m], [first, second]))
    assert "second = T.tanh(x)  # this one" in str(error) and "\ntanh(x) cannot be compiled" in str(error)


def test_so_it_is_where_python_runs_a_part(compiler):
    compiler(REFUSES)
    x = T.dvector("x")
    f = T.tanh(T.unique(x))  # this line
    error = refusal(lambda: tg.function([x], T.unique(f) + 1))
    assert "f = T.tanh(T.unique(x))  # this line" in str(error) and "'tanh' is too hard" in str(error)


def test_a_program_that_was_kept_names_them_too(compiler, tmp_path):
    code = """if 1:
        import sys, shutil, glob, json
        import termgraph as tg, termgraph.tensor as T
        x = T.dvector("x")
        y = T.tanh(x) - 1  # line of a script
        if sys.argv[1] == "cold":
            tg.function([x], y)
            for why in glob.glob(tg.config.cache.dir + "/v1/*/*/why.json"):
                source = why.replace("why.json", "source0.c")
                if json.load(open(why))["kind"] == "library" and "tanh" in open(source).read():
                    shutil.rmtree(why.removesuffix("/why.json"))
        else:
            tg.config.cflags = ""
            try:
                tg.function([x], y)
            except Exception as error:
                print(type(error).__name__, error)
    """
    script = tmp_path / "script.py"
    script.write_text(code)
    marker = tmp_path / "hard"
    chosen = compiler(f"if [ -e {marker} ]; then {REFUSES}; fi")
    flags = f"cc={chosen},cache.dir={config.cache.dir}"
    said = []
    for step in ("cold", "warm"):
        done = subprocess.run(
            [sys.executable, str(script), step], env={**_environment(), "TERMGRAPH_FLAGS": flags}, text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        said.append(done.stdout)
        marker.touch()
    assert said[0] == "" and said[1].startswith("CompileError") and "line of a script" in said[1]


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("kill -SEGV $$", "the C compiler itself failed on the code of f: it was ended by the signal SIGSEGV"),
        ("echo 'cc1: internal compiler error: oops' >&2; exit 4", "itself failed on the code of f: cc1: internal"),
        ("exit 127", "could not be started for the code of f"),
    ],
)
def test_a_compiler_that_dies_is_told_apart(compiler, action, says):
    compiler(action)
    x = T.dvector("x")
    error = refusal(lambda: tg.function([x], T.tanh(x), name="f"))
    assert says in str(error) and "T.tanh(x)" in str(error) and "mode=tg.Mode(linker='py')" in str(error)


def test_a_compiler_that_has_gone_is_told(compiler):
    script = compiler("exit 1")
    x = T.dvector("x")
    tg.function([x], x + 1)
    script.unlink()
    error = refusal(lambda: tg.function([x], x + 2))
    assert "could not be started" in str(error) and "No such file" in str(error)


def test_a_full_disk_says_where(compiler):
    compiler("echo 'fatal error: error writing to x: No space left on device' >&2; exit 1")
    x = T.dvector("x")
    with (
        pytest.warns(UserWarning, match="cannot be written"),
        pytest.raises(OSError, match=r"no space left.*cache or .*: make room there, or set the flag cache.dir"),
    ):
        tg.function([x], T.tanh(x))


def test_the_virtual_machine_only_if_asked_for_and_not_unnoticed(compiler):
    compiler(REFUSES)
    x = T.dvector("x")
    with config.change_flags(on_compile_error="warn"):
        for outputs in (T.tanh(x), T.tanh(T.unique(x))):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                f = tg.function([x], outputs)
            assert [w.category for w in caught] == [CompilerWarning]
            assert "T.tanh" in str(caught[0].message) and "on the Python virtual machine" in str(caught[0].message)
            np.testing.assert_allclose(f([0.5, 1.0]), np.tanh([0.5, 1.0]))
        refusal(lambda: tg.function([x], T.tanh(x), mode=tg.Mode(linker="c")))


def test_a_named_compiler_that_is_missing_warns_once(monkeypatch, tmp_path):
    from termgraph.compile import choose

    monkeypatch.setattr(choose, "_warned", [])
    monkeypatch.setattr(config, "cc", str(tmp_path / "no-such-compiler"))
    x = T.dvector("x")
    with config.change_flags(linker="auto"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tg.function([x], x + 1)([1.0]).tolist() == [2.0]
        tg.function([x], x + 2)
    assert [w.category for w in caught] == [CompilerWarning]
    assert "not found" in str(caught[0].message) and "virtual machine" in str(caught[0].message)
    with pytest.raises(RuntimeError, match="linker='c' needs a C compiler"):
        tg.function([x], x + 1, mode=tg.Mode(linker="c"))

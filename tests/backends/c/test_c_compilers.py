"""Finding a compiler, remembering the verdict, and errors a person can read."""

import os
import shlex
import shutil
import stat
import subprocess
import sys

import pytest

from termgraph.backends.c.build import calling, compilers
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import CompilerWarning, find_compiler, why_no_compiler
from termgraph.config import config

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


@pytest.fixture(autouse=True)
def own_cache(cache_dir, monkeypatch):
    monkeypatch.delenv("CC", raising=False)


@needs_gcc
def test_gcc_is_found_and_its_verdict_remembered(monkeypatch):
    compiler = find_compiler()
    assert compiler.kind in ("gcc", "clang") and os.path.isabs(compiler.command[0])
    assert not any("fast" in flag for flag in compiler.flags)
    compilers._search.cache_clear()
    monkeypatch.setattr(compilers, "_probe", lambda *a: pytest.fail("probed twice"))
    assert find_compiler() == compiler


@needs_gcc
def test_cc_may_carry_arguments(monkeypatch):
    monkeypatch.setenv("CC", "gcc -fno-common")
    assert find_compiler().command[1:] == ("-fno-common",)
    monkeypatch.setattr(config, "cc", "gcc -fcommon")
    assert find_compiler().command[1:] == ("-fcommon",)


def run(compiler, folder, source, name):
    command = compiler.link_command(["source.c"], "m.so")
    calling.run_compiler(compiler.environment(), command, str(folder), source, name)


@pytest.mark.parametrize("text", ["", "gcc", "gcc  -O2", "'a b' c", "a\\ b", '"x', "-DA='b'"])
def test_words_are_those_of_a_shell(text):
    try:
        expected = shlex.split(text)
    except ValueError:
        with pytest.raises(ValueError, match="quotation"):
            compilers.words(text)
    else:
        assert compilers.words(text) == expected and compilers.words(compilers.joined(expected)) == expected


def test_the_flag_can_mean_no_compiler(monkeypatch):
    monkeypatch.setattr(config, "cc", "none")
    assert find_compiler() is None and "no compiler is wanted" in why_no_compiler()


def test_a_named_compiler_is_never_replaced_silently(monkeypatch):
    monkeypatch.setattr(config, "cc", "no-such-compiler")
    with pytest.warns(CompilerWarning, match="no-such-compiler: not found"):
        assert find_compiler() is None


def test_a_compiler_that_cannot_build_is_passed_over(monkeypatch, tmp_path):
    broken = tmp_path / "gcc"
    broken.write_text("#!/bin/sh\necho 'fatal: no assembler here' >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() is None
    assert "no assembler here" in why_no_compiler() and "clang: not found" in why_no_compiler()


@needs_gcc
def test_a_compiler_that_cannot_be_told_what_to_refuse(monkeypatch, tmp_path):
    """Any other one than gcc and clang, that knows no `-Werror=` of a group, is used without."""
    plain = tmp_path / "plain"
    plain.write_text(
        '#!/bin/sh\ncase "$*" in --version) echo plain 1; exit;; *-Werror=*) echo no such option >&2; exit 1;; esac\n'
        f'exec {shutil.which("gcc")} "$@"\n'
    )
    plain.chmod(plain.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(plain))
    compiler = find_compiler()
    assert compiler.kind == "cc" and compiler.flags == compilers._UNCHECKED


@needs_gcc
def test_compile_error_shows_the_first_error_and_its_line(tmp_path):
    source = "int one(void) { return 1; }\nint two(void) { return undeclared_thing; }\n"
    (tmp_path / "source.c").write_text(source)
    compiler = find_compiler()
    with pytest.raises(CompileError, match="undeclared_thing") as caught:
        run(compiler, tmp_path, source, "kernel f")
    assert (
        caught.value.line == 2 and "return undeclared_thing;" in str(caught.value) and "kernel f" in str(caught.value)
    )


@needs_gcc
def test_compile_error_cites_the_users_file(tmp_path):
    users = tmp_path / "my_op.c"
    users.write_text("first\nsecond line is wrong\n")
    source = f'#line 2 "{users}"\nsecond line is wrong\n'
    (tmp_path / "source.c").write_text(source)
    compiler = find_compiler()
    with pytest.raises(CompileError) as caught:
        run(compiler, tmp_path, source, "f")
    assert caught.value.file == str(users) and "second line is wrong" in str(caught.value)


def test_libmvec_names_are_plain_functions():
    assert compilers.libmvec() <= {*compilers._LIBMVEC_ONE, *compilers._LIBMVEC_TWO}


def test_identities_are_stable():
    code = "from termgraph.backends.c.build import compilers as c; print(c.cpu_identity(), c.libc_identity())"
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1

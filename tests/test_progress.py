"""Long compiles show themselves on a terminal and nowhere else; messages come through one tree of loggers."""

import io
import logging
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import progress
from termgraph.stages import Ledger


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on stderr that wants everything at once."""
    out = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=out))  # pytest puts its own stderr back
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "REDRAW", 0.001)
    return out


def slow_compile(folder=None, mode=None, of=T.exp):
    """A compile that runs every stage; also the compiler, for a function that is new and an empty folder."""
    x = T.dvector("x")
    with tg.config.change_flags({"cache.programs": False, "cache.dir": folder or str(tg.config.cache.dir)}):
        return tg.function([x], of(T.exp(x)) * 0.625, name="step", mode=mode)


def test_a_long_compile_draws_stages_kernels_and_the_compiler(terminal, tmp_path):
    slow_compile(str(tmp_path), tg.Mode(linker="c"), T.arctan)
    shown = terminal.getvalue().split("\r")
    assert any(s.startswith("compiling step, build") and "1 compiler running" in s and "1 kernel" in s for s in shown)
    assert shown[-1].startswith("compiled step in ")
    assert shown[-1].rstrip().endswith(", 1 kernel") and terminal.getvalue().count("\n") == 1


@pytest.mark.parametrize("why", ["ci", "dumb", "off", "pipe", "quick"])
def test_nothing_is_drawn_where_nobody_looks(terminal, monkeypatch, why):
    if why == "ci":
        monkeypatch.setenv("CI", "true")
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    if why == "pipe":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    if why == "quick":  # compiles of less than two seconds
        monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with tg.config.change_flags(progress="off" if why == "off" else "auto"):
        slow_compile(mode=tg.Mode(linker="py"))
    assert terminal.getvalue() == ""


def test_the_flag_draws_also_into_a_pipe(terminal, monkeypatch):
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with tg.config.change_flags(progress="on"), progress.task("f"):
        time.sleep(0.05)
    assert "compiling f" in terminal.getvalue() and terminal.getvalue().endswith("\n")


def test_an_error_finds_the_line_empty_and_no_thread_remains(terminal):
    with pytest.raises(ZeroDivisionError), progress.task("f"):
        with Ledger().timed("storage"):
            time.sleep(0.05)
        raise ZeroDivisionError
    assert terminal.getvalue().endswith("\r") and "compiling f, storage" in terminal.getvalue()
    assert progress.current() is None
    assert not [t for t in threading.enumerate() if t.name == "termgraph progress"]


def test_a_line_is_as_wide_as_the_terminal(monkeypatch):
    monkeypatch.setattr(progress.os, "get_terminal_size", lambda fd: progress.os.terminal_size((20, 5)))
    out = io.StringIO()
    monkeypatch.setattr(out, "fileno", lambda: 2, raising=False)
    progress.Line(out).end("x" * 50)
    assert out.getvalue() == "\r" + "x" * 19 + "\n"


def test_loops_of_ones_own(terminal):
    assert list(tg.train.progress([1, 2], "sampling")) == [1, 2]
    assert "sampling  2/2" in terminal.getvalue()
    before = terminal.getvalue()
    assert list(tg.train.progress(iter([1, 2]), wanted=False)) == [1, 2] and terminal.getvalue() == before


# ---------------------------------------------------------------------- loggers
def test_every_function_has_a_message_and_every_stage(caplog, tmp_path):
    with caplog.at_level("DEBUG", logger="termgraph"):
        slow_compile(str(tmp_path), tg.Mode(linker="c"), T.arcsinh)
    said = {(r.name, r.levelname): r.getMessage() for r in caplog.records}
    assert said["termgraph.compile", "INFO"].startswith("step: compiled for c in ")
    assert ("termgraph.compile", "DEBUG") in said and ("termgraph.rules", "DEBUG") in said
    assert any("(library," in r.getMessage() for r in caplog.records if r.name == "termgraph.cache")


def test_why_a_function_is_slow_is_logged(caplog):
    x = T.dvector("x")
    with caplog.at_level("INFO", logger="termgraph"):
        tg.function([x], T.unique(x), name="kinds", mode=tg.Mode(linker="auto"))
    said = [r.getMessage() for r in caplog.records if r.name == "termgraph.compile"]
    assert any("unique runs in Python" in text and "test_progress.py" in text for text in said)


def test_a_null_handler_is_at_the_root():
    slow_compile()
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("termgraph").handlers)


def test_who_does_not_log_does_not_import_logging():
    code = (
        "import sys, termgraph as tg, termgraph.tensor as T; x = T.dvector('x'); tg.function([x], x + 1)([1.0]);"
        "assert 'logging' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == "", done.stderr

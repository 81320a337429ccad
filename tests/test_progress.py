"""Long compiles show themselves on a terminal and nowhere else; messages come through one tree of loggers."""

import io
import logging
import re
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import progress
from termgraph.backends.c.run.glue import provider
from termgraph.progress import Line
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


def test_kernels_are_counted_while_they_are_written_and_equal_ones_once(terminal):
    with progress.task("f"):
        now = progress.current()
        now.enter("schedule")
        now.leave("schedule", lambda: 3)
        now.enter("print")
        progress.kernel_written()
        assert ", print, 1/3 kernels, " in str(now)
        now.leave("print", lambda: 2)
        assert ", 2 kernels, " in str(now)


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


# ---------------------------------------------------------------------- steps of loops
@pytest.fixture
def looks(terminal, monkeypatch):
    """Programs let the thread that called look at their steps whenever they ask."""
    monkeypatch.setattr(progress, "REDRAW", 0.0)
    provider().configure(-1, -1, -1, 0)
    yield lambda: [s.strip() for s in terminal.getvalue().split("\r") if s.strip()]
    provider().configure(-1, -1, -1, 50_000_000)


def looped(body, n, mode="c", last=True, name="roll"):
    x = T.dvector("x")
    out, _ = tg.scan(body, outputs_info=x, n_steps=n if isinstance(n, int) else T.lscalar("n"))
    inputs = [x] if isinstance(n, int) else [x, out.owner.inputs[0]]
    return tg.function(inputs, out[-1] if last else out, mode=tg.Mode(linker=mode), name=name)


def steps_in(shown):
    """Of each line, how many steps are made, and of how many."""
    found = [re.search(r"(\d+)(?:/(\d+))? steps?(?:, at most (\d+))?", text) for text in shown]
    return [(int(m[1]), int(m[2] or m[3])) for m in found]


STEP = {"vectors": lambda c: T.sqrt(c * c.sum() + 1.0), "numbers": lambda c: c * 0.999 + 0.001}


@pytest.mark.parametrize("of", STEP)
def test_a_compiled_loop_shows_its_steps(looks, terminal, of):
    x = T.dvector("x") if of == "vectors" else T.dscalar("x")
    steps = 3000 if of == "vectors" else 100_000  # numbers are asked every 8192 steps
    out, _ = tg.scan(STEP[of], outputs_info=x, n_steps=steps)
    f = tg.function([x], out[-1], mode=tg.Mode(linker="c"), name="roll")
    assert str(f.why_not_native()) == "everything is compiled"
    before = len(looks())  # those of the compile
    f(np.ones(3) if of == "vectors" else 1.0)
    shown = looks()[before:]
    made = steps_in(shown)
    assert len(made) > 2 and made == sorted(made) and {total for _, total in made} == {steps}
    assert all(text.startswith("running roll, ") for text in shown) and shown[-1].endswith(" left")
    assert terminal.getvalue().endswith(" \r") and Line._last is None  # and takes the line away


def test_of_loops_in_loops_the_outermost_shows(looks):
    def body(c):
        inner, _ = tg.scan(lambda d: T.sqrt(d * d.sum() + 1.0), outputs_info=c, n_steps=300)
        return inner[-1]

    f = looped(body, 100)
    before = len(looks())
    f(np.ones(3))
    made = steps_in(looks()[before:])
    assert made == sorted(made) and {total for _, total in made} == {100} and made[-1][0] == 99


def test_a_loop_that_may_stop_early_says_at_most(looks):
    f = looped(lambda c: (c + 1.0, tg.scan_module.until(c.sum() > 3000)), 10**6)
    before = len(looks())
    assert f(np.ones(3))[0] == 1002
    shown = looks()[before:]
    assert all("at most 1000000" in text and "left" not in text for text in shown)
    assert max(made for made, _ in steps_in(shown)) < 1002


def test_the_loops_of_a_gradient_are_counted(looks):
    x = T.dvector("x")
    out, _ = tg.scan(STEP["vectors"], outputs_info=x, n_steps=2000)
    f = tg.function([x], T.grad(out[-1].sum(), x), mode=tg.Mode(linker="c"), name="backwards")
    before = len(looks())
    f(np.ones(3))
    shown = looks()[before:]
    numbers = [", loop 2, " in text for text in shown]
    assert any(numbers) and not all(numbers) and numbers == sorted(numbers)


@pytest.mark.parametrize("mode, last", [("c", True), ("c", False), ("py", False)])
def test_loops_whose_length_is_computed_count_on(looks, mode, last):
    """They are run in pieces, or by Python step by step; what runs inside is part of them."""
    x, n = T.dvector("x"), T.lscalar("n")
    body = lambda c: (T.sqrt(c * c.sum() + 1.0), tg.scan_module.until(c.sum() < 0))  # noqa: E731
    out, _ = tg.scan(body, outputs_info=x, n_steps=n, name="walk")
    f = tg.function([x, n], out[-1] if last else out, mode=tg.Mode(linker=mode), name="walk")
    before = len(looks())
    f(np.ones(3), 3000)
    shown = looks()[before:]
    made = steps_in(shown)
    assert all(text.startswith("running walk, ") for text in shown), shown
    assert made == sorted(made) and {most for _, most in made} == {3000} and made[-1][0] > 2000


def test_nothing_is_drawn_before_two_seconds_or_where_nobody_looks(looks, monkeypatch):
    f = looped(STEP["vectors"], 5000)
    before = looks()
    with tg.config.change_flags(progress="off"):
        f(np.ones(3))
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    f(np.ones(3))
    assert looks() == before


def test_ctrl_c_while_the_line_is_drawn_ends_the_call_and_leaves_everything_as_it_was(looks, terminal, monkeypatch):
    w = tg.shared(np.ones(3), name="w")
    out, _ = tg.scan(STEP["vectors"], outputs_info=w, n_steps=5000)
    f = tg.function([], updates=[(w, out[-1])], mode=tg.Mode(linker="c"), name="step")
    write = terminal.write

    def interrupted(text):
        write(text)
        if "/5000 steps" in text:
            monkeypatch.setattr(terminal, "write", write)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(terminal, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f()
    assert list(w.get_value()) == [1, 1, 1] and terminal.getvalue().endswith(" \r")
    f()
    assert w.get_value()[0] != 1


def test_a_terminal_that_goes_away_does_not_end_the_work(looks, terminal, monkeypatch):
    f = looped(STEP["vectors"], 5000)
    with tg.config.change_flags(progress="off"):
        expected = f(np.ones(3))

    def gone(text):
        raise BrokenPipeError

    monkeypatch.setattr(terminal, "write", gone)
    assert (f(np.ones(3)) == expected).all()


def test_one_thread_draws_at_a_time(terminal):
    mine, other = Line(terminal), []
    thread = threading.Thread(target=lambda: other.append(Line(terminal)))
    thread.start()
    thread.join()
    mine.draw("mine")
    time.sleep(0.002)
    other[0].draw("theirs")
    assert "theirs" not in terminal.getvalue()
    mine.clear()
    other[0].draw("theirs")
    assert "theirs" in terminal.getvalue()
    del other[:]  # a thread that has died with its line
    time.sleep(0.002)
    mine.draw("again")
    assert terminal.getvalue().endswith("again ")  # over all of what was there
    mine.clear()


@pytest.mark.parametrize(
    "step, steps, now, text",
    [
        (0, 100, 2.0, "running f, 0/100 steps, 2 s"),
        (50, 100, 12.0, "running f, 50/100 steps, 5.0/s, 12 s, 10 s left"),
        (2, 1000, 12.0, "running f, 2/1000 steps, 5.0 s/step, 12 s, 1 h 23 min left"),
        (3000, -10_000, 12.0, "running f, 3000 steps, at most 10000, 300/s, 12 s"),
        (1, -(1 << 62), 152.0, "running f, 1 step, 150.0 s/step, 2 min 32 s"),
    ],
)
def test_what_is_said_of_steps(step, steps, now, text):
    shown = progress.Steps("f")
    shown.begin, shown.since, shown.first, shown.loop = 0.0, 2.0, 0, 1
    assert shown.text(step, steps, now) == text


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

"""A share of the matrix in loops, mapped, in checkpoints and in branches gives what the ops give alone."""

import pytest

import termgraph as tg
from matrix import wrapped
from termgraph.backends.c.build.compilers import find_compiler

needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def agree(**how):
    report = wrapped.run(**how)
    assert report.ran and not report.wrong, f"{report}\nagain: python -m tests.matrix --wrapped --seed {report.seed}"


def test_some_ops_on_the_virtual_machine():
    agree(seconds=3600, seed=1, limit=120, mode=tg.Mode(linker="py"))


@needs_c
def test_some_ops_in_c():
    agree(seconds=3600, seed=2, limit=10, together=40, mode=tg.Mode(linker="auto"))


@pytest.mark.slow
@pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])
def test_more_ops(linker, request):
    seconds = min(request.config.getoption("--budget") or 60, 60)
    mode = tg.Mode(linker=linker, strict=linker == "auto")
    agree(
        seconds=seconds, seed=request.config.getoption("--seed") or 3, together=1 if linker == "py" else 40, mode=mode
    )

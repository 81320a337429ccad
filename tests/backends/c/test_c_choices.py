"""Loops with many choices, or several by one condition, become vector loops: gcc's own report says so."""

import re

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.text.loop_flags import UNTHREADED, shared_choice

LINKER = "c"
GCC = find_compiler()


def pieces(x):
    y = x * 0.5
    for k in range(8):
        y = T.switch(x > 8 - k, x * x * (k + 1.5) + k, y)
    return y


CASES = {
    "normal density": lambda x: T.stats.norm.logpdf(x, scale=1.5),
    "exponential density": lambda x: T.stats.expon.logpdf(x, scale=1.5),
    "truncated normal density": lambda x: T.stats.truncnorm.logpdf(x, -0.5, 2.5),
    "gamma density": lambda x: T.stats.gamma.logpdf(x, 2.5),
    "choices of choices": lambda x: T.switch(T.isinf(x) | (x > 3), -T.sqr(T.switch(T.isinf(x), 0, x)), x * x),
}
VALUES = {
    "eight pieces": pieces,
    "logarithm of a chance or of its rest": lambda x: T.stats.gumbel_r.logsf(x),
    "arcus tangens in an arm": lambda x: T.stats.cauchy.logcdf(x, scale=1.5),
    "incomplete gamma function in an arm": lambda x: T.stats.gamma.sf(x, 2.5),
}


@pytest.mark.skipif(GCC is None or GCC.kind != "gcc", reason="no gcc on this machine, which reports its vector loops")
@pytest.mark.parametrize("case", [*CASES, *VALUES])
def test_choices_are_vector_loops(case, tmp_path):
    x, report = T.dmatrix("x"), tmp_path / "loops.txt"
    y = VALUES[case](x) if case in VALUES else tg.grad(T.sqr(CASES[case](x)).sum() / 2, x)
    with tg.config.change_flags(cflags=f"-fopt-info-vec-optimized={report}"):  # compiled anew
        f = tg.function([x], y)
        f([[0.5]])
    source = f.source("c")
    assert not shared_choice(source) or set(UNTHREADED) <= set(f.stage("print").flags)
    vectors = {int(line) for line in re.findall(r"\.c:(\d+):\d+: optimized: loop vectorized", report.read_text())}
    loops = [n for n, line in enumerate(source.split("\n"), 1) if line.lstrip().startswith("for (int64_t i0 = begin")]
    assert loops and vectors.issuperset(loops)


def test_a_condition_that_one_choice_reads_is_none():
    x = T.dmatrix("x")
    assert not shared_choice(tg.function([x], T.switch(x > 1, x, 0)).source("c"))

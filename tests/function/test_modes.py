"""What modes mean for compiling (FEATURES 29, 52, 76)."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKER = "auto"
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def some_ops(x):
    element = [T.exp, T.log1p, T.tanh, T.sigmoid, T.softplus, T.erf, T.sin, T.cbrt]
    return [op(x) for op in element] + [op(x).sum() for op in element] + [T.logaddexp(x, x * 2), T.softmax(x, axis=0)]


@needs_c
def test_f76_fast_compile_gives_the_same_results_with_less_work():
    x, y = T.dvector("x"), T.fvector("y")
    outputs = [*some_ops(x), *some_ops(y)]
    quick, full = (tg.function([x, y], outputs, mode=mode) for mode in ("FAST_COMPILE", "FAST_RUN"))
    v = np.linspace(0.1, 0.9, 103)
    for a, b in zip(quick(v, v.astype("float32")), full(v, v.astype("float32"))):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    changed = {trace.stage for trace in quick.maker.work.traces if list(trace)}
    assert "canonicalize" in changed and "specialize" not in changed


@needs_c
def test_f76_fast_compile_tells_the_c_compiler_to_be_quick():
    x = T.dvector("x")
    vectorised = tg.function([x], T.tanh(x), mode="FAST_COMPILE").source("c")
    assert "\nTG_VECTORISE static" in vectorised
    assert "\nTG_VECTORISE static" not in tg.function([x], x + 1, mode="FAST_COMPILE").source("c")
    assert "TG_VECTORISE" not in tg.function([x], T.tanh(x)).source("c")

"""Each program in each wrap, and called in each way, with its gradients: the results are those of the plain program.

The plain program runs without rules on the virtual machine, and is compared with NumPy.
"""

import functools
import random
import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

from .calls import CALLS, two_calls
from .programs import PROGRAMS
from .wraps import WRAPS

needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def cost(outputs):
    """A number that all outputs of floats and complex numbers go into, each element with a weight of its own."""
    total = 0.0
    for k, o in enumerate(outputs):
        if o.type.kind == "f":
            total = total + (o.astype("float64") * T.cos(T.arange(o.size) + k).reshape(o.shape)).sum()
        elif o.type.kind == "c":
            total = total + T.abs(o * (1 + 0.5j)).sum() + T.imag(o).sum()
    return total


def with_slopes(p, outputs):
    wrt = [x for x in p.inputs if x.type.kind in "fc"]
    return [*outputs, *tg.grad(cost(outputs), wrt, disconnected_inputs="ignore")]


@functools.cache
def wanted(name):
    """Results of the plain program, with gradients, of two calls."""
    p = PROGRAMS[name]()
    with tg.config.change_flags(linker="py"):
        f = tg.function(p.inputs, with_slopes(p, p.outputs), updates=p.updates, mode="None", on_unused_input="ignore")
        return two_calls(f, p.values, list(p.updates))


def compare(found, name, what):
    p = PROGRAMS[name]()
    for k, (ours, plain) in enumerate(zip(found, wanted(name), strict=True)):
        ours, plain, message = np.asarray(ours), np.asarray(plain), f"{name}, {what}, result {k}"
        assert ours.dtype == plain.dtype and ours.shape == plain.shape, message
        np.testing.assert_allclose(ours, plain, rtol=p.digits, atol=p.digits, err_msg=message)


def in_wrap(name, wrap, **how):
    p = PROGRAMS[name]()
    outputs = with_slopes(p, WRAPS[wrap](p))
    f = tg.function(p.inputs, outputs, updates=p.updates, on_unused_input="ignore", **how)
    compare(two_calls(f, p.values, list(p.updates)), name, wrap)


def in_way(name, way):
    p = PROGRAMS[name]()
    compare(CALLS[way](p, with_slopes(p, p.outputs)), name, way)


def fits(name, wrap):
    """A stream draws anew in each step: programs with draws are others there."""
    return not (name == "random_draws" and "steps" in wrap)


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_programs_are_numpys(name):
    p = PROGRAMS[name]()
    if p.numpys is None:
        pytest.skip("its meaning is that of its parts")
    for ours, numpys in zip(wanted(name), p.numpys(*p.values)):
        np.testing.assert_allclose(ours, numpys, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.machine("all pairs run there: in C a drawn part of them does")
def test_programs_inside_other_features(name):
    for wrap in WRAPS:
        if fits(name, wrap):
            in_wrap(name, wrap, mode="FAST_RUN")


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.machine("all pairs run there: in C a drawn part of them does")
def test_programs_called_in_other_ways(name):
    for way in CALLS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            in_way(name, way)


PAIRS_IN_C = [*[(in_wrap, n, w) for n in PROGRAMS for w in WRAPS if fits(n, w)],
              *[(in_way, n, w) for n in PROGRAMS for w in CALLS]]  # fmt: skip


def drawn_in_c(pairs):
    with tg.config.change_flags(linker="auto", cflags=f"{tg.config.cflags} -O0"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # loops that Python runs
        for check, name, what in pairs:
            check(name, what)


@needs_c
def test_a_few_pairs_in_c():
    drawn_in_c([(in_way, n, "+fast_run -fuse") for n in ("choice_in_steps", "many_until")])
    drawn_in_c(random.Random(0).sample(PAIRS_IN_C, 12))


@needs_c
@pytest.mark.slow
def test_drawn_pairs_in_c(request):
    seed = request.config.getoption("--seed") or 0
    drawn_in_c(random.Random(seed).sample(PAIRS_IN_C, 60))

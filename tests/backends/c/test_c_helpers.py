"""Which helpers a text brings along, and which flags fit its loops."""

import re
import subprocess
import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.library import build_plain
from termgraph.backends.c.generate import generate
from termgraph.backends.c.run import glue
from termgraph.backends.c.text import prelude
from termgraph.backends.c.text.loop_flags import LESS, MUCH, WHOLE, WRITTEN_OUT
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.pooling import pool
from termgraph.terms.term import Arg
from termgraph.terms.types import TensorType

LINKER = "c"


def test_helpers_that_are_read_later_are_found_by_the_beginning_of_their_names():
    for beginnings, module in prelude.LATER.items():
        names = prelude.texts_of(module)
        assert names and all(name.startswith(beginnings) for name in names), module
        assert all(prelude.fixed(name) == text for name, text in names.items()), module


def flags(op, *shape, dtype="float32", plain=True):
    x = Arg(0, TensorType(dtype, shape))
    return generate([x], [op(ew.mul(x, 2.0) if plain else x)]).flags


@pytest.mark.parametrize("n", [8, 64, MUCH, MUCH + 7])
def test_nothing_is_left_over_of_powers_of_two_and_little_of_much(n):
    assert set(WHOLE) <= set(flags(ew.neg, n))


@pytest.mark.parametrize("n", [None, 10, 63, MUCH - 8])
def test_rests_of_vectors_that_are_worth_it_are_vectors(n):
    assert not set(WHOLE) & set(flags(ew.neg, n))


def test_functions_of_the_library_round_as_they_did():
    """In a vector they are other functions than alone: how many elements are alone must not change."""
    assert not set(WHOLE) & set(flags(ew.exp, 64, dtype="float64"))


def sums(x):
    a = x * 1.5 + 0.25
    return [(a * a).sum(axis=0), a.sum(axis=1), T.maximum(a, 0.5) / T.sqrt((a * a).mean(axis=0) + 1e-3)]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("shape", [(16, 64), (1030, 256), (640, 1000), (2, 8)])
def test_bits_are_those_with_the_rests_in_vectors(shape):
    x = T.tensor("x", dtype="float32", shape=shape)
    value = np.random.default_rng(0).standard_normal(shape).astype("float32")
    f = tg.function([x], sums(x))
    with tg.config.change_flags(cflags="--param=vect-epilogues-nomask=1"):
        g = tg.function([x], sums(x))
    assert f.source("c") == g.source("c")
    for a, b in zip(f(value), g(value), strict=True):
        np.testing.assert_array_equal(a, b)


ROUTINES = {
    "sorts": lambda x: T.sort(x, axis=1),
    "places": lambda x: T.argsort(x, axis=0),
    "medians": lambda x: T.median(x, axis=1),
    "pooling": lambda x: tg.grad(
        pool(x, kind="max", size=(3, 3), stride=(2, 2), pad=(0, 0), ignore_border=True).sum(), x
    ),
    "transforms": lambda x: T.fft.rfft2(x),
    "least squares": lambda x: T.linalg.lstsq(x, x)[0],
}


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", ROUTINES)
def test_functions_of_the_c_library_are_declared_before_they_are_called(name):
    """gcc 12 knows them without that; for clang and zig it is an error."""
    x = T.dmatrix("x")
    source = tg.function([x], ROUTINES[name](x), mode=tg.Mode(linker="c")).source("c")
    used = {f: found.start() for f in prelude.MEMORY if (found := re.search(rf"\b{f}\(", source))}
    assert used
    for function, at in used.items():
        assert source.startswith(prelude.MEMORY[function], source.rfind("\n", 0, at) + 1)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_functions_of_the_c_library_are_declared_in_the_glue():
    text = "#define _GNU_SOURCE\n" + "\n".join(map(glue._part, glue._PARTS))
    command = [*find_compiler().command, *find_compiler().flags, "-fsyntax-only", "-xc", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize(
    "line", ["return unknown(p);", "return p;", "short *q = p; return *q;", "static n = 1; return n;"]
)
def test_what_later_compilers_refuse_all_of_them_refuse(line):
    """gcc 14 and clang 16 took these for errors first: texts that only an older one compiles are found by that one."""
    with pytest.raises(CompileError, match="the C compiler refused"):
        build_plain([f"int later(int *p) {{ {line} }}"], "later")


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_helpers_call_nothing_that_is_not_declared():
    names = [*prelude._FIXED, *[name for module in prelude.LATER.values() for name in prelude.texts_of(module)]]
    for table, kinds in ((prelude._FLOAT, "f"), (prelude._INTEGER, "iu"), (prelude.complexes.TABLE, "c")):
        names += [f"tg_{name}_{kind}" for name in table for kind in prelude.TYPES if kind[0] in kinds]
    text = "#include <stdint.h>\n#include <stddef.h>\n" + prelude.needed("\n".join(f"{name}();" for name in names))
    command = [*find_compiler().command, *find_compiler().flags, "-fsyntax-only", "-xc", "-"]
    said = subprocess.run(command, input=text, capture_output=True, text=True).stderr
    assert len(names) > 400 and "tg_native" in said  # which a program's own header declares
    assert not [line for line in said.splitlines() if "implicit" in line]


NAN_FOLDS = [T.nanmax, T.nansum, lambda x: T.nanmean(x, axis=1), lambda x: T.nanvar(x), lambda x: (x * 1j).sum()]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("fold", NAN_FOLDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_partial_results_that_are_registers_are_the_same_bits(fold, dtype, rng):
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], fold(x))
    assert set(WRITTEN_OUT) <= set(f.stage("print").flags)
    with tg.config.change_flags(cflags="-fno-peel-loops"):
        g = tg.function([x], fold(x))
    for n, m in ((1, 1), (3, 7), (2, 64), (5, 129), (40, 333)):
        value = np.where(rng.random((n, m)) < 0.2, np.nan, rng.standard_normal((n, m))).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for v in (value, np.abs(value) * np.inf, value * np.nan):
                np.testing.assert_array_equal(f(v), g(v))


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_columns_are_no_partial_results_side_by_side():
    x = T.dmatrix("x")
    assert not set(WRITTEN_OUT) & set(tg.function([x], x.sum(axis=0)).stage("print").flags)


def net(rows, layers):
    """A net with its gradients, and its input."""
    x, weights = T.tensor("x", dtype="float32", shape=(rows, 32)), []
    h = x
    for _ in range(layers):
        weights.append(tg.shared(np.eye(32, dtype="float32") / 3))
        h = T.tanh(h @ weights[-1] + h.mean(axis=0))
    loss = (h * h).mean()
    return x, [loss, *tg.grad(loss, weights)]


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("rows", [24, 1024])
def test_programs_of_many_loops_ask_the_compiler_for_less(rows, rng):
    x, outputs = net(rows, 3)
    f, value = tg.function([x], outputs), rng.standard_normal((rows, 32)).astype("float32")
    flags = set(f.stage("print").flags)
    assert not set(WRITTEN_OUT) & flags and "#pragma GCC unroll" in f.source("c")
    assert (set(LESS) <= flags) == (rows >= MUCH)
    for got, expected in zip(f(value), tg.function([x], outputs, mode="FAST_COMPILE")(value)):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_helpers_whose_texts_are_read_later_are_found():
    """Each begins as the table of modules says, and no other module has its name."""
    for module in prelude.LATER.values():
        for name, text in prelude.texts_of(module).items():
            assert prelude.fixed(name) == text

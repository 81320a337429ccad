"""What runs in Python is said: in the user's words when asked, once when a loop is slow because of it."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import PythonPartWarning

LINKER = "auto"

x = T.dvector("x")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


@tg.as_op(itypes=[T.dscalar], otypes=[T.dscalar])
def by_hand(a):
    return np.asarray(a + 1.0)


def slow_loop():
    sums, _ = tg.scan(lambda e, s: s + by_hand(e), sequences=x, outputs_info=T.constant(0.0), name="slow")
    return sums[-1]


@needs_c
def test_nothing_to_tell_of_a_compiled_function():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = tg.function([x], T.exp(x).sum())
    assert f.why_not_native() == [] and str(f.why_not_native()) == "everything is compiled"


@needs_c
@pytest.mark.parametrize("room", ["c", "cuda"])
def test_what_a_backend_can_do_does_not_depend_on_what_was_imported_before(room):
    code = (
        f"from termgraph.backends.{room}.placement import why_not\nimport termgraph.tensor as T\n"
        "assert [why_not(f(T.dmatrix()).term) for f in (T.sum, T.transpose, T.argmax)] == [None] * 3"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@needs_c
def test_parts_have_the_users_line_and_the_reason():
    y = T.unique(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one call of NumPy is not worth a warning
        f = tg.function([x], T.exp(y * 2))
    (part,) = f.why_not_native()
    assert part.op == "unique" and "no C code for unique of" in part.why and "T.unique(x)" in str(part)


@needs_c
def test_a_loop_that_needs_python_warns_once():
    with pytest.warns(PythonPartWarning, match="(?s)slow.*runs in Python.*python_parts=ignore") as seen:
        f = tg.function([x], slow_loop(), name="f")
    assert len(seen) == 1 and "by_hand" in str(seen[0].message) and "test_python_parts.py" in str(seen[0].message)
    assert [part.in_steps for part in f.why_not_native()] == [True] and f([1.0, 2.0]) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.copy()
        with tg.config.change_flags(python_parts="ignore"):
            tg.function([x], slow_loop())


@needs_c
def test_all_operations_if_the_flag_says_so(tmp_path):
    with tg.config.change_flags({"python_parts": "all", "cache.dir": str(tmp_path)}):
        for _ in range(2):  # from the cache as well
            with pytest.warns(PythonPartWarning, match=r"(?s)T\.unique\(x\).*unique runs in Python"):
                tg.function([x], T.exp(T.unique(x) * 2))


@needs_c
def test_an_interface_that_needs_python_is_told_apart():
    count = tg.In(x, value=[1.0], update=x * 2, name="x")
    f = tg.function([count], T.exp(x))
    (part,) = f.why_not_native()
    assert part.op == "the call" and "input x has a value that calls change; all operations are compiled" in part.why


def test_the_virtual_machine_names_the_linker():
    f = tg.function([x], x + 1, mode=tg.Mode(linker="py"))
    assert [(p.op, p.why) for p in f.why_not_native()] == [("add", "the linker is py")]

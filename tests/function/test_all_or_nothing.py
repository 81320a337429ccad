"""Whatever goes wrong in a call, shared variables stay as they were, on the machine and in C (FEATURES 23, 54)."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.compiled import MachineFunction
from termgraph.terms.errors import ShapeError

LINKER = "auto"
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
linkers = pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])
PLACES = 5


def chain(linker, op=None):
    """A training step with a place to fail after every product: an index that may be out of bounds."""
    x, i = T.dmatrix("x"), T.lvector("i")
    w = [tg.shared(np.eye(3) + k, f"w{k}") for k in range(PLACES)]
    h, updates = x, []
    for k in range(PLACES):
        h = T.tanh(T.dot(h, w[k])) + h[i[k]]
        if op is not None and k == 2:
            h = op(h)
        updates.append((w[k], w[k] * 0.5 + T.dot(x.T, h)))
    return tg.function([x, i], h.sum(), updates=updates, mode=tg.Mode(linker=linker)), w


def unchanged(w, before):
    return all(np.array_equal(v.get_value(), old) for v, old in zip(w, before))


@linkers
def test_f23_failing_at_each_place_changes_nothing(linker):
    f, w = chain(linker)
    assert isinstance(f, MachineFunction) == (linker == "py"), f.maker.work.not_native
    before = [v.get_value() for v in w]
    for place in range(PLACES):
        index = np.zeros(PLACES, "int64")
        index[place] = 7
        with pytest.raises(IndexError, match="7 is out of bounds"):
            f(np.ones((2, 3)), index)
        assert unchanged(w, before)
    for bad in (np.ones((2, 4)), np.ones(3)):  # a length that does not fit; an argument of another rank
        with pytest.raises((ValueError, TypeError)):
            f(bad, np.zeros(PLACES, "int64"))
        assert unchanged(w, before)
    f(np.ones((2, 3)), np.zeros(PLACES, "int64"))
    assert not any(np.array_equal(v.get_value(), old) for v, old in zip(w, before))


class Raises(tg.Op):
    __props__ = ("error",)

    def __init__(self, error):
        self.error = error

    def make_node(self, a):
        return tg.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, output_storage):
        raise self.error("in the middle")


@linkers
@pytest.mark.parametrize("error", [ZeroDivisionError, MemoryError, KeyboardInterrupt])
def test_f23_an_op_that_raises_changes_nothing(linker, error):
    f, w = chain(linker, Raises(error))
    before = [v.get_value() for v in w]
    with pytest.raises(error, match="in the middle"):
        f(np.ones((2, 3)), np.zeros(PLACES, "int64"))
    assert unchanged(w, before)


@linkers
def test_f23_no_memory_changes_nothing(linker):
    x, n = T.dvector("x"), T.lscalar("n")
    w = tg.shared(np.ones(3), "w")
    rows = T.exp(T.alloc(x, n, x.shape[0]))
    f = tg.function([x, n], rows, updates=[(w, w + x)], mode=tg.Mode(linker=linker))
    with pytest.raises(MemoryError):
        f(np.ones(3), 2**58)
    assert w.get_value().tolist() == [1, 1, 1]
    assert f(np.ones(3), 2).shape == (2, 3) and w.get_value().tolist() == [2, 2, 2]


@linkers
def test_f23_a_failed_assertion_changes_nothing(linker):
    x = T.dvector("x")
    w, v = tg.shared(np.zeros(2), "w"), tg.shared(np.ones(2), "v")
    checked = tg.Assert("too large")(T.exp(x), x < 5)
    f = tg.function([x], [], updates=[(w, w + 1), (v, v + checked)], mode=tg.Mode(linker=linker))
    with pytest.raises(AssertionError, match="too large"):
        f([1.0, 6.0])
    assert unchanged([w, v], [np.zeros(2), np.ones(2)])
    f([0.0, 0.0])
    assert w.get_value().tolist() == [1, 1] and v.get_value().tolist() == [2, 2]


LONG_CALL = """
    import sys, threading
    import numpy as np
    import termgraph as tg, termgraph.tensor as T

    linker = sys.argv[1]
    a, b = T.dvector("a"), T.dvector("b")
    if linker == "py":
        states, _ = tg.scan(lambda e, h, b: h + T.tanh(e * b), sequences=a, outputs_info=b * 0, non_sequences=b)
        total = states[-1].sum()
    else:  # one kernel, without room for the whole table
        total = T.tanh(a.dimshuffle(0, "x") * b.dimshuffle("x", 0)).sum(axis=1).max()
    w = tg.shared(0.0, "w")
    f = tg.function([a, b], total, updates=[(w, w + total)], mode=tg.Mode(linker=linker))
    assert (type(f).__name__ == "MachineFunction") == (linker == "py"), f.maker.work.not_native
    few = np.ones(3)
    small, many = float(f(few, few)), (np.ones(10**7), np.ones(10**5))
    before = w.get_value()
    try:
        print("running", flush=True)
        f(*many)
        raise SystemExit("it ended?")
    except KeyboardInterrupt:
        pass
    assert w.get_value() == before
    assert float(f(few, few)) == small  # still works, here and in another thread
    seen = []
    thread = threading.Thread(target=lambda: seen.append(float(f(few, few))))
    thread.start()
    thread.join()
    assert seen == [small] and abs(w.get_value() - 3 * small) < 1e-9
    print("fine")
"""


@linkers
@pytest.mark.skipif(not hasattr(os, "kill") or sys.platform == "win32", reason="signals as on POSIX")
def test_ctrl_c_in_a_long_call_leaves_everything_usable(linker):
    code = textwrap.dedent(LONG_CALL)
    process = subprocess.Popen(
        [sys.executable, "-c", code, linker], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "running\n", process.stderr.read()
        time.sleep(0.3)  # it makes no difference if the call has not begun by then, or goes on
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert out == "fine\n", err


@needs_c
def test_products_too_long_for_blas_fail_before_any_of_them_writes():
    """Each product adds to its variable in place; the second has a length that is no `int` of BLAS."""
    x, long, other = T.dmatrix("x"), T.dmatrix("long"), T.dmatrix("other")
    w, v = tg.shared(np.eye(3), "w"), tg.shared(np.zeros((0, 0)), "v")
    updates = [(w, w - 0.5 * T.dot(x.T, x)), (v, v - 0.5 * T.dot(long.T, other))]
    f = tg.function([x, long, other], [], updates=updates, mode=tg.Mode(linker="c"))
    assert len(f.stage("memory").scheduled.modes) == 2  # both are written in place
    before, rows = [w.get_value(), v.get_value()], np.zeros((2**31 + 8, 0))
    with pytest.raises(Exception, match=r"at most 2147483647 rows and columns|failed with code 4") as failed:
        f(np.ones((4, 3)), rows, rows)
    assert unchanged([w, v], before)
    assert failed.type is ShapeError
    f(np.ones((4, 3)), np.zeros((5, 0)), np.zeros((5, 0)))
    assert not np.array_equal(w.get_value(), before[0])

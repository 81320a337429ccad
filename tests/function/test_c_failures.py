"""What goes wrong in compiled code: an error at the user's line with the numbers, nothing changed, life goes on."""

import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"


@pytest.fixture(params=["native", "machine"])
def function(request):
    """Makes a function that counts its calls in a shared variable: as one C call, or C segments on the machine."""

    def make(inputs, output):
        count = tg.shared(np.zeros(2), name="count")
        mode = None if request.param == "native" else tg.Mode(linker="c")
        return tg.function(inputs, output, updates=[(count, count + 1)], mode=mode), count

    return make


def fails(f, count, good, bad, error, match):
    f(*good)
    before = count.get_value()
    for _ in range(2):
        with pytest.raises(error, match=match):
            f(*bad)
        np.testing.assert_array_equal(count.get_value(), before)
    f(*good)
    np.testing.assert_array_equal(count.get_value(), before + 1)


def test_a_result_that_no_memory_can_hold(function):
    x = T.dvector("x")
    f, count = function([x], T.outer(T.exp(x), x))  # the line named
    huge = np.broadcast_to(1.0, 3 * 10**6)  # squared: 72 TB
    fails(f, count, [np.ones(3)], [huge], MemoryError, r"(?s)the line named.*no room for 72000000000000 bytes")


def test_a_temporary_that_no_memory_can_hold(function):
    x = T.dvector("x")
    table = T.exp(T.outer(x, x))  # the line named
    f, count = function([x], T.dot(table, x))
    huge = np.broadcast_to(1.0, 3 * 10**6)
    fails(f, count, [np.ones(3)], [huge], MemoryError, r"(?s)the line named.*no room for \d{14,} bytes")


def test_shapes_that_differ_at_run_time(function):
    x, y = T.dvector("x"), T.dvector("y")
    f, count = function([x, y], T.tanh(x * y).sum())  # the line named
    match = r"(?s)the line named.*length 4 in dimension 0 where the others have 3"
    fails(f, count, [np.ones(3), np.ones(3)], [np.ones(3), np.ones(4)], ValueError, match)


def test_an_index_out_of_bounds_inside_a_fused_loop(function):
    x, i = T.dvector("x"), T.lvector("i")
    f, count = function([x, i], T.exp(x)[i] * 2.0)  # the line named
    match = r"(?s)the line named.*index 7 is out of bounds for axis 0 with size 3"
    fails(f, count, [np.ones(3), np.array([2])], [np.ones(3), np.array([1, 7])], IndexError, match)


def test_the_largest_of_nothing(function):
    x = T.dmatrix("x")
    f, count = function([x], x.max(axis=1))  # the line named
    match = r"(?s)the line named.*the largest or smallest of no elements does not exist \(length 0\)"
    fails(f, count, [np.ones((2, 3))], [np.ones((2, 0))], ValueError, match)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16"])
def test_integer_division_by_zero_is_what_numpy_makes_of_it(function, dtype):
    """NumPy says 0 (and may warn); in C a division by zero would end the process."""
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    f, count = function([x, y], [x // y, x % y])
    a, b = np.array([7, 0, 5, np.iinfo(dtype).min], dtype), np.array([0, 0, 2, np.array(-1).astype(dtype)], dtype)
    with np.errstate(all="ignore"):
        want = a // b, a % b
    for got, expected in zip(f(a, b), want):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(count.get_value(), [1, 1])


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_process_without_memory_goes_on():
    """With 2 GB of address space beyond what is used, a result of 8 GB does not fit, and a small one does."""
    code = """
        import resource
        import numpy as np
        import termgraph as tg, termgraph.tensor as T
        x, count = T.dvector("x"), tg.shared(np.zeros(()), name="count")
        f = tg.function([x], T.outer(T.exp(x), x), updates=[(count, count + 1)])
        f(np.ones(3))
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**31, resource.RLIM_INFINITY))
        try:
            f(np.ones(32768))
        except MemoryError as error:
            print("refused", "no room for 8589934592 bytes" in str(error))
        print(f(np.ones(2)).shape, count.get_value())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "refused True\n(2, 2) 2.0\n", done.stdout + done.stderr


def test_python_goes_on_while_a_long_call_computes():
    """The interpreter's lock is given up: another thread sees that the call has not ended yet."""
    y = x = T.dvector("x")
    for _ in range(40):
        y = T.tanh(y) + 0.5
    f = tg.function([x], y.sum())
    values = np.linspace(-1, 1, 1_000_000)
    f(values)
    for _ in range(20):  # on a busy machine a call may have ended before we look
        begun, ended = threading.Event(), threading.Event()

        def call(begun=begun, ended=ended):
            begun.set()
            f(values)
            ended.set()

        thread = threading.Thread(target=call)
        thread.start()
        begun.wait()
        time.sleep(0.02)  # the other thread is now inside the call
        running = not ended.is_set()
        thread.join()
        if running:
            return
    raise AssertionError("no call was ever seen while it ran")

"""Shared variables in compiled programs: updates happen all or not at all, and nobody else's numbers change."""

import signal
import sys
import threading
import time

import numpy as np
import pytest

from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update

MODES = ("fresh", "overwrite", "accumulate")


@pytest.fixture(params=MODES)
def descend(request, programs, kernels):
    """(program, cell): w -= x, returning the old w."""
    cell = programs.cell(np.arange(3.0))
    text, signature = kernels.descend(request.param)
    f = programs.bind(text, signature, "descend", cells=[cell])
    return f, cell, request.param


def test_an_update_gives_the_new_value_and_returns_the_old(descend):
    f, cell, _ = descend
    for step in range(4):
        np.testing.assert_array_equal(f(np.ones(3)), np.arange(3.0) - step)
        np.testing.assert_array_equal(cell.value, np.arange(3.0) - step - 1)
    assert f.cells == (cell,)


@pytest.mark.parametrize("bad", [np.ones(2), np.array([1.0, 2.0, np.nan]), "text", np.ones((2, 2))])
def test_a_failed_call_changes_nothing(descend, bad):
    f, cell, _ = descend
    f(np.ones(3))
    before = cell.value.copy()
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        f(bad)
    np.testing.assert_array_equal(cell.value, before)
    f(np.ones(3))
    np.testing.assert_array_equal(cell.value, before - 1)


def test_the_buffer_stays_in_place_unless_it_is_seen(descend):
    f, cell, mode = descend
    f(np.ones(3))
    address = cell.value.ctypes.data
    f(np.ones(3))
    assert (cell.value.ctypes.data == address) == (mode != "fresh")
    seen = cell.value
    numbers = seen.copy()
    f(np.ones(3))
    np.testing.assert_array_equal(seen, numbers)
    np.testing.assert_array_equal(cell.value, numbers - 1)
    assert cell.value.ctypes.data != seen.ctypes.data


def test_two_buffers_take_turns(glue_programs, kernels):
    cell = glue_programs.cell(np.zeros(3))
    f = glue_programs.bind(*kernels.descend("fresh"), cells=[cell])
    addresses = []
    for _ in range(6):
        f(np.ones(3))
        addresses.append(cell.value.ctypes.data)
    assert len(set(addresses)) == 2


@pytest.mark.parametrize(
    "borrowed",
    [
        lambda base: base[:],  # a view of the user's array
        lambda base: base[::2],
        lambda base: np.broadcast_to(base[1:2], 3),
        lambda base: np.frombuffer(bytearray(base.tobytes()), np.float64),
        lambda base: base,
    ],
)
def test_arrays_of_the_user_are_never_written(descend, borrowed):
    f, cell, _ = descend
    base = np.arange(6.0) + 1
    cell.value = borrowed(base)
    before = cell.value.copy()
    f(np.ones(len(before)))
    np.testing.assert_array_equal(base, np.arange(6.0) + 1)
    np.testing.assert_array_equal(cell.value, before - 1)


def test_a_view_of_the_value_keeps_its_numbers(descend):
    f, cell, _ = descend
    f(np.ones(3))
    view = cell.value[1:]
    numbers = view.copy()
    f(np.ones(3))
    np.testing.assert_array_equal(view, numbers)


def test_the_argument_may_be_the_value_itself(descend):
    f, cell, _ = descend
    f(cell.value)
    np.testing.assert_array_equal(cell.value, [0, 0, 0])


def test_the_value_may_change_its_length(descend):
    f, cell, _ = descend
    for n in (5, 0, 200_000, 3):
        cell.value = np.zeros(n)
        f(np.ones(n)), f(np.ones(n))
        np.testing.assert_array_equal(cell.value, np.full(n, -2.0))


def test_a_value_of_another_type_is_refused(descend):
    f, cell, _ = descend
    for wrong in (np.zeros(3, "f4"), np.zeros((3, 3))):
        cell.value = wrong
        with pytest.raises(TypeError, match="shared variable 0 no longer has the type"):
            f(np.ones(3))
        assert cell.value is wrong
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        cell.value = 3.0
    with pytest.raises((TypeError, AttributeError)):
        del cell.value


def test_two_programs_share_a_cell(programs, kernels):
    cell = programs.cell(np.zeros(3))
    text, signature = kernels.descend("overwrite")
    f, g = (programs.bind(text, signature, cells=[cell]) for _ in range(2))
    f(np.ones(3)), g(np.ones(3))
    np.testing.assert_array_equal(cell.value, [-2, -2, -2])


# -- several cells --------------------------------------------------------------------------

TWO = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[4] = 1000000000; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    double a = *(double *)buf[1], b = *(double *)buf[2], x = *(double *)buf[0];
    int64_t end = tg_rt->clock_ns() + (int64_t)(x * 1e9);
    *(double *)buf[3] = a + 1;
    while (tg_rt->clock_ns() < end)
        if (TG_POLL(st)) return TG_INTERRUPT;
    *(double *)buf[4] = b + 1;
    return 0;
}
"""
# Lengths of 0-d arrays take no room in env: the work estimate is word 0.
TWO = TWO.replace("env[4]", "env[0]")


def two(programs, cells, mode="fresh"):
    signature = Signature(
        [Input("seconds", "float64")],
        [CellInput("float64")] * 2,
        updates=[Update(0, "float64", 0, mode), Update(1, "float64", 0, mode)],
        returns="none",
    )
    return programs.bind(TWO, signature, "two", cells=cells)


def reader(programs, cells):
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[0] = 1000000000; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    *(double *)buf[2] = *(double *)buf[0];
    int64_t end = tg_rt->clock_ns() + 200000;
    while (tg_rt->clock_ns() < end) {}
    *(double *)buf[3] = *(double *)buf[1];
    return 0;
}
"""
    signature = Signature((), [CellInput("float64")] * 2, outputs=[Output("float64", 0)] * 2)
    return programs.bind(text, signature, "reader", cells=cells)


@pytest.mark.parametrize("mode", ["fresh", "overwrite"])
def test_readers_see_both_updates_or_none(programs, mode):
    cells = [programs.cell(np.array(0.0)), programs.cell(np.array(0.0))]
    write, read = two(programs, cells, mode), reader(programs, cells)
    stop, torn = threading.Event(), []

    def look():
        while not stop.is_set():
            a, b = read()
            if a != b:
                torn.append((float(a), float(b)))

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for thread in watchers:
        thread.start()
    for _ in range(60):
        write(0.0005)
    stop.set()
    for thread in watchers:
        thread.join()
    assert not torn
    assert cells[0].value == cells[1].value == 60


@pytest.mark.parametrize("mode", MODES)
def test_concurrent_updates_lose_nothing(programs, mode):
    a, b = programs.cell(np.array(0.0)), programs.cell(np.array(0.0))
    functions = [two(programs, [a, b], mode), two(programs, [b, a], mode)]
    each = 150

    def work(f):
        for i in range(each):
            f(0.00002 if i % 3 else 0.0)

    threads = [threading.Thread(target=work, args=(functions[i % 2],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a.value == b.value == 4 * each


def test_setting_waits_for_a_running_update(programs):
    cells = [programs.cell(np.array(0.0)), programs.cell(np.array(0.0))]
    f = two(programs, cells)
    thread = threading.Thread(target=f, args=(0.3,))
    thread.start()
    time.sleep(0.1)
    cells[0].value = np.array(100.0)
    thread.join()  # had the setting not waited, the update would have overwritten it
    assert cells[0].value == 100 and cells[1].value == 1


def test_a_handler_that_calls_the_same_program_is_refused(programs):
    cells = [programs.cell(np.array(0.0)), programs.cell(np.array(0.0))]
    f = two(programs, cells)
    caught = []

    def handler(*_):
        try:
            f(0.0)
        except RuntimeError as error:
            caught.append(str(error))

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        f(0.4)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(caught) == 1 and "running in this very thread" in caught[0]
    assert cells[0].value == cells[1].value == 1


def test_an_interrupted_update_changes_nothing(programs):
    cells = [programs.cell(np.array(0.0)), programs.cell(np.array(0.0))]
    f = two(programs, cells)
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            f(10.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert time.monotonic() - begin < 8
    assert cells[0].value == cells[1].value == 0
    f(0.0)
    assert cells[0].value == cells[1].value == 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt, RuntimeError])
def test_a_handler_that_raises_while_the_helper_begins_is_waited_for(shared_cache, kernels, monkeypatch, raised):
    """The thread that runs a program writes to the memory of the call: it must not go on after that."""
    programs = kernels.Programs(kernels.PROVIDERS["ctypes"]())
    cells = [programs.cell(np.array(0.0)), programs.cell(np.array(0.0))]
    f, start, begin, before = two(programs, cells), threading.Thread.start, time.monotonic(), threading.enumerate()

    def interrupted(thread):
        start(thread)
        raise raised

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(raised):
            f(10.0)
    for helper in set(threading.enumerate()) - set(before):
        helper.join(2)
        assert not helper.is_alive()
    assert time.monotonic() - begin < 8
    assert cells[0].value == cells[1].value == 0
    f(0.0)
    assert cells[0].value == cells[1].value == 1


# -- programs run piece by piece from Python ------------------------------------------------


def test_own_commit_disown(programs, kernels):
    module = programs.module
    cells = (programs.cell(np.zeros(3)), programs.cell(np.ones(3)))
    f = programs.bind(*kernels.descend("fresh"), cells=cells[:1])
    with pytest.raises(TypeError, match="owns"):
        module.commit(cells, (np.zeros(3), np.zeros(3)))
    module.own(cells)
    try:
        assert list(cells[0].value) == [0, 0, 0]  # reading is allowed
        f(np.ones(3))  # and so are programs, in this thread
        cells[0].value = cells[0].value + 1
        with pytest.raises(TypeError):
            module.commit(cells, (np.full(3, 5.0), "not an array"))
        with pytest.raises(ValueError, match="as many values"):
            module.commit(cells, (np.full(3, 5.0),))
        assert list(cells[0].value) == [0, 0, 0]
        module.commit(cells, (np.full(3, 5.0), np.full(3, 6.0)))
    finally:
        module.disown(cells)
    assert list(cells[0].value) == [5, 5, 5] and list(cells[1].value) == [6, 6, 6]
    f(np.ones(3))
    assert list(cells[0].value) == [4, 4, 4]


class Holder:
    """What a shared variable keeps its value in."""

    def __init__(self, value):
        self.storage, self.lock = [value], threading.RLock()


def test_a_cell_stands_in_for_storage_and_lock(programs, kernels, monkeypatch):
    monkeypatch.setattr(glue, "_provider", programs.module)
    holder = Holder(np.zeros(3))
    cell = glue.attach(holder)
    assert glue.attach(holder) is cell is holder.storage is holder.lock and len(cell) == 1
    f = programs.bind(*kernels.descend("overwrite"), cells=[cell])
    f(np.ones(3))
    assert list(holder.storage[0]) == [-1, -1, -1]
    with holder.lock, holder.lock:
        holder.storage[0] = np.zeros(3)
        f(np.ones(3))
        assert list(holder.storage[0]) == [-1, -1, -1]
    assert holder.lock.acquire()
    holder.lock.release()
    with pytest.raises(IndexError):
        holder.storage[1]
    with pytest.raises(IndexError):
        holder.storage[1] = np.zeros(3)
    with pytest.raises(TypeError):
        holder.storage[0] = None


def test_the_lock_of_a_cell_keeps_other_threads_out(programs, kernels):
    cell = programs.cell(np.zeros(3))
    f = programs.bind(*kernels.descend("fresh"), cells=[cell])
    with cell:
        threads = [threading.Thread(target=f, args=(np.ones(3),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        assert list(cell.value) == [0, 0, 0]
        cell.value = np.full(3, 10.0)
    for thread in threads:
        thread.join()
    assert list(cell.value) == [8, 8, 8]


def test_cells_do_not_leak(glue_programs, kernels):
    start = np.zeros(3)
    cell = glue_programs.cell(start)
    before = sys.getrefcount(start)
    for mode in MODES:
        f = glue_programs.bind(*kernels.descend(mode), cells=[cell])
        for _ in range(50):
            cell.value = start
            f(np.ones(3)), f(np.ones(3))
            with pytest.raises(RuntimeError):
                f(np.ones(4))
        del f
    cell.value = start
    assert sys.getrefcount(start) == before and not start.any()

"""The cycle collector rests while a function is compiled, works while a compiler is waited for, and goes on after."""

import gc
import os
import sys
import threading
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import _collector
from termgraph._collector import paused_gc, running_gc


def test_it_rests_and_goes_on():
    assert gc.isenabled()
    with paused_gc():
        assert not gc.isenabled()
        with paused_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
        with running_gc():
            assert gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_turned_it_off_finds_it_off():
    gc.disable()
    try:
        with paused_gc(), running_gc():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@contextmanager
def another_thread_stops_it():
    inside, done = threading.Event(), threading.Event()

    def other():
        with paused_gc():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    yield
    done.set()
    thread.join()


def test_a_thread_that_did_not_stop_it_does_not_start_it():
    with another_thread_stops_it(), paused_gc(), running_gc():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_again_after_a_function_and_a_gradient_also_where_they_fail():
    x = T.dvector("x")
    tg.function([x], tg.grad((x * x).sum(), x))
    assert gc.isenabled()
    with pytest.raises(Exception, match="lost|input"):
        tg.function([], x + T.dvector("lost"))
    assert gc.isenabled()


class Cycle:
    def __init__(self):
        self.me, self.others = self, [[] for _ in range(2000)]


def dead_cycles(rounds):
    made = []
    for _ in range(rounds):
        with paused_gc():
            made.append(weakref.ref(Cycle()))
    return sum(r() is None for r in made)


def as_after_a_look(monkeypatch):
    gc.collect()
    monkeypatch.setattr(_collector, "_aged", 0)
    monkeypatch.setattr(_collector, "_left", sys.getallocatedblocks())
    monkeypatch.setattr(_collector, "_enough", 300_000)


def test_where_memory_is_not_counted_all_is_looked_at(monkeypatch):
    as_after_a_look(monkeypatch)
    monkeypatch.setattr(_collector, "_blocks", int)
    assert dead_cycles(5) == 0
    assert dead_cycles(150) > 50


def test_what_aged_without_being_looked_at_is_collected_in_the_end(monkeypatch):
    as_after_a_look(monkeypatch)
    assert dead_cycles(5) == 0
    assert dead_cycles(250) > 50
    assert _collector._aged < 200_000 and _collector._enough >= 300_000


def test_what_is_dropped_before_the_next_work_costs_no_collection(monkeypatch):
    as_after_a_look(monkeypatch)
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(info["generation"]))
    try:
        for keep in (False, True):
            with paused_gc():
                held = [[] for _ in range(500_000)]
            if not keep:
                del held
            with paused_gc():
                pass
            assert (2 in seen) == keep
    finally:
        gc.callbacks.pop()


def dead_functions(rounds, monkeypatch):
    """How many arrays of functions that nobody has any more are gone; a function is as much as may come."""
    x, gone = T.dvector("x"), []
    monkeypatch.setattr(_collector, "_MUCH", 1 << 20)
    monkeypatch.setattr(_collector, "_memory_left", 1)
    memory = iter(range(2 << 20, 100 << 20, 600 << 10))
    monkeypatch.setattr(_collector, "_memory", lambda: next(memory))
    for i in range(rounds):
        w = tg.shared(np.ones(7))
        gone.append(weakref.ref(w.get_value(borrow=True)))
        tg.function([x], (x * w).sum(), updates=[(w, w + i)])(np.ones(7))
    return sum(r() is None for r in gone)


def test_arrays_of_functions_that_nobody_has_go_when_memory_grows(monkeypatch):
    assert dead_functions(10, monkeypatch) > 5


class Undying:
    """Its end makes another one."""

    def __init__(self):
        self.me = self

    def __del__(self):
        if not sys.is_finalizing() and Undying.more:
            Undying()

    more = True


def test_what_is_made_while_all_is_collected_is_not_waited_for(monkeypatch):
    Undying()
    dead_functions(4, monkeypatch)
    Undying.more = False


def test_memory_is_counted_in_bytes():
    assert _collector.resource is None or 20 << 20 < _collector._memory() < 1 << 40


def test_who_wants_no_collections_gets_none():
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(0)
    try:
        assert dead_cycles(300) == 0
    finally:
        gc.set_threshold(*before)
        gc.collect()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_the_threads_of_its_parent():
    with another_thread_stops_it():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()

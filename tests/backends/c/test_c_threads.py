"""The GIL, the team of threads, signals, fork, and the pool of big results."""

import ctypes
import os
import signal
import threading
import time

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import progress
from termgraph.backends.c.build import program_library
from termgraph.backends.c.run import blas, glue
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update
from termgraph.config import config

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture
def wait(programs, kernels):
    return programs.bind(kernels.WAIT, kernels.WAIT_SIGNATURE, "wait")


def test_two_threads_really_overlap(wait):
    spans = []

    def timed():
        begin = time.monotonic()
        wait(0.5)
        spans.append((begin, time.monotonic()))

    threads = [threading.Thread(target=timed) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(begin for begin, _ in spans) < min(end for _, end in spans)


def test_python_runs_while_a_long_program_runs(wait):
    thread = threading.Thread(target=wait, args=(0.3,))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.01)
    assert turns > 1  # were Python locked out, the first look would be the last


def test_ctrl_c_ends_a_long_program(wait):
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait(10.0)
    assert time.monotonic() - begin < 8
    timer.join()
    wait(0.0)


def test_an_interrupt_that_comes_too_late_is_raised_after_the_updates(programs):
    """A program that finishes in spite of an interrupt has happened, as a whole."""
    text = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[0] = 1000000; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    int64_t end = tg_rt->clock_ns() + 300000000;
    while (tg_rt->clock_ns() < end) TG_POLL(st);
    *(double *)buf[1] = *(double *)buf[0] + 1;
    return 0;
}
"""
    cell = programs.cell(np.array(0.0))
    updates = [Update(0, "float64", 0, "overwrite")]
    f = programs.bind(text, Signature((), [CellInput("float64")], updates=updates, returns="none"), cells=[cell])
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f()
    timer.join()
    assert cell.value == 1
    f()
    assert cell.value == 2


LOOP = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[0] = 1000000; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    st->loop++, st->steps = 8;
    for (int64_t t = 0; t < 8; t++) {
        st->step = t;
        int64_t end = tg_rt->clock_ns() + 30000000;
        while (tg_rt->clock_ns() < end) if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);
    }
    st->steps = 0;
    return 0;
}
"""


@pytest.mark.parametrize("main", [True, False])
def test_the_thread_that_called_shows_the_steps_of_a_loop(programs, monkeypatch, main):
    seen = []

    def draw(line, text):
        seen.append((threading.current_thread(), text))
        line.drawn = 1.0

    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress.Line, "draw", draw)
    monkeypatch.setattr(progress.Line, "clear", lambda line: seen.append((threading.current_thread(), "")))
    f = programs.bind(LOOP, Signature((), returns="none"), "walk")

    def run():
        with config.change_flags(progress="on"):
            f()

    def steps_seen():
        """The numbers of steps that were shown while the loop ran once."""
        seen.clear()
        thread = threading.current_thread() if main else threading.Thread(target=run)
        run() if main else (thread.start(), thread.join())
        assert {who for who, _ in seen} == {thread} and seen[-1][1] == ""
        steps = [int(text.split("/8 steps")[0].removeprefix("running walk, ")) for _, text in seen if text]
        assert steps == sorted(steps)
        return steps

    programs.module.configure(-1, -1, -1, 0)
    try:  # on a crowded machine the caller may sleep through most of a loop: then once more
        assert any(steps and steps[0] < 4 and steps[-1] > 3 for steps in (steps_seen() for _ in range(20)))
    finally:
        programs.module.configure(-1, -1, -1, 50_000_000)


# -- the team -------------------------------------------------------------------------------

SUM = """
typedef struct { const double *x; double *partial; int64_t stride; tg_status *st; } Context;
static void part(void *context, int64_t begin, int64_t end, int64_t number)
{
    Context *c = context;
    double s = 0;
    for (int64_t i = begin; i < end; i++) s += c->x[i * c->stride];
    c->partial[number] = s;
    if (end == begin) tg_fail(c->st, 77, 0, begin, 0, 0, 0);
}
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{
    env[2] = 1;
    env[3] = 8 * tg_rt->parts(env[0], 1000);
    env[4] = env[0];
    return 0;
}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    Context c = {(void *)buf[0], (void *)buf[2], env[1], st};
    int64_t parts = tg_rt->parts(env[0], 1000);
    for (int64_t i = 0; i < parts; i++) c.partial[i] = 0;
    tg_rt->parallel_for(part, &c, env[0], 1000);
    double s = 0;
    for (int64_t i = 0; i < parts; i++) s += c.partial[i];
    *(double *)buf[1] = s;
    return st->code ? -9 : 0;
}
"""


@pytest.fixture(params=[1, 2, 5])
def team_sum(request, programs):
    """A sum in parts, with one partial result each."""
    inputs = [Input("x", "float64", (None,))]
    signature = Signature(inputs, outputs=[Output("float64", 1)], workspaces=1, returns="one")
    f = programs.bind(SUM, signature, "team_sum")
    programs.module.set_threads(request.param)
    yield f
    programs.module.set_threads(2)


def test_every_element_is_visited_once(team_sum):
    for n in (0, 1, 999, 1000, 1001, 12_345, 100_000):
        assert team_sum(np.ones(n)) == n


def test_the_same_input_gives_the_same_bits(team_sum):
    x = np.random.default_rng(0).normal(size=50_000)
    assert len({team_sum(x).tobytes() for _ in range(200)}) == 1


@pytest.mark.parametrize("size", [1, 2, 5])
def test_libraries_have_one_thread_while_the_team_works(size, programs):
    provider = glue.provider()  # whose team works, whoever calls
    table = program_library._Runtime.from_address(provider.runtime()).libraries[program_library.NUMPYS]
    signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], workspaces=1, returns="one")
    f = programs.bind(SUM, signature, "team_sum")
    before, count, said = table[:2], 3, []

    def set_count(n):
        nonlocal count
        count = n
        said.append(n)

    get, set_ = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: count), ctypes.CFUNCTYPE(None, ctypes.c_int)(set_count)
    try:
        provider.set_threads(size)
        table[:2] = [ctypes.cast(f, ctypes.c_void_p).value for f in (get, set_)]
        assert f(np.ones(50_000)) == 50_000 and f(np.ones(10)) == 10  # which is one part: nothing is changed
        assert said == ([] if size == 1 else [1, 3]) and count == 3
    finally:
        table[:2] = before
        provider.set_threads(2)


def test_products_of_the_teams_parts_have_one_thread_each():
    results = [T.matmul(a := T.dtensor3("a"), b := T.dtensor3("b")), T.linalg.inv(a)]
    f = tg.function([a, b], results, mode=tg.Mode(linker="c"))
    x = np.random.default_rng(0).normal(size=(20, 150, 150))
    for got, want in zip(f(x, x), (x @ x, np.linalg.inv(x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)
    libraries = program_library._Runtime.from_address(glue.provider().runtime()).libraries
    for place, library in ((program_library.OURS, blas.load()), (program_library.NUMPYS, blas.numpys())):
        if library is not None and library.thread_functions():
            assert tuple(libraries[place][:2]) == library.thread_functions()


def test_callers_from_many_threads_share_the_team(team_sum):
    x = np.random.default_rng(0).normal(size=50_000)
    expected, wrong = team_sum(x).tobytes(), []

    def work():
        for _ in range(100):
            if team_sum(x).tobytes() != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def in_child(action, seconds=20.0):
    """Run an action in a forked child; True if it returned something true in time."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(0 if action() else 1)
        except BaseException:
            os._exit(2)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_team(team_sum):
    x = np.ones(100_000)
    assert team_sum(x) == len(x)
    for _ in range(3):
        assert in_child(lambda: team_sum(x) == len(x) and in_child(lambda: team_sum(x) == len(x)))
    assert team_sum(x) == len(x)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("who", ["the team", "a decomposition", "decompositions in the team"])
def test_a_child_that_was_forked_meanwhile_gives_libraries_their_threads_back(who, programs):
    matrix, matrices, provider = T.dmatrix("matrix"), T.dtensor3("matrices"), glue.provider()
    signature = Signature([Input("x", "float64", (None,))], outputs=[Output("float64", 1)], workspaces=1, returns="one")
    if who == "the team":
        f, x = programs.bind(SUM, signature, "team_sum"), np.ones(100_000)
    elif who == "a decomposition":
        f, x = tg.function([matrix], T.linalg.inv(matrix), mode=tg.Mode(linker="c")), np.eye(5)
    else:
        f = tg.function([matrices], T.linalg.inv(matrices), mode=tg.Mode(linker="c"))
        x = np.tile(np.eye(60), (40, 1, 1))
    table = program_library._Runtime.from_address(provider.runtime()).libraries[program_library.NUMPYS]
    before, counts = table[:3], [3]
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: counts[-1])
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int)(counts.append)
    try:
        provider.set_threads(3)
        table[:2] = [ctypes.cast(f, ctypes.c_void_p).value for f in (get, set_)]
        f(x)
        assert counts == [3, 1, 3] and not table[2]
        counts[:], table[2] = [1], 3  # as it is in the middle of another thread's call, which a child does not have
        assert in_child(lambda: f(x) is not None and counts[-1] == 3 and not table[2])
    finally:
        table[:3] = before
        provider.set_threads(2)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork_in_the_middle_of_everything(programs, kernels, team_sum):
    """Another thread holds cells, the team and the pool at the moment of the fork: the child is not stuck with them."""
    cell = programs.cell(np.zeros(3))
    descend = programs.bind(*kernels.descend("overwrite"), cells=[cell])
    x, stop = np.ones(60_000), threading.Event()

    def busy():
        while not stop.is_set():
            team_sum(x), descend(np.zeros(3))

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: team_sum(x) == len(x) and list(descend(np.zeros(3))) == [0, 0, 0])
    finally:
        stop.set()
        thread.join()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_cell_owned_at_the_fork_is_free_in_the_child(programs):
    cell = programs.cell(np.zeros(3))
    owner = threading.Thread(target=lambda: (programs.module.own((cell,)), time.sleep(0.5)))
    owner.start()
    time.sleep(0.1)

    def use():
        cell.value = np.ones(3)
        return True

    assert in_child(use, seconds=5)
    owner.join()


# -- the pool -------------------------------------------------------------------------------


@pytest.fixture
def pool(glue_programs):
    """The glue's module, with an empty pool."""
    module = glue_programs.module
    module.empty_pool()
    yield module
    module.empty_pool()


def test_big_results_come_from_the_pool_and_go_back(glue_programs, pool):
    f = glue_programs.add_one()
    x = np.zeros(400_000)
    first = f(x)
    address = first.ctypes.data
    assert address % (2 << 20) == 0 and first.flags.writeable and not first.flags.owndata
    view = first[10:20]
    del first
    assert pool.pool_state()["free"] == 0  # the view still needs it
    other = f(x)
    assert other.ctypes.data != address and list(view) == [1] * 10
    del view
    assert pool.pool_state()["free"] == 1
    again = f(x)
    assert again.ctypes.data == address
    del other, again
    assert pool.pool_state()["free"] == 2
    pool.empty_pool()
    assert pool.pool_state()["free"] == pool.pool_state()["held"] == 0


def test_results_of_some_hundred_kilobytes_are_pooled_without_huge_pages(glue_programs, pool):
    """malloc gives such memory back to the system when it is freed, and the next result pays for fresh pages."""
    f, x = glue_programs.add_one(), np.zeros(30_000)
    first = f(x)
    address = first.ctypes.data
    del first
    assert pool.pool_state()["free"] == 1 and pool.pool_state()["held"] == 256 << 10
    assert f(x).ctypes.data == address
    small = f(np.zeros(1000))
    assert small.flags.owndata


@pytest.mark.parametrize("keep", [memoryview, lambda x: x.reshape(2, -1).T, lambda x: x.view(np.int64), np.from_dlpack])
def test_whatever_shares_the_memory_keeps_it(glue_programs, pool, keep):
    result = glue_programs.add_one()(np.zeros(200_000))
    kept = keep(result)
    del result
    noise = [glue_programs.add_one()(np.full(200_000, 5.0)) for _ in range(3)]
    assert (np.asarray(kept).ravel().view(np.float64) == 1).all()
    del noise


def test_the_pool_is_bounded(glue_programs, pool):
    limit = pool.pool_state()["limit"]
    f = glue_programs.add_one()
    pool.configure(8 << 20, -1, -1)
    try:
        results = [f(np.zeros(500_000)) for _ in range(6)]
        del results
        assert 0 < pool.pool_state()["held"] <= 8 << 20
    finally:
        pool.configure(limit, -1, -1)


def test_pooled_results_under_threads(glue_programs, pool):
    """Random sizes with random lifetimes in several threads: nobody's numbers change."""
    f = glue_programs.add_one()
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        kept = []
        for _ in range(40):
            n, value = int(rng.integers(13_000, 600_000)), float(rng.integers(1 << 30))
            kept.append((value + 1, f(np.full(n, value))))
            if len(kept) > 3:
                expected, result = kept.pop(int(rng.integers(len(kept))))
                if result[0] != expected or result[-1] != expected or result[len(result) // 2] != expected:
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_results_survive_a_fork(glue_programs, pool):
    f = glue_programs.add_one()
    result = f(np.zeros(300_000))
    free = f(np.ones(300_000))
    del free
    assert pool.pool_state()["free"] == 1 and in_child(lambda: pool.pool_state()["free"] == 0)
    assert in_child(lambda: (result == 1).all() and (f(np.ones(300_000)) == 2).all())
    assert (result == 1).all() and (f(np.ones(300_000)) == 2).all()

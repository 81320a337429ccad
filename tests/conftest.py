"""Shared by all tests: repeatable examples, a seed and a time budget for the slow ones, no flags of the person who
runs them.

    python -m pytest                                  the fast tests; hypothesis tries the same examples every time
    python -m pytest -m slow --seed 7 --budget 240    the slow tests in an order and with examples drawn from seed 7;
                                                      none is started after 240 seconds
"""

import os
import random
import signal
import time

import hypothesis
import leftovers
import numpy as np
import pytest
from _pytest.doctest import DoctestModule

# Flags of the person who runs the tests (environment, ~/.termgraphrc) would change what is tested.
for name in [n for n in os.environ if n.startswith("TERMGRAPH") and not n.startswith("TERMGRAPH_TEST_")]:
    del os.environ[name]
os.environ["TERMGRAPHRC"] = ""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: tests of Ctrl-C mean it all the same
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("explore", database=None, deadline=None, print_blob=True)


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, help="draw random test cases, and the order of tests, from this seed")
    parser.addoption("--linker", default="py", help="what runs functions in tests that do not choose: py, or c or auto")
    parser.addoption("--cflags", default="", help="flags for the C compiler, such as those of a sanitizer")
    parser.addoption("--budget", type=float, help="start no further test after this many seconds")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    seed = config.getoption("--seed")
    if seed is not None and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(seed)
    hypothesis.settings.load_profile("repeatable" if seed is None else "explore")
    config.started = time.monotonic()
    leftovers.watch()


def pytest_report_header(config):
    seed = config.getoption("--seed")
    return None if seed is None else f"seed: {seed} (the same tests again: --seed {seed})"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Files of tests are not imported once more for examples that they do not have; programs of users' would run."""
    found = yield
    if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
        found = [collector for collector in found if not isinstance(collector, DoctestModule)]
    return found


def pytest_collection_modifyitems(config, items):
    seed = config.getoption("--seed")
    if seed is not None:
        random.Random(seed).shuffle(items)


def pytest_runtest_setup(item):
    budget = item.config.getoption("--budget")
    if budget is not None and time.monotonic() - item.config.started > budget:
        pytest.skip(f"not started: the budget of {budget:g} s is used up")


@pytest.fixture(autouse=True)
def chosen_linker(request):
    """Functions run on the virtual machine, unless the test module sets LINKER or the command line says --linker.

    Tests marked `machine(why)` are about the virtual machine and run on it always. A module whose formulas are long,
    and which asks for their values alone, may set CFLAGS to have them compiled in less time.
    """
    import termgraph

    chosen = getattr(request.module, "LINKER", None) or request.config.getoption("--linker")
    if request.node.get_closest_marker("machine"):
        chosen = "py"
    given = request.config.getoption("--cflags") or getattr(request.module, "CFLAGS", "")
    with termgraph.config.change_flags(linker=chosen, **({"cflags": given} if given else {})):
        yield


@pytest.fixture
def rng(request):
    """A NumPy random generator, the same in every run unless --seed is given."""
    return np.random.default_rng(request.config.getoption("--seed") or 0)

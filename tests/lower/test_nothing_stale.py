"""Statements are those that pushing everything anew would give: nothing pushed before a term was stored is left.

What was pushed is kept while it is decided what is stored, and forgotten where a newly stored term changes it. A value
that should have been forgotten computes again what is stored, which for equalities is another number.
"""

import pytest
from loops.test_random_steps import check
from lower.test_fuzz import run

from termgraph import config
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.storage.policy import Storage

LINKER = "auto"
pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def _made_anew(storage):
    """The values of all ordinary statements, pushed again from nothing through what is stored; each beside the old."""
    old, memo, judge = dict(storage.made), storage.push.memo, storage.push.judge
    storage.push.memo, storage.push.judge = {}, None
    storage.work.add = lambda t, early=False: None
    try:
        for t, stores in old.items():
            if storage.own_rule(t) is None:
                flat = len(stores[0].vars) < 2  # as it was decided
                storage._is_flat = lambda u, flat=flat: flat
                storage._write(t)
                yield [x.value for x in stores], [x.value for x in storage.made[t]]
    finally:
        del storage.work.add
        storage.__dict__.pop("_is_flat", None)
        storage.made, storage.push.memo, storage.push.judge = old, memo, judge


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.setattr(config.cache, "programs", False)  # what is kept from an earlier run is not lowered
    counts = []

    def settle(storage):
        settled(storage)
        order = dict(storage.scalars.fold_order)
        for before, after in _made_anew(storage):
            counts.append(len(before))
            assert len(before) == len(after)
            for a, b in zip(before, after):
                assert a is b, f"pushed before something in it was stored:\n{a}\nnow\n{b}"
        storage.scalars.fold_order = order

    settled = Storage.settle
    monkeypatch.setattr(Storage, "settle", settle)
    return counts


@pytest.mark.parametrize("seed", [100, 101, 108])
def test_loops(compared, seed):
    check(seed, ["None"])
    assert len(compared) > 5


@pytest.mark.parametrize("seed", range(8))
def test_graphs(compared, seed):
    run(4000 + seed, 6 + seed)
    assert compared

"""Random sequences of calls, new values, copies and pickles; two planted mistakes are seen."""

import numpy as np
import pytest

from fuzz import sequences
from fuzz.sequences import Different, World, sequence

VM = ("FAST_RUN, VM", "STRICT, VM")


def test_random_sequences_on_the_virtual_machine():
    worlds = [sequence(seed, modes=VM) for seed in range(20)]
    steps = " ".join(line for w in worlds for line in w.log)
    assert all(what in steps for what in ("set_value", "delete_updates", "share_memory", "pickled", "write over"))


@pytest.mark.parametrize("seed", [101, 123])
def test_random_sequences_in_c(seed):
    """123 copied a function without its updates, whose shared variables stand in another order then."""
    assert sequence(seed).functions


def _any_differs():
    with pytest.raises(Different, match="call f"):
        for seed in range(30):
            sequence(seed, modes=VM)


def test_a_wrong_number_is_seen(monkeypatch):
    """What is added to an element that is named twice is added once."""
    monkeypatch.setitem(sequences.NUMPYS, "add", lambda x, i, v: x + v * np.isin(np.arange(len(x)), i % len(x)))
    _any_differs()


def test_a_result_that_is_written_over_is_seen(monkeypatch):
    """Every call writes over what the call before has returned."""

    def call(self, right=World.call):
        right(self)
        for _, result, _ in self.kept[:-3]:
            result[...] += 1

    monkeypatch.setattr(sequences, "STEPS", (call,))
    _any_differs()


@pytest.mark.slow
def test_many_random_sequences(request):
    first = 1000 * (request.config.getoption("--seed") or 2)
    for seed in range(first, first + 40):
        sequence(seed)

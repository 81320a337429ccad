"""Results of functions in parts have memory of their own, and those that nobody holds are not looked for."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.function import compiled
from termgraph.vm import aliasing

LINKER = "py"
x = T.dvector("x")
GIVEN = np.arange(4.0)


@pytest.mark.parametrize(
    "made", [lambda: x, lambda: x[::2], lambda: T.as_tensor(GIVEN[:2] + 1), lambda: T.reshape(x * 2, (2, 2)).T]
)
def test_results_are_nobody_elses(made):
    f = tg.function([x], [made(), made(), x + 1])
    first, second = f(GIVEN), f(GIVEN)
    arrays = [GIVEN, *first, *second]
    for i, a in enumerate(arrays):
        a += i
        assert not any(np.shares_memory(a, b) for b in arrays[:i])


def test_memory_is_claimed_only_where_somebody_may_have_it(monkeypatch):
    asked = []

    class Asked(aliasing.Claims):
        def __init__(self, *given):
            asked.append(given)
            super().__init__(*given)

    monkeypatch.setattr(compiled, "Claims", Asked)
    tg.function([x], [x + 1, T.exp(x)])(GIVEN)
    assert not asked
    tg.function([x], [x + 1, x])(GIVEN)
    assert len(asked) == 1

"""Every public function survives a file: saved, loaded and called again, it gives the same; so does its gradient."""

import random

import numpy as np
import pytest

import termgraph as tg

from .cells import Built, Refused, all_units, build, mode
from .runner import TOGETHER, call_of, in_rounds

SEED = 3


def one_each(gradient: bool) -> list[Built]:
    """A unit of each row, in a type of numbers drawn by the seed."""
    units = [u for u in all_units("") if u.linker == "py" and u.rules == "FAST_RUN" and u.gradient == gradient]
    random.Random(SEED).shuffle(units)
    rows: dict = {}
    for unit in in_rounds(units):
        rows.setdefault(unit.row, unit)
    found = []
    for unit in rows.values():
        try:
            found.append(build(unit, SEED))
        except Refused:
            continue
    return found


def through_a_file(built: list[Built], path) -> list[tuple[str, str]]:
    """What went wrong, by function: a program of all of them, of halves if that fails."""
    try:
        inputs, outputs = [v for b in built for v in b.inputs], [v for b in built for v in b.outputs]
        f = tg.function(inputs, outputs, mode=mode("FAST_RUN", "py"), on_unused_input="ignore")
        tg.save(f, path)
        values = [v for b in built for v in call_of(b, SEED, 0).values]
        with np.errstate(all="ignore"):
            for a, b in zip(tg.load(path)(*values), f(*values), strict=True):
                if np.asarray(a).dtype == "bfloat16":  # of which NumPy does not know what NaN is
                    a, b = np.asarray(a, "float32"), np.asarray(b, "float32")
                np.testing.assert_array_equal(a, b)
    except Exception as error:
        if len(built) == 1:
            return [(built[0].unit.row, f"{type(error).__name__}: {error}"[:200])]
        middle = len(built) // 2
        return through_a_file(built[:middle], path) + through_a_file(built[middle:], path)
    return []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gradient", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_function_survives_a_file(gradient, tmp_path):
    built = one_each(gradient)
    assert len(built) > 100
    wrong = [
        found
        for k in range(0, len(built), TOGETHER["py"])
        for found in through_a_file(built[k : k + TOGETHER["py"]], tmp_path / "f.tg")
    ]
    assert not wrong, "\n".join(f"{row}: {what}" for row, what in wrong)

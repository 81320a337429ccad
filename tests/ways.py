"""A whole program in every way: compiled, on the virtual machine, without rules, with nothing on trust, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import termgraph as tg

WAYS = {
    "compiled": lambda: tg.Mode(optimizer="fast_run", linker="auto"),
    "virtual machine": lambda: tg.Mode(optimizer="fast_run", linker="py"),
    "no rules": lambda: tg.get_mode("None"),
    "nothing on trust": lambda: tg.get_mode("STRICT"),
    "checked": lambda: "DEBUG_MODE",
}


def made(way: str, inputs: Sequence[Any], outputs: Any) -> Any:
    """The function; the C compiler takes its time for the first way only."""
    with tg.config.change_flags(**({} if way == "compiled" else {"cflags": f"{tg.config.cflags} -O0"})):
        return tg.function(inputs, outputs, mode=WAYS[way]())


def in_all_ways(
    inputs: Sequence[Any], outputs: Sequence[Any], values: Sequence[Any], wanted: Sequence[Any], **how: Any
):
    """The results are the wanted ones in every way."""
    for way in WAYS:
        got = made(way, inputs, outputs)(*values)
        for k, (ours, numpys) in enumerate(zip(got, wanted, strict=True)):
            message = f"result {k}, {way}"
            np.testing.assert_allclose(ours, numpys, **{"rtol": 1e-8, "atol": 1e-10, **how}, err_msg=message)


def slopes_in_all_ways(
    inputs: Sequence[Any], cost: Any, values: Sequence[Any], rng: Any, ways: Sequence[str] = ()
) -> None:
    """The gradient by each input of floats, along a random direction, is what differences say."""
    wrt = [k for k, v in enumerate(inputs) if v.type.dtype == "float64"]
    plain = tg.function(inputs, cost, mode=tg.Mode(optimizer="None", linker="py"))
    along = {k: rng.normal(size=np.shape(values[k])) for k in wrt}

    def moved(k: int, step: float) -> list[Any]:
        return [v + step * along[k] if k == i else v for i, v in enumerate(values)]

    expected = [(plain(*moved(k, 1e-6)) - plain(*moved(k, -1e-6))) / 2e-6 for k in wrt]
    slopes = tg.grad(cost, [inputs[k] for k in wrt])
    for way in ways or WAYS:
        found = made(way, inputs, slopes)(*values)
        for k, slope, difference in zip(wrt, found, expected):
            assert slope.shape == np.shape(values[k])
            np.testing.assert_allclose(
                (slope * along[k]).sum(), difference, rtol=2e-5, atol=1e-7, err_msg=f"by input {k}, {way}"
            )

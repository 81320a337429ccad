"""How much room temporaries have that only one side of a choice needs: in calls in which the choice falls on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.checks import When
from termgraph.lower.lengths.index import Poly


def larger(p: Printer, rooms: Sequence[Sequence[tuple[Any, Poly]]], when: Mapping[Any, When], place: int) -> list[str]:
    """The lines of the plan that make rooms larger, which have places in `env` that follow each other."""
    found = [(place + k, when[b], size) for k, room in enumerate(rooms) for b, size in room if b in when]
    return [_larger(p, *given) for given in dict.fromkeys(found)]


def _larger(p: Printer, place: int, when: When, size: Poly) -> str:
    taken, size_text = f"{p.poly(when.a)} {when.test} {p.poly(when.b)}", p.poly(size)
    return f"    if ({taken} && env[{place}] < {size_text}) env[{place}] = {size_text};"

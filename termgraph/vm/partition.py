"""Partitioning: which instructions of a program run together, as one part that a backend makes a program of.

Backends say where an instruction can run, and why a part cannot be made (a `Refusal`, a value); the rest is the same
for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from termgraph._records import record
from termgraph.terms.ops.shaping import shape_i
from termgraph.vm.program import Program, demand_groups

Made = TypeVar("Made")


@record(frozen=True)
class Part:
    """Instructions that run together: numbers of instructions and of slots.

    `place` is where they run, `alone` whether the one instruction is a program of its own. `roots` are computed from
    `leaves`, among them integers that lengths need.
    """

    place: Any  # a word or number of the backend
    alone: bool
    members: tuple[int, ...]
    leaves: tuple[int, ...]
    roots: tuple[int, ...]


@record(frozen=True)
class Refusal:
    """Why a backend cannot have a term in its program; with the `wanted` numbers, computed before, it could."""

    term: Any
    why: str
    wanted: tuple[Any, ...] = ()


def accepted(attempt: Callable[[], Made | Refusal], note: Callable[[Refusal], None]) -> Made:
    """What an attempt makes once no refusal is left; `note` must make the next attempt a different one."""
    while True:
        made = attempt()
        if not isinstance(made, Refusal):
            return made
        note(made)


def divided(
    program: Program,
    places: Sequence[Hashable | None],
    waits: Collection[int],
    alone: Collection[int] = (),
    given: Mapping[int, Sequence[int]] | None = None,
) -> list[Part]:
    """The parts of a program, such that none waits for another that waits for it.

    `places` says for each instruction where it can run as part of something (None: by itself, in Python). A part does
    not begin before what it needs of the instructions `waits` is there. Instructions that may not run, because a choice
    falls on others, are not together with those that do. `given` are slots that an instruction needs to be filled
    before its part begins.
    """
    given = given or {}
    producer = program.producers()
    needs = demand_groups(program) if program.lazy else [frozenset()] * len(program.instructions)
    done: list[int] = []  # the level after which others may use what an instruction makes
    groups: dict[Hashable, list[int]] = {}
    for i, ins in enumerate(program.instructions):
        level = 0
        for s in ins.inputs:
            j = producer.get(s)
            if j is not None:
                later = j in waits if places[j] is None else needs[j] != needs[i]
                level = max(level, done[j] + (places[i] is not None and later))
        level = max([level, *[done[producer[s]] + 1 for s in given.get(i, ()) if s in producer]])
        single = i in alone
        level += single
        done.append(level + single)
        if places[i] is not None:
            groups.setdefault((level, needs[i], places[i], i if single else None), []).append(i)
    lengths = {ins.outputs[0]: ins.inputs[0] for ins in program.instructions if ins.op.family is shape_i}
    reads = [_read(program, members, given, {} if members[0] in alone else lengths) for members in groups.values()]
    inside = {i for members in groups.values() for i in members}
    wanted = {
        s for i, ins in enumerate(program.instructions) if i not in inside for s in (*ins.inputs, *given.get(i, ()))
    }
    wanted.update(program.outputs, *reads)
    return [_part(program, m, r, wanted, places, alone) for m, r in zip(groups.values(), reads)]


def _read(
    program: Program, members: list[int], given: Mapping[int, Sequence[int]], lengths: Mapping[int, int]
) -> list[int]:
    """What a part reads that it does not make; not the `lengths` of arrays that it reads, which it knows by itself.

    What is alone is given them: the number of a loop's steps is an operand of the one that runs it.
    """
    instructions = [program.instructions[i] for i in members]
    known = {*program.constants, *[s for ins in instructions for s in ins.outputs]}
    slots = [s for i, ins in zip(members, instructions) for s in (*ins.inputs, *given.get(i, ()))]
    read = dict.fromkeys([s for s in slots if s not in known])
    return [s for s in read if lengths.get(s) not in read]


def _part(
    program: Program,
    members: list[int],
    read: list[int],
    wanted: Collection[int],
    places: Sequence[Hashable | None],
    alone: Collection[int],
) -> Part:
    made = [s for i in members for s in program.instructions[i].outputs]
    roots = [s for s in made if s in wanted] or made[-1:]  # lengths that each reader knows by itself
    return Part(places[members[0]], members[0] in alone, tuple(members), tuple(read), tuple(roots))

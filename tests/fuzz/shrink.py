"""The smallest program that still fails: fewer results and statements, values in place of statements, plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .judge import WORD, Allowed
from .programs import Program, Variable


def shrunk(program: Program, fails: Callable[[Program], bool], tries: int = 150) -> Program:
    """The program after every simplification that leaves it failing."""
    left = tries
    improved = True
    while improved and left > 0:
        improved = False
        for candidate in simpler(program):
            left -= 1
            if left < 0:
                break
            if fails(candidate):
                program, improved = candidate, True
                break
    return program


def simpler(program: Program) -> Iterator[Program]:
    """Programs one step simpler, the boldest steps first."""
    if program.given:
        yield replace(program, given="")
    for name in program.updates:
        yield replace(program, updates={v: u for v, u in program.updates.items() if v != name})
    if len(program.outputs) > 1:
        for name in program.outputs:
            yield trimmed(program.only(program.variables, [name]))
    try:
        values = Allowed(program).values
    except Exception:
        return
    statements = [v for v in program.variables if v.text]
    for v in statements:
        if program.outputs != [v.name]:
            yield trimmed(
                with_variable(program, v, Variable(v.name, values[v.name], None, (None,) * values[v.name].ndim))
            )
    for v in statements:
        yield from (trimmed(replaced(program, v.name, w)) for w in _alike(program, v, values))
        if program.outputs == [v.name]:
            yield from (
                trimmed(program.only(program.variables, [w])) for w in WORD.findall(v.text or "") if w in values
            )
    for v in program.inputs:
        for value in _plainer(v.value):
            yield with_variable(program, v, Variable(v.name, value, None, v.known))
        if any(n is not None for n in v.known):
            yield with_variable(
                program, v, Variable(v.name, v.value, None, tuple(1 if n == 1 else None for n in v.known))
            )


def trimmed(program: Program) -> Program:
    """Without what no result needs."""
    needed, kept = set(program.results), []
    for v in reversed(program.variables):
        if v.name in needed:
            kept.append(replace(v))
            needed |= set(WORD.findall(v.text or ""))
    return program.only(kept[::-1], list(program.outputs))


def with_variable(program: Program, old: Variable, new: Variable) -> Program:
    return program.only([new if v is old else replace(v) for v in program.variables], list(program.outputs))


def replaced(program: Program, name: str, other: str) -> Program:
    """Every use of a variable replaced by another of its type."""
    swap = lambda text: WORD.sub(lambda m: other if m[0] == name else m[0], text)  # noqa: E731
    variables = [replace(v, text=swap(v.text)) if v.text else replace(v) for v in program.variables]
    return program.only(variables, list(dict.fromkeys(other if o == name else o for o in program.outputs)))


def _alike(program: Program, v: Variable, values: dict) -> list[str]:
    before = program.variables[: program.variables.index(v)]
    fits = [
        w.name for w in before if values[w.name].shape == values[v.name].shape and w.dtype == values[v.name].dtype.name
    ]
    return fits[:2] if v.name not in program.outputs else []


def _plainer(value: np.ndarray) -> Iterator[np.ndarray]:
    if not value.size:
        return
    kind = value.dtype.kind
    rounded = (
        value
        if kind in "biu"
        else np.round(value.astype("complex128" if kind == "c" else "float64")).astype(value.dtype)
    )
    for other in (np.ones_like(value), np.arange(1, value.size + 1).reshape(value.shape).astype(value.dtype), rounded):
        if not np.array_equal(other, value):
            yield other


def company(program: Program, others: list[Program], wrong: Callable[[list[Program]], bool]) -> list[Program]:
    """The fewest programs in one function with which `program`, right by itself, is still wrong; it comes first."""
    beside = [p for p in others if p is not program]
    size = max(1, len(beside) // 2)
    while beside:
        for at in range(0, len(beside), size):
            fewer = beside[:at] + beside[at + size :]
            if wrong([program, *fewer]):
                beside = fewer
                break
        else:
            if size == 1:
                break
            size //= 2
        size = min(size, max(1, len(beside)))
    return [program, *beside]


def joined(programs: list[Program]) -> Program:
    """Several programs as one, each with names of its own."""
    whole = Program()
    for k, p in enumerate(programs):
        own = lambda text, k=k: WORD.sub(lambda m: f"{m[0]}{k:03}", text)  # noqa: E731
        whole.variables += [replace(v, name=own(v.name), text=v.text and own(v.text)) for v in p.variables]
        whole.outputs += map(own, p.outputs)
        whole.updates |= {own(v): own(u) for v, u in p.updates.items()}
        whole.given = whole.given or own(p.given)
    return whole

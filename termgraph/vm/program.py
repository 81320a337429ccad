"""Program: what a compiled function runs, a linear list of instructions over numbered slots.

Made from terms (children first), or by a backend that puts whole runs of terms into one instruction. Pure data: how it
is run is in `machine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from termgraph.terms.errors import GraphError
from termgraph.terms.op import ARG, CONST, INPUT
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TupleType


class Instruction:
    """One step of a program: read the input slots, run, fill the output slots.

    `run(*values)` gives one value, or a tuple when `several`. `terms` are the terms whose values it computes, one per
    output slot (for a kernel that fuses many, the ones that got storage). An instruction whose op is `lazy` computes
    its first input and then only the inputs that `op.choose(value, n)` names.
    """

    __slots__ = ("inputs", "op", "outputs", "run", "several", "terms")

    def __init__(
        self,
        op: Any,
        inputs: Sequence[int],
        outputs: Sequence[int],
        terms: Sequence[Any],
        several: bool,
        run: Callable | None = None,
    ) -> None:
        self.op, self.inputs, self.outputs = op, tuple(inputs), tuple(outputs)
        self.terms, self.several = tuple(terms), several
        self.run = run or op.meaning

    @property
    def lazy(self) -> bool:
        """Whether it decides at run time which of its inputs are needed."""
        return bool(getattr(self.op, "lazy", False))

    def __repr__(self) -> str:
        outs = ", ".join(f"%{i}" for i in self.outputs)
        return f"{outs} = {self.op}({', '.join(f'%{i}' for i in self.inputs)})"


class Program:
    """Instructions over slots, with the slots of inputs, constants and outputs.

    Slots `0 .. len(inputs)-1` hold the inputs. `term_of[slot]` is the term a slot holds the value of.

    >>> from termgraph.terms.ops.elementwise import add, exp
    >>> from termgraph.terms.term import Arg
    >>> from termgraph.terms.types import TensorType
    >>> x = Arg(0, TensorType("float64", (None,)))
    >>> print(Program.from_terms([x], [exp(add(x, x))]))
    %0 = input 0
    %1 = add(%0, %0)
    %2 = exp(%1)        free %1
    return %2
    """

    def __init__(
        self,
        inputs: Sequence[int],
        constants: dict[int, Any],
        instructions: list[Instruction],
        outputs: Sequence[int],
        term_of: list[Any],
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.constants, self.instructions, self.term_of = constants, instructions, term_of
        self.frees = last_uses(instructions, set(self.inputs) | set(constants) | set(self.outputs))
        self.lazy = any(i.lazy for i in instructions)

    @classmethod
    def from_terms(cls, inputs: Sequence[Any], roots: Sequence[Any]) -> Program:
        """The program that computes the root terms from the input leaves, one instruction per application."""
        return _Linearizer(inputs).program(list(roots))

    @property
    def n_slots(self) -> int:
        return len(self.term_of)

    def pruned(self, outputs: Sequence[int]) -> Program:
        """The program without the instructions that these outputs do not need."""
        needed = set(outputs)
        kept = []
        for instruction in reversed(self.instructions):
            if needed.intersection(instruction.outputs):
                needed.update(instruction.inputs)
                kept.append(instruction)
        return Program(self.inputs, self.constants, kept[::-1], outputs, self.term_of)

    def producers(self) -> dict[int, int]:
        """For each slot that an instruction fills, the number of that instruction."""
        return {slot: i for i, ins in enumerate(self.instructions) for slot in ins.outputs}

    def text(self) -> Iterator[str]:
        """The program line by line, with what is freed after each instruction."""
        yield from (f"%{slot} = input {i}" for i, slot in enumerate(self.inputs))
        yield from (f"%{slot} = {self.term_of[slot]!r}" for slot in self.constants)
        for instruction, free in zip(self.instructions, self.frees):
            freed = f"        free {', '.join(f'%{i}' for i in free)}" if free else ""
            yield f"{instruction}{freed}"
        yield f"return {', '.join(f'%{i}' for i in self.outputs)}"

    def __str__(self) -> str:
        return "\n".join(self.text())


class _Linearizer:
    """Gives each term a slot and each application an instruction."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.slot: dict[Any, int] = {}
        self.term_of: list[Any] = []
        self.several: dict[Any, tuple[int, ...]] = {}
        self.constants: dict[int, Any] = {}
        self.instructions: list[Instruction] = []
        self.inputs = [self._new(leaf) for leaf in inputs]

    def _new(self, term: AnyTerm) -> int:
        slot = len(self.term_of)
        self.term_of.append(term)
        self.slot[term] = slot
        return slot

    def program(self, roots: list[Any]) -> Program:
        for t in children_first(roots):
            if t not in self.slot:
                self._add(t)
        outputs = [self.slot[r] for r in roots]
        return Program(self.inputs, self.constants, self.instructions, outputs, self.term_of)

    def _add(self, t: Any) -> None:
        if t.op is CONST:
            self.constants[self._new(t)] = t.value
        elif t.op is INPUT or t.op is ARG:
            raise GraphError(f"the program needs {t!r}, which is not among its inputs")
        elif t.op.family is nth:
            self.slot[t] = self.several[t.args[0]][t.op.params["i"]]
            self.term_of[self.slot[t]] = t
        else:
            self._apply(t)

    def _apply(self, t: AnyTerm) -> None:
        inputs = [self.slot[a] for a in t.args]
        if isinstance(t.type, TupleType):
            outputs = []
            for _ in t.type.types:  # the projections that are used put their own term here
                outputs.append(len(self.term_of))
                self.term_of.append(t)
            self.several[t] = tuple(outputs)
            self.instructions.append(Instruction(t.op, inputs, outputs, [t], True))
        else:
            self.instructions.append(Instruction(t.op, inputs, [self._new(t)], [t], False))


def last_uses(instructions: Sequence[Instruction], keep: Iterable[int]) -> list[tuple[int, ...]]:
    """For each instruction the slots that nobody reads after it (results that nobody reads at all included)."""
    seen = set(keep)
    frees: list[tuple[int, ...]] = []
    for instruction in reversed(instructions):
        dead = [s for s in dict.fromkeys((*instruction.inputs, *instruction.outputs)) if s not in seen]
        seen.update(dead)
        frees.append(tuple(sorted(dead)))
    frees.reverse()
    return frees


def demand_groups(program: Program) -> list[frozenset]:
    """For each instruction the conditions under which it is needed; equal sets are needed together.

    A condition is `(lazy instruction, position)`: that instruction runs and picks that input. The empty set means
    always. A backend may put a run of instructions into one only if they need the same conditions.
    """
    needed: list[set] = [set() for _ in program.instructions]
    always = [False] * len(program.instructions)
    producer = program.producers()
    for slot in program.outputs:
        if slot in producer:
            always[producer[slot]] = True
    for i in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[i]
        for position, slot in enumerate(instruction.inputs):
            j = producer.get(slot)
            if j is None:
                continue
            if instruction.lazy and position > 0:
                needed[j].add((i, position))
            elif always[i]:
                always[j] = True
            else:
                needed[j] |= needed[i]
    return [frozenset() if a else frozenset(n) for a, n in zip(always, needed)]

"""A whole program in segments: maximal runs of what C can express become one instruction each.

What C cannot express stays an instruction that runs by its NumPy meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from termgraph._records import NamedTuple, record
from termgraph.backends.c.build.program_library import built
from termgraph.backends.c.cprogram import CProgram
from termgraph.backends.c.generate import generated
from termgraph.backends.c.placement import why_not
from termgraph.backends.c.run.argument_orders import AsksForLayouts, Layouts, Programs, given_so, refuse
from termgraph.backends.c.run.bind import compile_program
from termgraph.backends.c.run.glue import callable_type
from termgraph.backends.c.run.loop_calls import mixed_loop, native_loop
from termgraph.config import config
from termgraph.lower.storage.routine_table import SPECS
from termgraph.stages import Ledger
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import AnyTerm, Arg
from termgraph.terms.traverse import substitute
from termgraph.vm.partition import Part, Refusal, accepted, divided
from termgraph.vm.program import Instruction, Program


@record
class Segment:
    """A run of terms for one C program: `roots` are computed from `leaves`, among them integers that lengths need."""

    leaves: list[Any]
    roots: list[Any]


class How(NamedTuple):
    """What the mode says: whether the C compiler shall hurry, may round a product and a sum once, may fuse loops."""

    quick: bool = False
    fuse: bool = True
    multiply_add: bool = False


AS_IT_IS = How()
FRONT = (("s", None, "?", None),)  # the index of x[:n]
Made = tuple[Part, Segment, CProgram]


class Divider:
    """Divides a program into C segments and what runs in Python between them.

    `refused` are terms that C cannot hold, with the reason, `given` those of which lengths need integers that are
    computed before, with these: both are found by lowering the segments, and noted.
    """

    def __init__(self, program: Program, how: How, ledger: Ledger) -> None:
        self.program, self.how, self.ledger = program, how, ledger
        self.refused: dict[Any, str] = {}
        self.given: dict[Any, dict[Any, None]] = {}
        self.slot_of = {t: s for s, t in enumerate(program.term_of)}
        self._codes: dict[tuple, CProgram | Refusal] = {}  # of segments that stay as they are while others change

    def parts(self) -> list[tuple[Part, Segment]]:
        """The segments, as far as is known by now what C can hold."""
        places = [self._place(ins) for ins in self.program.instructions]
        waits = {i for i, place in enumerate(places) if place is None}
        given = {
            i: [self.slot_of[t] for t in self.given[ins.terms[0]]]
            for i, ins in enumerate(self.program.instructions)
            if ins.terms[0] in self.given
        }
        return [(part, self._segment(part)) for part in divided(self.program, places, waits, given=given)]

    def _place(self, ins: Instruction) -> str | None:
        t = ins.terms[0]
        several = not ins.several or t.op.family is loop or t.op.family.name in SPECS
        return "c" if several and not ins.lazy and t not in self.refused and why_not(t) is None else None

    def _segment(self, part: Part) -> Segment:
        terms = self.program.term_of
        return Segment([terms[s] for s in part.leaves], [terms[s] for s in part.roots])

    def _is_for_python(self, t: AnyTerm) -> bool:
        """Whether a value is read, and by no C segment: sparse matrices are made of it."""
        slot = self.slot_of.get(t)
        readers = [ins for ins in self.program.instructions if slot in ins.inputs]
        return bool(readers) and all(self._place(ins) is None for ins in readers)

    def attempt(self) -> list[Made] | Refusal:
        """The segments with their programs; or why one of them cannot be made."""
        found: list[Made] = []
        for part, segment in self.parts():
            key = (*segment.leaves, None, *segment.roots)
            code = self._codes.get(key)
            if code is None:
                code = self._codes[key] = _generated(segment, self.how, ledger=self.ledger)
            if isinstance(code, Refusal):
                return code
            found.append((part, segment, code))
        return found

    def note(self, refusal: Refusal) -> None:
        """Remember a refusal: the term's segment begins after the numbers it wants, or the term runs in Python."""
        if refusal.wanted and is_cut(refusal.term) and self._is_for_python(refusal.term):
            self.refused[refusal.term] = "what was computed before is cut, nothing is moved"
            return
        numbers = self.given.setdefault(refusal.term, {})
        wanted = [t for t in refusal.wanted if t in self.slot_of and t not in numbers]
        if wanted:
            numbers.update(dict.fromkeys(wanted))
            return
        known = any(refusal.term in ins.terms for ins in self.program.instructions)
        assert known and refusal.term not in self.refused, f"C refuses {refusal.term!r:.200}, which it does not have"
        self.refused[refusal.term] = refusal.why


def _generated(segment: Segment, how: How, layouts: Layouts = (), ledger: Ledger | None = None) -> CProgram | Refusal:
    """The C program of a segment, for leaves that lie so (others are copied first if they are not in row-major order).

    A refusal names the term of the graph that it cannot hold, and what it wants.
    """
    args = [Arg(i, t.type) for i, t in enumerate(segment.leaves)]
    inside = dict(zip(segment.leaves, args))
    outside = {new: old for old, new in inside.items()}
    roots = substitute(segment.roots, inside)
    args, instead, strided = given_so(args, layouts)
    returns: Any = "one" if len(roots) == 1 else "tuple"
    asks = not layouts and config.relayout
    laid_out = substitute(roots, instead) if instead else roots
    options = {"returns": returns, **how._asdict(), "asks": asks, "strided": strided}
    code = generated(args, laid_out, ledger=ledger, **options)
    if not isinstance(code, Refusal):
        code.leaves = outside
        return code
    term = substitute([code.term], outside)[0]
    wanted = substitute([t for t in code.wanted if _is_count(t) or _is_counted(t)], outside)
    # The other lengths that the term is given come next.
    return Refusal(term, code.why, (*wanted, *filter(_is_count, term.args)) if wanted else ())


def _is_count(t: AnyTerm) -> bool:
    return t.type.ndim == 0 and t.type.kind in "iu" and t.op is not CONST


def _is_counted(t: AnyTerm) -> bool:
    """Whether a program's plan can read all elements of it (`Lengths.of_all`)."""
    return t.type.ndim > 0 and t.type.kind in "biu" and t.op is not CONST


# ---------------------------------------------------------------------- linking
@record
class Kept:
    """What dividing a program came to: nothing until it has been divided. Given again, nothing is lowered."""

    refused: list[tuple[int, str]] | None = None  # the instructions that turned out to need NumPy, with the reason
    given: list[tuple[int, list[int]]] = field(default_factory=list)  # instructions, and slots of integers they need
    codes: list[CProgram] = field(default_factory=list)  # the programs of the segments, in order


def link(
    args: Sequence[Any],
    roots: Sequence[Any],
    name: str = "f",
    how: How = AS_IT_IS,
    kept: Kept | None = None,
    ledger: Ledger | None = None,
) -> Program:
    """The program that computes the root terms from the `Arg` leaves, with C code wherever C can express it."""
    ledger = ledger or Ledger()
    with ledger.timed("place"):
        plain = Program.from_terms(args, roots)
        return _with_loops(_linked(plain, name, how, (), kept or Kept(), ledger), how, ledger)


def link_apart(args: Sequence[Any], roots: Sequence[Any]) -> Program:
    """The same with loops as instructions that are not compiled: whoever wants to look into them runs their steps."""
    plain = Program.from_terms(args, roots)
    loops = [t for i in plain.instructions for t in i.terms if t.op.family is loop]
    return _linked(plain, "f", How(), loops, Kept(), Ledger())


def _divided(plain: Program, how: How, apart: Collection[Any], kept: Kept, ledger: Ledger) -> list[Made]:
    """The C segments: those that were kept, or else made now and put into `kept`."""
    divider, terms = Divider(plain, how, ledger), plain.term_of
    if kept.refused is not None:
        divider.refused = {t: why for i, why in kept.refused for t in plain.instructions[i].terms}
        divider.given = {plain.instructions[i].terms[0]: {terms[s]: None for s in slots} for i, slots in kept.given}
        return [(*part, code) for part, code in zip(divider.parts(), kept.codes, strict=True)]
    divider.refused = dict.fromkeys(apart, "its steps are looked into")
    found = accepted(divider.attempt, divider.note)
    told = [next(filter(None, map(divider.refused.get, ins.terms)), None) for ins in plain.instructions]
    kept.refused = [(i, why) for i, why in enumerate(told) if why]
    needs = [(i, divider.given.get(ins.terms[0], {})) for i, ins in enumerate(plain.instructions)]
    kept.given = [(i, [divider.slot_of[t] for t in numbers]) for i, numbers in needs if numbers]
    kept.codes = [code for _, _, code in found]
    return found


def _linked(plain: Program, name: str, how: How, apart: Collection[Any], kept: Kept, ledger: Ledger) -> Program:
    found = _divided(plain, how, apart, kept, ledger)
    if not found:
        return plain
    merged: dict[int, Instruction] = {}
    gone: set[int] = set()
    for k, (part, segment, code) in enumerate(found):
        run = _callable(code, segment, how, f"{name}.{k}" if len(found) > 1 else name, ledger)
        op, several = KernelOp(name, code), len(part.roots) > 1
        merged[part.members[-1]] = Instruction(op, part.leaves, part.roots, segment.roots, several, run)
        gone.update(part.members)
    # A segment runs where all its leaves are there: after the last instruction that makes one of them.
    return _ordered(plain, merged, gone)


def is_cut(t: AnyTerm) -> bool:
    """Whether a term is the front of one of a routine's results: what follows is room that was not needed."""
    if t.op.family is not subtensor or t.op.params["index"] != FRONT:
        return False
    whole = t.args[0]
    return whole.op.family is nth and whole.args[0].op.family.name in SPECS


def _cutting(ins: Instruction) -> Instruction:
    """An instruction as Python runs it: the front of what has been computed is a view."""
    if not is_cut(ins.terms[0]):
        return ins
    return Instruction(ins.op, ins.inputs, ins.outputs, ins.terms, ins.several, _front)


def _front(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """The first n elements: a view, or a copy where that would keep more than twice its memory."""
    kept, room = n.item(), len(x)
    if kept == room:
        return x
    return x[:kept] if 2 * kept > room else x[:kept].copy()


def _callable(code: CProgram, segment: Segment, how: How, name: str, ledger: Ledger) -> Any:
    """The function of a segment. Leaves that are not in row-major order get programs of their own where that pays."""

    def again() -> CProgram:
        made = _generated(segment, how)
        assert isinstance(made, CProgram), "it could be made once"
        return made

    if "tg_orders" not in code.source:
        return compile_program(code, name, again=again, ledger=ledger)
    run = compile_program(code, name, again=again, ledger=ledger, cls=callable_type(AsksForLayouts))

    def make(layouts: Layouts) -> Any:
        code = _generated(segment, how, layouts)
        return None if isinstance(code, Refusal) else (code, [None] * len(segment.roots))

    def other_programs() -> Programs:
        table = built(code, name).address("tg_orders")
        return Programs(
            [t.type for t in segment.leaves], make, lambda made: compile_program(made, name, fail=refuse), table
        )

    run.other_programs = other_programs
    return run


def _with_loops(program: Program, how: How, ledger: Ledger) -> Program:
    """The program with compiled code for loops that are instructions of their own."""
    loops = [i for i in program.instructions if i.op.kind == "loop"]
    if not loops:
        return program
    compiled = [_compiled_loop(i, how, ledger) if i in loops else i for i in program.instructions]
    return Program(program.inputs, program.constants, compiled, program.outputs, program.term_of)


def _compiled_loop(ins: Instruction, how: How, ledger: Ledger) -> Instruction:
    (t,) = ins.terms
    reason = why_not(t)
    if reason is None:
        made = native_loop(t, ledger, how.fuse, how.multiply_add)
        if not isinstance(made, Refusal):
            code, run = made
            return Instruction(KernelOp(repr(t.op), code), ins.inputs, ins.outputs, ins.terms, True, run)
        reason = made.why  # the body runs by the machine, with C code inside
    run = mixed_loop(t.op, functools.partial(link, how=how, ledger=ledger))
    run.not_in_c = reason  # type: ignore[attr-defined]
    return Instruction(t.op, ins.inputs, ins.outputs, ins.terms, True, run)


def _ordered(plain: Program, merged: dict[int, Instruction], gone: set[int]) -> Program:
    rest = [_cutting(ins) for i, ins in enumerate(plain.instructions) if i not in gone]
    todo = [*rest, *merged.values()]
    have = set(plain.inputs) | set(plain.constants)
    order: list[Instruction] = []
    while todo:
        later = []
        for ins in todo:
            if all(s in have for s in ins.inputs):
                order.append(ins)
                have.update(ins.outputs)
            else:
                later.append(ins)
        if len(later) == len(todo):
            raise AssertionError("segments that wait for each other")
        todo = later
    return Program(plain.inputs, plain.constants, order, plain.outputs, plain.term_of)


class KernelOp:
    """Stands where a program's instruction has its op: a run of terms compiled to C."""

    lazy = False
    nout = 1
    kind = "kernel"
    params: dict = {}
    meaning = None  # it is run by its code only

    def __init__(self, name: str, code: CProgram) -> None:
        self.name, self.code = f"c:{name}", code
        self.family = self

    @property
    def source(self) -> str:
        """Its C text."""
        return self.code.source

    def __repr__(self) -> str:
        return self.name

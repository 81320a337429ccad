"""A whole program in segments: maximal runs of what C can express become one instruction each.

What C cannot express stays an instruction that runs by its NumPy meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from termgraph.backends.c.build.program_library import built
from termgraph.backends.c.generate import CProgram, generate
from termgraph.backends.c.run.argument_orders import AsksForLayouts, Layouts, Programs, given_so, refuse
from termgraph.backends.c.run.bind import compile_program
from termgraph.backends.c.run.glue import callable_type
from termgraph.backends.c.run.length_numbers import NUMBER, value_of, with_numbers
from termgraph.backends.c.run.loop_calls import mixed_loop, native_loop
from termgraph.backends.c.run.numpy_loops import available
from termgraph.backends.c.text.dialect import CDialect, NotInC
from termgraph.config import config
from termgraph.lower.lengths.index import ZERO, poly
from termgraph.lower.lengths.shapes import NotLowerable
from termgraph.lower.push.driver import AT
from termgraph.lower.push.expand import EXPANSIONS, expand
from termgraph.lower.push.kernel import Buf, Scalars
from termgraph.lower.push.sampled_products import SPARSE
from termgraph.lower.push.user_elements import element_op
from termgraph.lower.storage.policy import CUTS
from termgraph.lower.storage.routine_table import SPECS, spec_of
from termgraph.stages import Ledger
from termgraph.terms.dtypes import HALVES
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import Arg, Term
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType
from termgraph.vm.program import Instruction, Program, demand_groups

VIEWS = frozenset(("dimshuffle", "reshape", "subtensor", "alloc", "shape_i", "make_vector", "unbroadcast", "cast"))
Key = tuple


@dataclass
class Segment:
    """A run of terms for one C program: `roots` are computed from `leaves` and `given`, integers that lengths need."""

    leaves: list[Any]
    roots: list[Any]
    given: list[Any] = field(default_factory=list)


# ---------------------------------------------------------------------- what C can express
def expressible(t: Any) -> bool:
    """Whether a term may be part of a C program, judged by itself."""
    if t.__class__ is not Term:
        return isinstance(t.type, TensorType)
    if t.op.family is loop:
        return _expressible_loop(t)
    if t.op.family is nth:
        return t.args[0].op.family in (loop, ifelse) or is_routine(t.args[0])
    if t.op.family is ifelse:
        return all(isinstance(a.type, TensorType) for a in t.args)
    if t.op.family.name in SPECS:
        return is_routine(t)
    if not isinstance(t.type, TensorType) or not all(isinstance(a.type, TensorType) for a in t.args):
        return False
    element = element_op(t)
    if element is not None:
        return all(a.type.dtype not in HALVES for a in (t, *t.args)) and _elementwise(
            element, tuple([a.type.dtype for a in t.args]), (None,) * len(t.args)
        )
    if t.op.kind == "elementwise":
        constant = tuple([a if a.op is CONST and a.type.ndim == 0 else None for a in t.args])
        return _elementwise(t.op, tuple([a.type.dtype for a in t.args]), constant)
    name = t.op.family.name
    if name in ("max", "min", "argmax", "argmin", "softmax", "log_softmax", "logsumexp"):
        return t.args[0].type.kind != "c"
    return name in AT or name in CUTS or name in EXPANSIONS or name in SPARSE


def is_routine(t: Any) -> bool:
    """Whether a term is computed by a routine that can be called here."""
    spec = spec_of(t)
    return spec is not None and available(spec.functions)


def _expressible_loop(t: Any) -> bool:
    """Whether all of a loop's body may be part of a C program."""
    known = t.op.cache.get("expressible")
    if known is None:
        body = children_first(inline_calls(list(t.op.params["body"])))
        known = t.op.cache["expressible"] = all(expressible(b) for b in body)
    return known and all(isinstance(a.type, TensorType) for a in t.args)


@functools.lru_cache(maxsize=4096)
def _elementwise(op: Any, dtypes: tuple[str, ...], constants: tuple) -> bool:
    """Whether the dialect has a text for an op on these dtypes, the casts of its loop included."""
    s, d = Scalars(), CDialect()
    args = []
    for i, (dtype, c) in enumerate(zip(dtypes, constants)):
        args.append(c if c is not None else s.load(Buf(f"x{i}", dtype, (poly(1),), "input"), ZERO))
    try:
        t = s.elementwise(op, tuple(args))
        for node in (t, *t.args):
            if node.args:
                d.expression(node, ["x"] * len(node.args))
    except (NotInC, TypeError):
        return False
    return True


# ---------------------------------------------------------------------- dividing
class _Divider:
    """Gives each application a key: instructions with equal keys run together."""

    def __init__(self, program: Program, refused: set[Any], given: Mapping[Any, dict] | None = None) -> None:
        self.program, self.given = program, given or {}
        self.slot_of = slot_of = {t: s for s, t in enumerate(program.term_of)} if self.given else {}
        self.in_c: list[bool] = []
        self.keys: list[Key] = []
        producer = program.producers()
        needs = demand_groups(program) if program.lazy else [frozenset()] * len(program.instructions)
        for i, ins in enumerate(program.instructions):
            t = ins.terms[0]
            several = t.op.family is loop or t.op.family.name in SPECS
            ours = (not ins.several or several) and not ins.lazy and t not in refused and expressible(t)
            depth = 0
            for slot in ins.inputs:
                j = producer.get(slot)
                if j is not None:
                    # one step further than an instruction of another kind, or one that may not run
                    apart = self.in_c[j] and needs[j] != needs[i]
                    depth = max(depth, self.keys[j][0] + (1 if (ours and not self.in_c[j]) or apart else 0))
            for wanted in self.given.get(t, ()):  # computed before the segment is entered
                j = producer.get(slot_of[wanted])
                depth = max(depth, self.keys[j][0] + 1 if j is not None else 0)
            self.in_c.append(ours)
            self.keys.append((depth, needs[i]))

    def segments(self) -> list[tuple[list[int], Segment]]:
        """The C segments in order, each with the numbers of its instructions."""
        groups: dict[Key, list[int]] = {}
        for i, ours in enumerate(self.in_c):
            if ours:
                groups.setdefault(self.keys[i], []).append(i)
        return [(members, self._segment(members)) for members in groups.values()]

    def _segment(self, members: list[int]) -> Segment:
        program, inside = self.program, set(members)
        term_of = program.term_of
        made = {slot for i in members for slot in program.instructions[i].outputs}
        wanted = set(program.outputs)
        for i, ins in enumerate(program.instructions):
            if i not in inside:
                wanted.update([*ins.inputs, *[self.slot_of[t] for t in self.given.get(ins.terms[0], ())]])
        results = [slot for i in members for slot in program.instructions[i].outputs]
        roots = [term_of[slot] for slot in results if slot in wanted]
        given = {t: None for i in members for t in self.given.get(program.instructions[i].terms[0], ())}
        leaves: dict[Any, None] = {}
        for i in members:
            for slot in program.instructions[i].inputs:
                t = term_of[slot]
                if slot not in made and t.op is not CONST and t not in given:
                    leaves[t] = None
        return Segment(list(leaves), roots, list(given))


def c_segments(
    program: Program, quick: bool = False, apart: Collection[Any] = (), ledger: Ledger | None = None
) -> tuple[list[tuple[list[int], Segment, CProgram]], set[Any], dict[Any, dict]]:
    """The C segments of a program without the terms `apart`, and the terms that turned out to need NumPy.

    The third result are the terms of which lengths need integers that are computed before, with these.
    """
    refused: set[Any] = set(apart)
    given: dict[Any, dict] = {}
    known = set(program.term_of)
    made: dict[tuple, CProgram] = {}  # segments that stay as they are while others are divided
    while True:
        found = []
        try:
            for members, segment in _Divider(program, refused, given).segments():
                key = (*segment.leaves, None, *segment.roots, None, *segment.given)
                if key not in made:
                    made[key] = _generated(segment, quick, ledger=ledger)
                found.append((members, segment, made[key]))
        except _Refused as error:
            numbers = given.setdefault(error.term, {})
            wanted = [t for t in error.numbers() if t in known and t not in numbers]
            if wanted:
                numbers.update(dict.fromkeys(wanted))
                continue
            if error.term in refused or not any(error.term in ins.terms for ins in program.instructions):
                raise AssertionError(f"lowering refuses {error.term!r:.200}, which is not an instruction") from error
            refused.add(error.term)
            continue
        return found, refused, given


class _Refused(Exception):
    """A term that C cannot hold, or only once a number that it wants is computed."""

    def __init__(self, term: Any, wanted: Any) -> None:
        super().__init__(str(term))
        self.term, self.wanted = term, wanted

    def numbers(self) -> list[Any]:
        """What to compute before: the number wanted, and the other lengths that the term is given, which come next."""
        return [] if self.wanted is None else [self.wanted, *filter(_is_count, self.term.args)]


def _generated(segment: Segment, quick: bool, layouts: Layouts = (), ledger: Ledger | None = None) -> CProgram:
    """The C program of a segment, for leaves that lie so (others are copied first if they are not in row-major order).

    _Refused names the term of the graph that it cannot hold, and what it wants.
    """
    args = [Arg(i, t.type) for i, t in enumerate(segment.leaves)]
    numbers = [Arg(i, NUMBER) for i in range(len(args), len(args) + len(segment.given))]
    inside = dict(zip(segment.leaves, args)) | {t: value_of(a, t.type) for t, a in zip(segment.given, numbers)}
    outside = {new: old for old, new in inside.items()}
    roots = substitute(segment.roots, inside)
    args, instead, strided = given_so(args, layouts)
    returns: Any = "one" if len(roots) == 1 else "tuple"
    asks = not layouts and config.relayout
    try:
        laid_out = substitute(roots, instead) if instead else roots
        options = {"returns": returns, "quick": quick, "asks": asks, "strided": strided}
        code = generate([*args, *numbers], laid_out, ledger=ledger, **options)
        code.leaves = outside
        return code
    except NotLowerable as error:
        origin = expand(roots)[1]
        term = substitute([origin.get(error.term, error.term)], outside)[0]
        wanted = error.wanted
        if wanted is not None:
            wanted = substitute([origin.get(wanted, wanted)], outside)[0] if _is_count(wanted) else None
        raise _Refused(term, wanted) from error


def _is_count(t: Any) -> bool:
    return t.type.ndim == 0 and t.type.kind in "iu" and t.op is not CONST


# ---------------------------------------------------------------------- linking
@dataclass
class Kept:
    """What dividing a program came to: `None`s until it has been divided. Given again, nothing is lowered."""

    refused: list[int] | None = None  # the instructions that turned out to need NumPy
    given: list[tuple[int, list[int]]] = field(default_factory=list)  # instructions, and slots of integers they need
    codes: list[CProgram] = field(default_factory=list)  # the programs of the segments, in order


def link(
    args: Sequence[Any],
    roots: Sequence[Any],
    name: str = "f",
    quick: bool = False,
    kept: Kept | None = None,
    ledger: Ledger | None = None,
) -> Program:
    """The program that computes the root terms from the `Arg` leaves, with C code wherever C can express it."""
    ledger = ledger or Ledger()
    with ledger.timed("place"):
        return _with_loops(_linked(Program.from_terms(args, roots), name, quick, (), kept or Kept(), ledger), ledger)


def link_apart(args: Sequence[Any], roots: Sequence[Any]) -> Program:
    """The same with loops as instructions that are not compiled: whoever wants to look into them runs their steps."""
    plain = Program.from_terms(args, roots)
    loops = [t for i in plain.instructions for t in i.terms if t.op.family is loop]
    return _linked(plain, "f", False, loops, Kept(), Ledger())


def _divided(
    plain: Program, quick: bool, apart: Collection[Any], kept: Kept, ledger: Ledger
) -> list[tuple[list[int], Segment, CProgram]]:
    """The C segments: those that were kept, or else made now and put into `kept`."""
    if kept.refused is None:
        found, refused, given = c_segments(plain, quick, apart, ledger)
        kept.refused = [i for i, ins in enumerate(plain.instructions) if refused.intersection(ins.terms)]
        slot_of = {t: s for s, t in enumerate(plain.term_of)}
        needs = [(i, given.get(ins.terms[0], {})) for i, ins in enumerate(plain.instructions)]
        kept.given = [(i, [slot_of[t] for t in numbers]) for i, numbers in needs if numbers]
        kept.codes = [code for _, _, code in found]
        return found
    terms = {t for i in kept.refused for t in plain.instructions[i].terms}
    given = {plain.instructions[i].terms[0]: {plain.term_of[s]: None for s in slots} for i, slots in kept.given}
    segments = _Divider(plain, terms, given).segments()
    return [(members, segment, code) for (members, segment), code in zip(segments, kept.codes, strict=True)]


def _linked(plain: Program, name: str, quick: bool, apart: Collection[Any], kept: Kept, ledger: Ledger) -> Program:
    found = _divided(plain, quick, apart, kept, ledger)
    if not found:
        return plain
    merged: dict[int, Instruction] = {}
    gone: set[int] = set()
    slot_of = {t: s for s, t in enumerate(plain.term_of)}
    for k, (members, segment, code) in enumerate(found):
        run = _callable(code, segment, quick, f"{name}.{k}" if len(found) > 1 else name, ledger)
        inputs = [slot_of[t] for t in (*segment.leaves, *segment.given)]
        if segment.given:
            run = with_numbers(run, len(segment.leaves))
        outputs = [slot_of[t] for t in segment.roots]
        op = KernelOp(name, code)
        merged[members[-1]] = Instruction(op, inputs, outputs, segment.roots, len(outputs) > 1, run)
        gone.update(members)
    # A segment runs where all its leaves are there: after the last instruction that makes one of them.
    return _ordered(plain, merged, gone)


def _callable(code: CProgram, segment: Segment, quick: bool, name: str, ledger: Ledger) -> Any:
    """The function of a segment. Leaves that are not in row-major order get programs of their own where that pays."""
    again = functools.partial(_generated, segment, quick)
    if "tg_orders" not in code.source:
        return compile_program(code, name, again=again, ledger=ledger)
    run = compile_program(code, name, again=again, ledger=ledger, cls=callable_type(AsksForLayouts))

    def make(layouts: Layouts) -> Any:
        return _generated(segment, quick, layouts[: len(segment.leaves)]), [None] * len(segment.roots)

    def other_programs() -> Programs:
        types = [*[t.type for t in segment.leaves], *[NUMBER] * len(segment.given)]
        table = built(code, name).address("tg_orders")
        return Programs(types, make, lambda made: compile_program(made, name, fail=refuse), table)

    run.other_programs = other_programs
    return run


def _with_loops(program: Program, ledger: Ledger) -> Program:
    """The program with compiled code for loops that are instructions of their own."""
    loops = [i for i in program.instructions if i.op.kind == "loop"]
    if not loops:
        return program
    compiled = [_compiled_loop(i, ledger) if i in loops else i for i in program.instructions]
    return Program(program.inputs, program.constants, compiled, program.outputs, program.term_of)


def _compiled_loop(ins: Instruction, ledger: Ledger) -> Instruction:
    (t,) = ins.terms
    reason = "its steps need what has none"
    if expressible(t):
        try:
            code, run = native_loop(t, ledger)
            return Instruction(KernelOp(repr(t.op), code), ins.inputs, ins.outputs, ins.terms, True, run)
        except NotLowerable as why:
            reason = why.why  # the body runs by the machine, with C code inside
    run = mixed_loop(t.op, functools.partial(link, ledger=ledger))
    run.not_in_c = reason  # type: ignore[attr-defined]
    return Instruction(t.op, ins.inputs, ins.outputs, ins.terms, True, run)


def _ordered(plain: Program, merged: dict[int, Instruction], gone: set[int]) -> Program:
    rest = [ins for i, ins in enumerate(plain.instructions) if i not in gone]
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

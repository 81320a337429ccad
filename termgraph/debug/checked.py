"""DebugMode: every call is checked against the graph as it was written.

Checked are each rule that fired, each instruction against the NumPy meaning of its op, each promise about types, views
and memory. The first disagreement is reported with both values and a script that shows it again.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.debug.rounding import rounding
from termgraph.function.mode import Maker, Mode
from termgraph.tensor.trace import describe_site
from termgraph.terms.dtypes import HALVES, finfo, kind_of
from termgraph.terms.errors import TermgraphError
from termgraph.terms.evaluate import apply_meaning, evaluate
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import AnyTerm
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType
from termgraph.vm.failures import shown
from termgraph.vm.machine import Machine
from termgraph.vm.program import Instruction, Program

if TYPE_CHECKING:
    from termgraph.compile.compilation import Compilation


class DebugModeError(TermgraphError, AssertionError):
    """A disagreement found by DebugMode. `script` is a Python program that shows it again."""

    script = ""


class BadRewrite(DebugModeError):
    """A rule changed a value. `rule` is its name, `before` and `after` the terms, `values` what they give."""

    rule = ""
    before: Any = None
    after: Any = None
    values: tuple = ()


class BadOutput(DebugModeError):
    """An instruction gave something else than the NumPy meaning of its op, or broke the promise of its type."""


class BadInPlace(DebugModeError):
    """An instruction changed one of its operands without having said so."""


class DebugMode(Mode):
    """A mode that runs everything twice and compares. Slow; for finding wrong rules, ops and backends.

    What the linker compiles is checked kernel by kernel against the NumPy meaning of the operations in it.

    `rtol` and `atol` say how far results may be apart (default: by dtype). Where the graph as written gives NaN or
    infinity, rewritten graphs may give better numbers.
    """

    sees_kernels = True
    compares = True

    def __init__(
        self,
        optimizer: str | None = None,
        linker: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        check_rules: bool = True,
        check_instructions: bool = True,
    ) -> None:
        super().__init__(linker=linker, optimizer=optimizer)
        self.rtol, self.atol = rtol, atol
        self.check_rules, self.check_instructions = check_rules, check_instructions

    def agree(
        self, type_: Any, expected: Any, got: Any, ways: Iterable[Any] = (), root: Any = None, given: Any = None
    ) -> bool:
        """Whether two values of a type agree up to rounding, non-finite elements of `expected` aside.

        `ways` are the terms that they were computed by: see `_digits`. Where the values are further apart than is
        usual, the `root` that was computed from what is `given` says what rounding makes of it.
        """
        if not isinstance(type_, TensorType):
            return type_.values_eq_approx(expected, got)
        expected, got = np.asarray(expected), np.asarray(got)
        if expected.shape != got.shape or expected.dtype != got.dtype:
            return False
        if kind_of(expected.dtype) in "fc":
            scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
            got = np.where(np.isfinite(expected), got, expected)
            if self.atol is not None:
                return type_.values_eq_approx(expected, got, rtol=self.rtol, atol=self.atol)
            atol = 1e2 * _digits(ways, expected.dtype) * max(scale, 1.0)
            if type_.values_eq_approx(expected, got, rtol=self.rtol, atol=atol):
                return True
            if root is None:
                return False
            atol += 10 * rounding(root, given, expected)
            return type_.values_eq_approx(expected, got, rtol=self.rtol, atol=atol)
        return type_.values_eq_approx(expected, got)

    def watch(self, maker: Maker) -> list[Any]:
        """The observer that checks every instruction."""
        return [*super().watch(maker), *([_Checker(self, maker.work)] if self.check_instructions else [])]

    def check_results(self, maker: Maker, values: Sequence[Any], results: Sequence[Any]) -> None:
        """Compare the results of a call with those of the graph as it was written; blame a rule if one is wrong."""
        work = maker.work
        if self.check_rules:
            self._check_rules(work, values)
        captured = work.captured
        plain = Machine(Program.from_terms(captured.args, inline_calls(captured.roots)), lookup=captured.lookup)
        given = dict(zip(captured.args, values))
        for i, (root, expected, got) in enumerate(zip(captured.roots, plain(values), results)):
            if not self.agree(root.type, expected, got, children_first([root]), root, given):
                _, site = work.lookup(root)
                raise _found(
                    BadOutput,
                    f"{describe_site(site)}\nresult {i} differs from the graph as it was written, though no rule and "
                    f"no instruction does alone\n{_both('as written', expected, 'as compiled', got)}",
                    [root],
                    given,
                )

    def _check_rules(self, work: Compilation, values: Sequence[Any]) -> None:
        given = dict(zip(work.args, values))
        for record in work.trace:
            try:
                expected, got = evaluate(inline_calls([record.before, record.after]), given)
            except (ValueError, IndexError):
                continue  # one side fails on these values as the user's own graph does: the run tells
            if isinstance(expected, tuple) or self.agree(record.before.type, expected, got, (), record.before, given):
                continue
            _, site = work.lookup(record.before)
            error = _found(
                BadRewrite,
                f"{describe_site(site)}\nrule {record.rule} ({record.where}) changed a value\n"
                f"  before: {shown(record.before, work.lookup, 300)}\n"
                f"  after:  {shown(record.after, work.lookup, 300)}\n"
                f"{_both('before', expected, 'after', got)}",
                [record.before, record.after],
                given,
            )
            error.rule, error.before, error.after = record.rule, record.before, record.after
            error.values = (expected, got)
            raise error


def _digits(ways: Iterable[Any], dtype: Any) -> float:
    """The step of a dtype beside 1, or what rounding may make of it on the way.

    In 16 bits C and NumPy round at different places. The steps of a loop may double what the first of them rounds.
    """
    found = float(finfo(dtype).eps)
    for t in ways:
        if isinstance(t.type, TensorType) and t.type.dtype in HALVES:
            found = max(found, float(finfo(t.type.dtype).eps))
        elif t.args and t.op.family is loop:
            found = max(found, float(finfo(dtype).eps) ** 0.5)
    return found


class _Checker:
    """Checks one instruction at a time: operands unchanged, results as the meaning says and of the promised type."""

    def __init__(self, mode: DebugMode, work: Compilation) -> None:
        self.mode, self.work = mode, work
        self._operands: dict[int, list[Any]] = {}

    def before(self, i: int, instruction: Instruction, slots: list[Any]) -> None:
        self._operands[i] = [
            v.copy() if isinstance(v, np.ndarray) else v for v in (slots[s] for s in instruction.inputs)
        ]

    def __call__(self, i: int, instruction: Instruction, slots: list[Any], seconds: float) -> None:
        operands = self._operands.pop(i, None)
        if operands is None:
            return
        self._check_unchanged(instruction, operands, [slots[s] for s in instruction.inputs])
        self._check_views(instruction, slots)
        program = self.work.program
        given = {program.term_of[s]: v for s, v in zip(instruction.inputs, operands)}
        for s, term, expected in zip(instruction.outputs, *_meaning(instruction, program, given, operands)):
            self._check_result(instruction, term, expected, slots[s], given)

    def _check_unchanged(self, instruction: Instruction, before: list[Any], after: list[Any]) -> None:
        for k, (old, new) in enumerate(zip(before, after)):
            if isinstance(old, np.ndarray) and old.tobytes() != np.asarray(new).tobytes():
                raise _found(
                    BadInPlace,
                    f"{self._place(instruction)}\n{instruction.op} changed its operand {k}; if it is meant to, it must "
                    f"declare destroy_map\n{_both('before', old, 'after', new)}",
                    instruction.terms,
                    {},
                )

    def _check_views(self, instruction: Instruction, slots: list[Any]) -> None:
        """An op of the user's may return (part of) an operand only if it says so."""
        op = instruction.op
        if not getattr(op, "user_made", False):
            return
        promised = {**(getattr(op, "view_map", None) or {}), **(getattr(op, "destroy_map", None) or {})}
        for k, s in enumerate(instruction.outputs):
            for i, n in enumerate(instruction.inputs):
                both = isinstance(slots[s], np.ndarray) and isinstance(slots[n], np.ndarray)
                if both and i not in promised.get(k, ()) and np.may_share_memory(slots[s], slots[n]):
                    raise _found(
                        BadInPlace,
                        f"{self._place(instruction)}\noutput {k} of {op} shares memory with its operand {i}; if it is "
                        f"meant to, it must declare view_map = {{{k}: [{i}]}}",
                        instruction.terms,
                        {},
                    )

    def _check_result(
        self, instruction: Instruction, term: AnyTerm, expected: np.ndarray, got: np.ndarray, given: dict
    ) -> None:
        if isinstance(term.type, TensorType):
            promised = term.type.accepts(TensorType(got.dtype, got.shape)) if isinstance(got, np.ndarray) else False
            if not promised:
                raise _found(
                    BadOutput,
                    f"{self._place(instruction)}\n{instruction.op} promises {term.type}, it gave "
                    f"{getattr(got, 'dtype', type(got).__name__)} of shape {getattr(got, 'shape', '?')}",
                    [term],
                    given,
                )
        root = None if isinstance(term, _Typed) else term
        if not self.mode.agree(term.type, expected, got, children_first(instruction.terms), root, given):
            raise _found(
                BadOutput,
                f"{self._place(instruction)}\n{instruction.op} differs from the NumPy meaning of "
                f"{one_line(term, 300)}\n{_both('meaning', expected, 'given', got)}",
                [term],
                given,
            )

    def _place(self, instruction: Instruction) -> str:
        return describe_site(self.work.lookup(instruction.terms[0])[1])


def _meaning(
    instruction: Instruction, program: Program, given: dict, operands: list[Any]
) -> tuple[list[Any], list[Any]]:
    """The terms of an instruction's outputs, and their values by the NumPy meaning."""
    terms = [program.term_of[s] for s in instruction.outputs]
    if instruction.several and len(instruction.terms) == 1:
        whole = instruction.terms[0]
        types = whole.type.types
        return [_Typed(t) for t in types], list(apply_meaning(whole, operands))
    return terms, evaluate(terms, given)


class _Typed:
    """Stands for one of several results, of which only the type is needed."""

    args, op = (), None

    def __init__(self, type_: Any) -> None:
        self.type = type_

    def __repr__(self) -> str:
        return f"a result of type {self.type}"


def _both(first: str, a: Any, second: str, b: Any) -> str:
    lines = [f"  {first}: {_short(a)}", f"  {second}: {_short(b)}"]
    if (
        isinstance(a, np.ndarray)
        and isinstance(b, np.ndarray)
        and a.shape == b.shape
        and a.size
        and kind_of(a.dtype) in "fc"
    ):
        lines.append(f"  largest difference: {np.nanmax(np.abs(a - b))}")
    return "\n".join(lines)


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=20, edgeitems=3).replace("\n", " ")
        return f"{value.dtype}, shape {value.shape}, {text}"
    return repr(value)[:200]


def _found(cls: type, text: str, terms: Sequence[Any], given: dict) -> Any:
    error = cls(text.strip("\n") + "\nThe attribute `script` of this exception is a program that shows it again.")
    error.script = script(terms, given)
    error._termgraph_explained = True
    return error


def script(terms: Sequence[Any], given: dict) -> str:
    """A Python program that evaluates terms on the values they had."""
    try:
        data = base64.b64encode(pickle.dumps((list(terms), given))).decode()
    except (TypeError, AttributeError, pickle.PicklingError) as err:
        return f"# the terms cannot be saved: {err}\n" + "".join(f"# {one_line(t, 2000)}\n" for t in terms)
    return (
        "import base64, pickle\n"
        "from termgraph.terms.evaluate import evaluate\n"
        f"terms, given = pickle.loads(base64.b64decode({data!r}))\n"
        "for term, value in zip(terms, evaluate(terms, given)):\n"
        "    print(term, '=', value)\n"
    )

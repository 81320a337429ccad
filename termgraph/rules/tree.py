"""The decision tree of one head operator: all its rules in one Python function that shares their tests.

The function takes a term whose operands are in normal form and returns `(new term, rule number)` or None.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from itertools import count
from typing import Any

from unification import Var

from termgraph._lazy import pattern
from termgraph.rules.emit import Bindings, Writer, start_bindings
from termgraph.rules.forms import Instance, is_nary
from termgraph.rules.kinds import PatternTerm, SegVar
from termgraph.rules.pattern import Captured
from termgraph.rules.pieces import COMMON
from termgraph.rules.screen import write_screen
from termgraph.rules.source import Items, Source
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import AnyTerm, Lit, Term
from termgraph.terms.traverse import grouped

_RULES_OF = "<rules of "
_RETURNS = pattern(r" *return r, (\d+)\n?")  # what the lines of each form end with
_NUMBERS = count()
_MANY = 3  # from this many possible heads on, one set test comes first


class Candidate:
    """One instance on its way down the tree: what is still to test, what is bound where."""

    __slots__ = ("bound", "checks", "equal", "late", "order", "pending", "writer")

    def __init__(self, writer: Writer, bound: Bindings, order: tuple[Any, ...] | None = None) -> None:
        self.writer = writer
        self.order = order  # of an n-ary pattern, the operands in the order in which they are looked for
        self.pending: dict[str, Any] = {}  # operand name -> pattern
        self.bound = bound
        self.equal: list[tuple[str, str]] = []
        self.checks: list[tuple[Any, str]] = []  # (open head pattern, name of the matched head)
        self.late: list[tuple[Any, str]] = []  # patterns whose operands have no fixed places

    def copy(self) -> Candidate:
        """A row to go on with in one branch."""
        new = Candidate(self.writer, dict(self.bound), self.order)
        new.pending, new.equal = dict(self.pending), list(self.equal)
        new.checks, new.late = list(self.checks), list(self.late)
        return new

    def absorb(self, name: str, p: PatternTerm) -> None:
        """Take in the pattern of one operand."""
        if isinstance(p, Var):
            if p in self.bound:
                self.equal.append((self.bound[p], name))
            else:
                self.bound[p] = name
        else:
            self.pending[name] = p


def matcher(
    family: Op, rows: list[tuple[Instance, int]], assume: frozenset[str], context: Any
) -> tuple[Callable[..., Any], str]:
    """The compiled matcher of one op family, and its source, which also defines `screen` (see there)."""
    env, text = _compiled(family, len(rows), write_matcher(family, rows, assume, context))
    found = env["match"]
    found.screen = env.get("screen")
    if is_nary(family):

        def many(t: Term) -> Any:
            """Three operands and more are rare: what matches them is compiled for the first term that has them."""
            env["many"] = made = matcher_of_many(family, rows, assume, context)[0]
            return made(t)

        env["many"] = many
    return found, text


def matcher_of_many(family: Op, rows: list[tuple[Instance, int]], assume: frozenset[str], context: Any) -> Any:
    """The part of the matcher of an n-ary op for more than two operands, and its source."""
    env, text = _compiled(family, len(rows), write_many(family, rows, assume, context))
    return env["many"], text


def write_matcher(family: Op, rows: list[tuple[Instance, int]], assume: frozenset[str], context: Any) -> Source:
    """The source of the matcher of one op family, which defines `match` and, for one or two operands, `screen`."""
    source = Source()
    tree = Tree(family, source, [(Writer(source, i, n, assume, context), i) for i, n in rows])
    tree.write()
    tree.screen()
    return source


def write_many(family: Op, rows: list[tuple[Instance, int]], assume: frozenset[str], context: Any) -> Source:
    """The source of `many`, the part of the matcher of an n-ary op for more than two operands."""
    source = Source()
    Tree(family, source, [(Writer(source, i, n, assume, context), i) for i, n in rows]).write_many()
    return source


def _compiled(family: Op, forms: int, source: Source) -> tuple[dict[str, Any], str]:
    """What a source defines, and its text, which is kept for tracebacks."""
    text = source.text()
    filename = f"{_RULES_OF}{family.name}, {forms} forms, {next(_NUMBERS)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    env = {**COMMON, **source.refs}
    exec(compile(text, filename, "exec"), env)
    return env, text


def rule_that_raised(err: BaseException) -> int | None:
    """The number of the rule in whose lines of a matcher an exception passed; None if no matcher was on its way."""
    trace = err.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename.startswith(_RULES_OF):
            below = linecache.getlines(filename)[trace.tb_lineno - 1 :]
            found = next(filter(None, map(_RETURNS.fullmatch, below)), None)
            return int(found[1]) if found else None
        trace = trace.tb_next
    return None


class Tree:
    """Writes the matcher of one op family."""

    def __init__(self, family: Op, source: Source, writers: list[tuple[Writer, Instance]]) -> None:
        self.family, self.out, self.writers = family, source, writers

    def write(self) -> None:
        """The whole function."""
        self.out.put(0, "def match(t):")
        if is_nary(self.family):
            self._nary()
        elif self.family.arity is None:
            self.out.put(1, "args = t.args")
            for writer, instance in self.writers:
                self._general(writer, instance, 1)
        else:
            self._unpack(self.family.arity, 1)
            self.branch(self._rows(self.family.arity, lambda p: [p.args]), 1, set())
        self.out.put(1, "return None")

    def screen(self) -> None:
        """The function that sees from operators and types that nothing can match; for one or two operands."""
        if is_nary(self.family):
            write_screen(self.out, 2, self._rows(2, _both_orders))
        elif self.family.arity in (1, 2):
            write_screen(self.out, self.family.arity, self._rows(self.family.arity, lambda p: [p.args]))

    def _unpack(self, n: int, ind: int) -> None:
        if n:
            self.out.put(ind, f"{', '.join(f'a{i}' for i in range(n))}, = t.args")

    def _nary(self) -> None:
        self.out.put(1, "args = t.args")
        self.out.put(1, "if len(args) == 2:")
        self.out.put(2, "a0, a1 = args")
        self.branch(self._rows(2, _both_orders), 2, set())
        self.out.put(1, "else:")
        self.out.put(2, "return many(t)")

    def write_many(self) -> None:
        """The function for any number of operands."""
        self.out.put(0, "def many(t):")
        self.out.put(1, "args = t.args")
        for writer, instance in self.writers:
            self._general(writer, instance, 1)
        self.out.put(1, "return None")

    def _rows(self, arity: int, orders: Callable[[Any], list[tuple[Any, ...]]]) -> list[Candidate]:
        """Rows for patterns that fit `arity` operands; a lone segment takes what the others leave."""
        rows = []
        for writer, instance in self.writers:
            p = instance.lhs
            for items in orders(p) if is_nary(p.op) else [p.args]:
                expanded = _expand_segment(items, arity)
                if expanded is None:
                    continue
                row = Candidate(writer, start_bindings(p.op), items if is_nary(p.op) else None)
                if isinstance(p.op, Op) and p.op.family.defaults:
                    row.checks.append((p.op, "t.op"))
                for item, names in expanded:
                    if item.__class__ is SegVar:
                        row.bound[item] = Items.of(names)
                    else:
                        row.absorb(names[0], item)
                rows.append(row)
        return rows

    def _general(self, writer: Writer, instance: Instance, ind: int) -> None:
        """An instance on any number of operands, `args`."""
        p = instance.lhs
        writer.carried = None
        bound = start_bindings(p.op)
        if isinstance(p.op, Op) and p.op.family.defaults:
            bound, ind = self._check_head(writer, p.op, "t.op", bound, ind)
        if is_nary(p.op):
            writer.any_order(p, "args", [], bound, ind, self._finish(writer), root=True, node="t")
        elif any(a.__class__ is SegVar for a in p.args):
            writer.sequence(list(p.args), "args", "0", [], bound, ind, self._finish(writer))
        else:
            writer.operands(p, "args", [], bound, ind, self._finish(writer))
        writer.carried = None

    def _finish(self, writer: Writer) -> Callable[..., Any]:
        return lambda bound, ind: writer.goals(writer.instance.goals, bound, ind)

    def _check_head(self, writer: Writer, op: Op, name: str, bound: Bindings, ind: int) -> tuple[Bindings, int]:
        """Root or child of a parametrised family: its parameters."""
        if not op.lvars:
            self.out.put(ind, f"if {name} is {self.out.ref(op, op.name)}:")
            return bound, ind + 1
        return writer.params(op, name, bound, ind)

    # ------------------------------------------------------------------ the tree
    def branch(self, rows: list[Candidate], ind: int, loaded: set[str]) -> None:
        """Code for rows in order of priority; rows that test the same operand share the test."""
        loaded = set(loaded)
        while rows:
            row = rows[0]
            if not row.pending:
                self._action(row, ind)
                rows = rows[1:]
                continue
            name = next(iter(row.pending))
            groups = grouped((_group_key(r.pending[name]), r) for r in rows if name in r.pending)
            self._groups(name, groups, ind, loaded)
            rows = [r for r in rows if name not in r.pending]

    def _groups(self, name: str, groups: dict[Any, list[Candidate]], ind: int, loaded: set[str]) -> None:
        out = self.out
        anything = groups.pop(None, [])
        if groups:
            families = any(key[0] == "family" for key in groups)
            head = f"h_{name}"
            if head not in loaded:
                out.put(ind, f"{head} = {name}.op")
                loaded.add(head)
            tested = f"{head}.family" if families else head
            inner = ind
            if len(groups) >= _MANY:
                heads = frozenset(CONST if k[0] == "const" else k[1] for k in groups)
                out.put(ind, f"if {tested} in {out.ref(heads, 'heads')}:")
                inner += 1
            word = "if"
            for key, rows in groups.items():
                self._group(name, head, key, rows, word, inner, loaded)
                word = "elif"
        for row in anything:  # any head at all: matched on its own
            row.late.append((row.pending.pop(name), name))
            self._after(row, ind)

    def _after(self, row: Candidate, ind: int) -> None:
        self.branch([row], ind, set())

    def _group(
        self, name: str, head: str, key: tuple[Any, ...], rows: list[Candidate], word: str, ind: int, loaded: set[str]
    ) -> None:
        out = self.out
        if key[0] == "const":
            out.put(ind, f"{word} {head} is CONST:")
            self._constants(name, rows, ind + 1, loaded)
            return
        tested = head if key[0] == "op" else f"{head}.family"
        out.put(ind, f"{word} {tested} is {out.ref(key[1], key[1].name)}:")
        arity = key[1].arity
        names = [f"{name}_{i}" for i in range(arity)] if arity and not is_nary(key[1]) else []
        if names:
            out.put(ind + 1, f"{', '.join(names)}, = {name}.args")
        down = []
        for r in rows:
            new = r.copy()
            p = new.pending.pop(name)
            if not isinstance(p.op, Op) or p.op.family.defaults:
                new.checks.append((p.op, head))
            if names and not any(a.__class__ is SegVar for a in p.args):
                for sub, q in zip(names, p.args, strict=True):
                    new.absorb(sub, q)
            else:
                new.late.append((p, name))
            down.append(new)
        self.branch(down, ind + 1, loaded)

    def _constants(self, name: str, rows: list[Candidate], ind: int, loaded: set[str]) -> None:
        out = self.out
        values: dict[Any, list[Candidate]] = {}
        for r in rows:
            p = r.pending[name]
            values.setdefault(p, []).append(r)
        if any(p.__class__ is Lit for p in values):
            out.put(ind, f"c_{name} = {name}.scalar")
        for p, group in values.items():
            test = f"c_{name} == {p.value!r}" if p.__class__ is Lit else f"{name} is {out.ref(p)}"
            out.put(ind, f"if {test}:")
            down = [r.copy() for r in group]
            for r in down:
                del r.pending[name]
            self.branch(down, ind + 1, loaded)

    def _action(self, row: Candidate, ind: int) -> None:
        """All structure with fixed places matched: the rest of the conditions, then the result."""
        writer, out, bound = row.writer, self.out, row.bound
        writer.carried = None
        tests = [f"{a} is {b}" for a, b in row.equal]
        for op, name in row.checks:
            if isinstance(op, Op) and not op.lvars:
                tests.append(f"{name} is {out.ref(op, op.name)}")
        for v in list(bound):
            guard = writer.rule.guards.get(v)
            if guard is not None and v.__class__ is not SegVar:
                tests.append(writer.guard_test(guard, bound[v]))
        if tests:
            out.put(ind, f"if {' and '.join(tests)}:")
            ind += 1
        for op, name in row.checks:
            if isinstance(op, Captured):
                bound, ind = writer.bind(op.var, name, bound, ind)
            elif isinstance(op, Op) and op.lvars:
                bound, ind = writer.params(op, name, bound, ind)
        self._late(row.late, writer, bound, ind)

    def _late(self, late: list[Any], writer: Writer, bound: Bindings, ind: int) -> None:
        if not late:
            writer.goals(writer.instance.goals, bound, ind)
            return
        (p, name), rest = late[0], late[1:]

        def then(b: Bindings, i: int) -> None:
            self._late(rest, writer, b, i)

        if _group_key(p) is None:
            writer.match([(p, name)], bound, ind, then)
        else:  # its head is tested already
            writer.operands(p, f"{name}.args", [], bound, ind, then)


class Priorities(Tree):
    """The tree without its tests: in which order the forms of rules are tried."""

    def forms(self, arity: int) -> list[tuple[Instance, tuple[Any, ...] | None]]:
        """The forms for terms of the family with so many operands; of a pair, each order of its pattern by itself."""
        self.tried: dict[tuple[Instance, tuple[Any, ...] | None], None] = {}
        if self.family.arity is None and not (is_nary(self.family) and arity == 2):
            return [(instance, None) for _, instance in self.writers]
        orders = _both_orders if is_nary(self.family) else lambda p: [p.args]
        self.branch(self._rows(arity, orders), 1, set())
        return list(self.tried)

    def _action(self, row: Candidate, ind: int) -> None:
        self.tried[row.writer.instance, row.order] = None


def forms_as_tried(
    family: Op, rows: list[tuple[Instance, int]], arity: int
) -> list[tuple[Instance, tuple[Any, ...] | None]]:
    """The forms of rules for a family, with the order of operands, in the order its compiled matcher tries them."""
    source = Source()
    writers = [(Writer(source, i, n, frozenset(), None), i) for i, n in rows]
    return Priorities(family, source, writers).forms(arity)


def _group_key(p: Lit | AnyTerm) -> tuple[Any, ...] | None:
    """What of an operand the tree tests first; None if any head may match."""
    if p.__class__ is not Term:
        return ("const", None)
    if not p.lvars:
        return None
    op = p.op
    if isinstance(op, Captured):
        return ("family", op.family)
    if isinstance(op, Op):
        return ("family", op.family) if op.family.defaults else ("op", op)
    return None


def _both_orders(p: AnyTerm) -> list[tuple[Any, ...]]:
    """The operands of an n-ary pattern as a pair, in both orders; the segment, if any, last."""
    segments = [a for a in p.args if a.__class__ is SegVar]
    items = [a for a in p.args if a.__class__ is not SegVar]
    tail = tuple(segments)
    if len(items) == 2:
        first, second = items
        return [(first, second, *tail)] if first is second else [(first, second, *tail), (second, first, *tail)]
    if len(items) == 1 and segments:
        return [(items[0], *tail), (*tail, items[0])]
    return [tuple(segments)] if segments and not items else []


def _expand_segment(items: tuple[Any, ...], arity: int) -> list[tuple[Any, list[str]]] | None:
    """Which operand names each item takes when there are `arity` operands; None if they do not fit."""
    segments = [i for i, a in enumerate(items) if a.__class__ is SegVar]
    free = arity - (len(items) - len(segments))
    if free < 0 or len(segments) > 1 or (free and not segments):
        return None
    out: list[tuple[Any, list[str]]] = []
    at = 0
    for item in items:
        n = free if item.__class__ is SegVar else 1
        out.append((item, [f"a{i}" for i in range(at, at + n)]))
        at += n
    return out

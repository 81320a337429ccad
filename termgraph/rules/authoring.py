"""`@ruleset`: turns a generator function into checked, named rules, and keeps the list of all that were defined.

The function's parameters are the metavariables, their annotations the kinds.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from unification import Var

from termgraph import _rulelib
from termgraph.rules.defined import DEFINED, define
from termgraph.rules.definition import Rule, finish
from termgraph.rules.kinds import Kind, SegVar, seg
from termgraph.rules.pattern import Pattern
from termgraph.terms.errors import RuleError
from termgraph.terms.promises import keep_promises

_local = threading.local()


class RuleTable:
    """What one `@ruleset` function defined: its rules in the order written."""

    def __init__(self, topic: str, tags: tuple[str, ...], where: str, doc: str) -> None:
        self.topic, self.tags, self.where, self.__doc__ = topic, tags, where, doc
        self.rules: list[Rule] = []
        self.errors: list[RuleError] = []

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        for r in self.rules:
            if r.name in (name, f"{self.topic}.{name}"):
                return r
        raise KeyError(f"rule set {self.topic} has no rule {name!r}; it has {[r.name for r in self.rules]}")

    def __repr__(self) -> str:
        return f"<rule set {self.topic}, {len(self.rules)} rules, {self.where}>"


_overwriting: set[str] = set()  # names of rules that were meant to replace others


def ruleset(*tags: str, overwrite: bool = False, name: str | None = None) -> Callable[[Callable[..., Any]], RuleTable]:
    """Turn a generator function into a rule set. Tags say which stages and queries use its rules.

        @ruleset("canonicalize")
        def algebra(x, y, f: head, xs: seg):
            yield rule("mul_one", x * 1, x)

    Rules are named `algebra.mul_one`. `overwrite=True` allows redefining (notebooks); `name=` replaces the function's.
    """
    for tag in tags:
        if not isinstance(tag, str):
            raise TypeError(f'ruleset takes tags: @ruleset("canonicalize"); got {tag!r:.60}')

    def define(function: Callable[..., Any]) -> RuleTable:
        if getattr(_local, "errors", None) is None:  # not a file of rules that is being loaded
            keep_promises()
        topic = name or function.__name__
        code = function.__code__
        table = RuleTable(topic, tags, f"{code.co_filename}:{code.co_firstlineno}", function.__doc__ or "")
        patterns = _metavariables(function, topic)
        kinds = {p.term: p.kind for p in patterns if p.kind is not None}
        found = function(*patterns)
        if not inspect.isgenerator(found):
            raise RuleError(f"rule set {topic!r} at {table.where} must yield its rules: `yield rule(...)`")
        return fill(table, _items(found, table), kinds, overwrite)

    return define


def fill(table: RuleTable, items: Iterable[Any], kinds: dict[Var, Kind], overwrite: bool = False) -> RuleTable:
    """Complete, check and register the rules of a table; `kinds` are those of its metavariables."""
    for i, made in enumerate(items):
        try:
            r = finish(made, table.topic, table.tags, kinds, (table.topic, i))
            _register(r, overwrite)
            table.rules.append(r)
        except RuleError as err:
            _refuse(table, err)
    return table


def _metavariables(function: Callable[..., Any], topic: str) -> list[Pattern]:
    patterns = []
    for p in inspect.signature(function, eval_str=True).parameters.values():
        kind = None if p.annotation is p.empty else p.annotation
        if kind is not None and not isinstance(kind, Kind):
            raise RuleError(
                f"rule set {topic!r}: the annotation of {p.name} must be a kind (seg, head, param, Float, ...), "
                f"got {kind!r:.60}"
            )
        if p.name == "this":
            raise RuleError(f"rule set {topic!r}: `this` is the whole matched term; import it from termgraph.rules")
        patterns.append(Pattern(SegVar(p.name) if kind is seg else Var(p.name), kind))
    return patterns


def _items(found: Iterator[Any], table: RuleTable) -> Iterator[Any]:
    """The yielded rules; an error inside the function ends it, but keeps what came before."""
    try:
        yield from found
    except RuleError as err:
        _refuse(table, err)
    except Exception as err:
        where = table.where
        frame: Any = err.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == table.where.rpartition(":")[0]:
                where = f"{table.where.rpartition(':')[0]}:{frame.tb_lineno}"
            frame = frame.tb_next
        _refuse(table, RuleError(f"rule set {table.topic!r} at {where}: {type(err).__name__}: {err}"))


def _register(r: Rule, overwrite: bool) -> None:
    old = DEFINED.get(r.name)
    if overwrite:
        _overwriting.add(r.name)
    elif old is not None and not getattr(_local, "replacing", False):
        if r.name in _overwriting and r.where.startswith(_rulelib.where()):
            return  # what replaces a rule of the library was defined before the library was read
        raise RuleError(
            f"rule {r.name!r} at {r.where} is already defined at {old.where}; choose another name, "
            "or pass overwrite=True to @ruleset"
        )
    define(r)


def _refuse(table: RuleTable, err: RuleError) -> None:
    collected = getattr(_local, "errors", None)
    if collected is None:
        raise err
    table.errors.append(err)
    collected.append(err)


@contextmanager
def collecting_errors(replacing: bool = False) -> Iterator[list[RuleError]]:
    """While a rule file is loaded: bad rules are collected instead of raised, so that the good ones stay."""
    before = getattr(_local, "errors", None), getattr(_local, "replacing", False)
    _local.errors, _local.replacing = [], replacing
    try:
        yield _local.errors
    finally:
        _local.errors, _local.replacing = before

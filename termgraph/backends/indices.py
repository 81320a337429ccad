"""Indices from data that a function checks: one that is met again where it is checked already is the same index."""

from __future__ import annotations

from typing import Any

from termgraph._lazy import pattern
from termgraph._records import NamedTuple
from termgraph.terms.term import AnyTerm

NAMES = pattern(r"(?<!\w)[A-Za-z_]\w*")
FIXED = pattern(r"[vik]\d+|u?int\d+_t")  # values, loop variables and indices: each stays what it is in its block

Checks = list[tuple[Any, str, str]]  # the index, its name, the length


class _Known(NamedTuple):
    name: str
    line: int  # where its text begins
    text: str  # of that line


class CheckedIndices:
    """The indices of one function that have names, by the texts of value and length.

    >>> known, lines = CheckedIndices(), ["for (...) {"]
    >>> known.note("k0", "v1", "120", lines, "    int64_t k0 = v1;")
    >>> lines += ["    int64_t k0 = v1;", "    const double v2 = in0[k0];"]
    >>> known.find("v1", "120", lines), known.find("v1", "160", lines), known.find("v1", "120", [*lines, "}"])
    ('k0', None, None)
    """

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], _Known] = {}

    def name(self, p: Any, t: AnyTerm) -> str:
        """The name of an index; a printer `p` writes and checks it, unless that has been done in this block."""
        value, length = p.ref(t.args[0]), p.poly(t.op.params["length"])
        name = self.find(value, length, p.lines)
        if name is None:
            name = p.names.new("k")
            text = f"int64_t {name} = {value};"
            self.note(name, value, length, p.lines, "    " * p.indent + text)
            p.add(text)
            p.check(t, name, length)
        return str(name)

    def note(self, name: str, value: str, length: str, lines: list[str], text: str) -> None:
        """From the next line on, which is `text`, to the end of its block this name is the checked index."""
        if all(map(FIXED.fullmatch, NAMES.findall(value))):
            self.known[value, length] = _Known(name, len(lines), text)

    def find(self, value: str, length: str, lines: list[str]) -> str | None:
        """The name of an index that was checked in this block, or in one around it."""
        found = self.known.get((value, length))
        if found is None or len(lines) <= found.line or lines[found.line] != found.text:
            return None  # not there, or what was written was taken back
        depth = _depth(found.text)
        return found.name if all(_depth(line) >= depth for line in lines[found.line :]) else None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def by_extremes(checks: Checks, t: AnyTerm, k: str, n: str) -> list[str]:
    """An index put in range, and its extremes kept. Where a body is written twice, both have the same extremes."""
    seen = next((name for same, name, _ in checks if same is t), k)
    if seen is k:
        checks.append((t, k, n))
    return [
        f"{seen}_low = {k} < {seen}_low ? {k} : {seen}_low;",
        f"{seen}_high = {k} > {seen}_high ? {k} : {seen}_high;",
        f"{k} = {k} < 0 ? {k} + {n} : {k};",
        f"{k} = (uint64_t){k} < (uint64_t)({n}) ? {k} : 0;",
    ]

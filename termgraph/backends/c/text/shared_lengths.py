"""Functions that are equal but for numbers are written once: lengths, strides, places and factors stand in the row.

Numbers that make a loop fast by being known keep functions apart (`Said`). Works on finished text only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph._records import NamedTuple
from termgraph.terms.traverse import grouped

SHORT = 16  # loops and strides below are unrolled, or read by shuffles
WHOLE = 16  # a loop over a multiple of that has no rest
NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?(?:e[-+]?\d+)?f?l?)(?![\w.])")
# Lines whose numbers are no values: how much room there is, how often to unroll.
NO_VALUES = re.compile(r"^ *(?:const )?(?:\w+ )+\w+\[|__attribute__|#pragma|\bstatic\b|\benum\b|__builtin_offsetof")
ARGUMENT = re.compile(r"(?:\w\(|, |\{)$"), re.compile(r"^[,)}]")  # around a number that is all of an argument
ROOM = re.compile(r"\w\[$"), re.compile(r"^\]\)?\{")  # of an array without a name
DIVISOR, SHIFT = re.compile(r"[/%] \(?$"), re.compile(r"(?:>>|<<) $")
BOUND, SUMMAND = re.compile(r"<=? $"), re.compile(r"[-+] $")
AT_ZERO = re.compile(r"((?: \+ |\[)i\d+)(?=[\]),])")  # an index to which nothing is added, as another may have a place
NO_PLACE = re.compile(r"((?: \+ |\[)i\d+) \+ 0(?=[\]),])")
CONTEXT = re.compile(r"\n    tg_context \*(?:const )?c = context;\n")
FLOATS_TEXT = """
/* Numbers in rows of places. */
typedef float tg_row_float __attribute__((may_alias));
typedef double tg_row_double __attribute__((may_alias, aligned(4)));
"""


class Function(NamedTuple):
    """A function by its text, how many places it reads from its row, and the range it always runs over, if known."""

    shape: str
    places: int
    range: int | None


class Apart(NamedTuple):
    """A function that reads numbers from its row: its text, these, and whether its range is one of them."""

    shape: str
    numbers: tuple[str, ...]
    ranged: bool


class _Cut(NamedTuple):
    """A text cut at its numbers."""

    between: tuple[str, ...]
    numbers: tuple[str, ...]


def numbers_apart(functions: Mapping[str, Function]) -> dict[str, Apart]:
    """Of functions by name those that become equal if they read numbers from their rows."""
    out: dict[str, Apart] = {}
    for alike in _groups(functions, lambda f: (f.shape.count("\n"), f.places)):
        if len({functions[name].shape for name in alike}) > 1:
            cut = {name: _cut(functions[name].shape) for name in alike}
            for same in _groups(cut, lambda c: c.between):
                out |= _joined({name: cut[name] for name in same}, functions)
    return out


def _groups(given: Mapping[str, Any], key: Callable[[Any], Any]) -> list[list[str]]:
    """The names of what has equal keys."""
    return list(grouped((key(x), name) for name, x in given.items()).values())


def _cut(text: str) -> _Cut:
    parts = NUMBER.split(AT_ZERO.sub(r"\1 + 0", text))
    return _Cut(tuple(parts[::2]), tuple(parts[1::2]))


def _joined(cut: Mapping[str, _Cut], functions: Mapping[str, Function]) -> dict[str, Apart]:
    """Functions that differ in numbers only, in groups by what these numbers say."""
    between = next(iter(cut.values())).between
    columns = zip(*[c.numbers for c in cut.values()])
    says = [(k, Said.where(between, k)) for k, column in enumerate(columns) if len(set(column)) > 1]
    keys = {name: tuple([(_kind(n := c.numbers[k]), said.of(n)) for k, said in says]) for name, c in cut.items()}
    out: dict[str, Apart] = {}
    for alike in _groups(keys, lambda key: key):
        if len({cut[name].numbers for name in alike}) > 1:
            out |= _with_parameters(between, {name: cut[name].numbers for name in alike}, functions)
    return out


class Said(NamedTuple):
    """What a number says of the loop it stands in, by where it stands: only functions that say the same are joined."""

    itself: bool  # the compiler needs the number
    divides: bool
    bound: bool
    added: bool

    @classmethod
    def where(cls, between: Sequence[str], k: int) -> Said:
        """By what is before and after number k."""
        left, right = between[k], between[k + 1]
        alone = any(a.search(left) and b.search(right) for a, b in (ARGUMENT, ROOM))
        itself = alone or SHIFT.search(left) or NO_VALUES.search(_line(between, k))
        added = SUMMAND.search(left) and not right.startswith("*")
        return cls(bool(itself), bool(DIVISOR.search(left)), bool(BOUND.search(left)), bool(added))

    def of(self, number: str) -> Any:
        """The number where it has to be known: a divisor, the length of a short loop, a short stride.

        Of a longer loop whether it has a rest; of all others nothing.
        """
        if self.itself:
            return number
        if _kind(number) in ("float", "double"):  # a quotient by a power of two is a product
            return number if self.divides and math.frexp(float(number.rstrip("f")))[0] == 0.5 else None
        n = int(number.rstrip("l"))
        if self.divides or n >= 1 << 31 or (n < SHORT and not self.added):
            return number
        return n % WHOLE == 0 if self.bound else None


def _kind(number: str) -> str:
    """The type of a number in the text."""
    if number.endswith("f"):
        return "float"
    return "double" if "." in number or "e" in number else "int64_t" if number.endswith("l") else "int"


def _line(between: Sequence[str], k: int) -> str:
    """The line in which number k stands, without the numbers after it."""
    left, j = between[k], k
    while "\n" not in left and j:
        j -= 1
        left = f"{between[j]}0{left}"
    return f"{left.rpartition(chr(10))[2]}0{between[k + 1].partition(chr(10))[0]}"


def _with_parameters(
    between: Sequence[str], numbers: Mapping[str, tuple[str, ...]], functions: Mapping[str, Function]
) -> dict[str, Apart]:
    """These functions with one text, in which numbers that differ are read from the row."""
    row = _Row(next(functions[name].places for name in numbers))
    ranges = tuple([functions[name].range for name in numbers])
    ranged = len(set(ranges)) > 1 and all(n and not n % WHOLE for n in ranges)
    end = row.text(tuple(map(str, ranges))) if ranged else ""
    parts: list[str] = []
    for text, column in zip(between, zip(*numbers.values())):
        parts += [text, column[0] if len(set(column)) == 1 else row.text(column)]
    text = NO_PLACE.sub(r"\1", "".join([*parts, between[-1]]))
    lines = [*row.lines, *([f"    begin = 0, end = {end};"] if ranged else [])]
    shape = CONTEXT.sub(lambda m: m[0] + "".join(line + "\n" for line in lines), text, count=1)
    return {name: Apart(shape, tuple([c[i] for c in row.columns]), ranged) for i, name in enumerate(numbers)}


class _Row:
    """The numbers that functions read from their rows, in the order of their first use."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.lines: list[str] = []
        self.columns: list[list[str]] = []  # numbers of 32 bits, one for each function
        self.known: dict[tuple[str, ...], str] = {}
        self.sizes: dict[str, list[int]] = {}  # lengths by name

    def text(self, column: tuple[str, ...]) -> str:
        """What stands in the text where each function has its own number."""
        if column not in self.known:
            made = self.factor if _kind(column[0]) in ("float", "double") else self.size
            self.known[column] = made(column)
        return self.known[column]

    def size(self, column: tuple[str, ...]) -> str:
        """An integer: a multiple of an earlier one, or an earlier one and a bit, or a new one."""
        numbers, kind = [int(n.rstrip("l")) for n in column], _kind(column[0])
        for name, others in self.sizes.items() if kind == "int" else ():
            times, more = numbers[0] // others[0], numbers[0] - others[0]
            if all(n == times * m for n, m in zip(numbers, others)):
                return f"({times} * {name})"
            if all(n == m + more for n, m in zip(numbers, others)):
                return f"({name} {'+' if more > 0 else '-'} {abs(more)})"
        unit = math.gcd(*numbers, 64)  # the compiler sees of what it is a multiple
        name = f"size{len(self.lines)}"
        text = f"{unit} * {self.place(n // unit for n in numbers)}" if unit > 1 else self.place(numbers)
        self.lines.append(f"    const {kind} {name} = {text};")
        if kind == "int" and 0 not in numbers:
            self.sizes[name] = numbers
        return name

    def factor(self, column: tuple[str, ...]) -> str:
        """A floating-point number: its bits."""
        kind = _kind(column[0])
        dtype = np.float32 if kind == "float" else np.float64
        bits = [np.array([float(n.rstrip("f"))], dtype).view(np.int32).tolist() for n in column]
        name = f"factor{len(self.lines)}"
        at = [self.place(part) for part in zip(*bits)]
        self.lines.append(f"    const {kind} {name} = *(const tg_row_{kind} *)&{at[0]};")
        return name

    def place(self, numbers: Any) -> str:
        """Where numbers stand in the row."""
        self.columns.append([str(n) for n in numbers])
        return f"c->at[{self.first + len(self.columns) - 1}]"

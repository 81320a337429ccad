"""What vector loops draw is made for some places before they are used: random bits, and numbers that are drawn until
one fits, beside which nothing else of a loop would have vectors. Works on the lines of C functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from termgraph._lazy import lazy, pattern
from termgraph._records import NamedTuple
from termgraph.backends.c.text.random_bits import PLACES
from termgraph.backends.c.text.ranges import VECTOR_CALL

draws = lazy("termgraph.terms.ops.draws")  # few programs draw numbers
PRAGMA = "#pragma GCC ivdep"
_HEAD = pattern(r"( *)for \(int64_t (i\d+|u) = (.+?); \2 < (.+); \2\+\+\) \{")
_NAMED = pattern(r"( *)const \w+ (\w+) = .+;")
_WORD = pattern(r"\b[A-Za-z_]\w*")
CALL = "tg_philox("
DRAWS = {
    "tg_gamma_draw(": "double",
    "tg_beta_draw(": "double",
    "tg_poisson_draw(": "int64_t",
    "tg_binomial_draw(": "int64_t",
}


def before_loops(lines: Sequence[str]) -> list[str]:
    """The lines of a function in which the random bits of vector loops are made before, for some places at a time."""
    if any(name in line for line in lines for name in DRAWS):
        lines = _each_loop(lines, tuple(DRAWS), _drawn_before)
        lines = _each_loop(lines, tuple(DRAWS), _bits_before)
    return _each_loop(lines, (CALL,), _made_before)


def _each_loop(
    lines: Sequence[str], calls: Sequence[str], change: Callable[[Sequence[str], int], list[str] | None]
) -> list[str]:
    """The lines of a function with those vector loops changed that have such a call."""
    out: list[str] = []
    at = loops = 0
    while at < len(lines):
        end = _end(lines, at) if lines[at].endswith(PRAGMA) else at
        made = change(lines[at:end], loops) if any(c in line for line in lines[at:end] for c in calls) else None
        loops += made is not None
        out += lines[at : at + 1] if made is None else made
        at = at + 1 if made is None else end
    return out


def _end(lines: Sequence[str], at: int) -> int:
    """Where a loop ends whose pragma is in line `at`."""
    last = lines[at].removesuffix(PRAGMA) + "}"
    return next((k + 1 for k in range(at + 1, len(lines)) if lines[k] == last), at)


def _made_before(lines: Sequence[str], number: int) -> list[str] | None:
    """The lines of such a loop; None if it has no such bits.

    Key and step must not change in the loop, and only named values of the loop may stand in the index.
    """
    loop = _Loop.of(lines, f"bits{number}", (CALL,))
    calls = _calls(loop.body, CALL) if loop else {}
    if not calls or loop is None:
        return None
    blocks: dict[tuple[str, str, str], dict[str, str]] = {}
    for text, (key, step, index, half) in calls.items():
        if any(w == loop.i or _given(w, loop.body) for w in _WORD.findall(f"{key} {step}")):
            return None
        blocks.setdefault((key, step, index), {})[half] = text
    body, out = loop.body, []
    for k, ((key, step, index), halves) in enumerate(blocks.items()):
        needs = loop.needs(index)
        if needs is None:
            return None
        name = f"{loop.name}_{k}"
        both = {h: f"{name}_{h}" for h in sorted(halves)}
        out += [f"uint64_t {', '.join([f'{x}[{PLACES}]' for x in (f'{name}_at', *both.values())])};", PRAGMA]
        out += loop.each([*needs, f"{name}_at[{loop.i} - {loop.base}] = {index};"])
        first, second = both.get("0", "0"), both.get("1", "0")
        count = f"{loop.stop} - {loop.base}"
        out += [f"tg_philox_fill({key}, {step}, {name}_at, {first}, {second}, {count});"]
        for half, text in halves.items():
            body = body.replace(text, f"{both[half]}[{loop.i} - {loop.base}]")
    return loop.in_blocks(out, body)


def _drawn_before(lines: Sequence[str], number: int) -> list[str] | None:
    """The lines of a loop whose draws are made before, one by one; None if nothing else in it gains by vectors."""
    loop = _Loop.of(lines, f"drawn{number}", tuple(DRAWS))
    if loop is None:
        return None
    body, out, k = loop.body, [], 0
    while calls := [(text, name) for name in DRAWS for text in _calls(body, name)]:
        text, name = min(calls, key=lambda call: len(call[0]))  # an inner one, if there is one in it
        needs = loop.needs(text.partition("(")[2])
        if needs is None:
            return None
        bits, drawn = _ahead(loop, text, name, f"{loop.name}_bits{k}") or ([], text)
        out += [*bits, f"{DRAWS[name]} {loop.name}_{k}[{PLACES}];"]
        out += loop.each([*needs, f"{loop.name}_{k}[{loop.i} - {loop.base}] = {drawn};"])
        body = body.replace(text, f"{loop.name}_{k}[{loop.i} - {loop.base}]")
        k += 1
    if CALL not in body and not VECTOR_CALL.search(body):
        return None
    return loop.in_blocks(out, body)


def _bits_before(lines: Sequence[str], number: int) -> list[str] | None:
    """The lines of a loop of draws whose first random bits are made before; None if its places are not known then."""
    loop = _Loop.of(lines, f"first{number}", tuple(DRAWS))
    if loop is None:
        return None
    body, out, k = loop.body, list[str](), 0
    for text, name in [(call, draw) for draw in DRAWS for call in _calls(body, draw)]:
        if (made := _ahead(loop, text, name, f"{loop.name}_{k}")) is not None:
            out += made[0]
            body, k = body.replace(text, made[1]), k + 1
    return loop.in_blocks(out, body) if k else None


def _ahead(loop: _Loop, text: str, name: str, bits: str) -> tuple[list[str], str] | None:
    """Lines that make the first bits of a draw for a block of places, and the draw by these."""
    key, step, index, *rest = _calls(text, name)[text]
    needs = loop.needs(index)
    if needs is None or any(other in a for a in (index, *rest) for other in DRAWS):
        return None
    if any(w == loop.i or _given(w, loop.body) for w in _WORD.findall(f"{key} {step}")):
        return None
    twice = name == "tg_beta_draw(" or (name == "tg_gamma_draw(" and _is_below_one(rest[0]))
    place, words = f"{loop.i} - {loop.base}", 4 if twice else 2
    out = [f"uint64_t {bits}_at[{PLACES}], {bits}[{words}][{PLACES}];", PRAGMA]
    out += loop.each([*needs, f"{bits}_at[{place}] = {index};"])
    for w in range(0, words, 2):
        more = f" + {draws.FURTHER:#x}u" if w else ""
        out += [
            f"tg_philox_fill({key}{more}, {step}, {bits}_at, {bits}[{w}], {bits}[{w + 1}], {loop.stop} - {loop.base});"
        ]
    given = ", ".join([f"{bits}[0] + ({place})", str(words), key, step, index, *rest])
    return out, f"{name[:-1]}_ahead({given})"


def _is_below_one(text: str) -> bool:
    try:
        return float(text) < 1
    except ValueError:
        return False


class _Loop(NamedTuple):
    """A vector loop that is run in blocks of so many places, for each of which something is made before."""

    name: str
    pad: str
    i: str
    begin: str
    end: str
    body: str
    named: dict[str, str]  # the line that gives each name its value, if nothing in it is made before

    @classmethod
    def of(cls, lines: Sequence[str], name: str, calls: Sequence[str]) -> _Loop | None:
        head = _HEAD.fullmatch(lines[1])
        if head is None:
            return None
        pad, i, begin, end = head.groups()
        end = "({0} < {1} ? {0} : {1})".format(*end.split(f" && {i} < ")) if "&&" in end else end  # of two lengths
        named = {m[2]: line.strip() for line in lines[2:-1] if (m := _NAMED.fullmatch(line)) and m[1] == f"{pad}    "}
        named = {n: line for n, line in named.items() if not any(c in line for c in calls)}
        return cls(name, pad, i, begin, end, "\n".join(lines), named)

    @property
    def base(self) -> str:
        return f"{self.name}_from"

    @property
    def stop(self) -> str:
        return f"{self.name}_to"

    def each(self, lines: Sequence[str]) -> list[str]:
        """A loop over the places of a block."""
        i = self.i
        return [f"for (int64_t {i} = {self.base}; {i} < {self.stop}; {i}++) {{", *[f"    {x}" for x in lines], "}"]

    def in_blocks(self, before: Sequence[str], body: str) -> list[str]:
        """The loop over blocks: what is made before, and the body."""
        pad, base, stop, end = self.pad, self.base, self.stop, self.end
        rest = body.split("\n")
        rest[1] = f"{pad}for (int64_t {self.i} = {base}; {self.i} < {stop}; {self.i}++) {{"
        return [
            f"{pad}for (int64_t {base} = {self.begin}; {base} < {end}; {base} += {PLACES}) {{",
            f"{pad}    const int64_t {stop} = ({end}) - {base} < {PLACES} ? {end} : {base} + {PLACES};",
            *[line if line == PRAGMA else f"{pad}    {line}" for line in before],
            *[f"    {line}" for line in rest],
            f"{pad}}}",
        ]

    def needs(self, text: str) -> list[str] | None:
        """The lines of the loop that name what a text is made of, in their order; None if it needs others."""
        todo, found = _WORD.findall(text), set()
        while todo:
            name = todo.pop()
            if name in self.named and name not in found:
                found.add(name)
                todo += _WORD.findall(self.named[name].partition(" = ")[2])
            elif name not in self.named and name != self.i and _given(name, self.body):
                return None
        return [line for name, line in self.named.items() if name in found]


def _calls(body: str, name: str) -> dict[str, list[str]]:
    """The calls of a function in a text, with their arguments."""
    found: dict[str, list[str]] = {}
    at = body.find(name)
    while at >= 0:
        depth, begin, parts = 0, at + len(name), []
        for k in range(begin, len(body)):
            c = body[k]
            if depth == 0 and c in ",)":
                parts.append(body[begin:k].strip())
                begin = k + 1
                if c == ")":
                    found[body[at : k + 1]] = parts
                    break
            depth += (c in "([{") - (c in ")]}")
        at = body.find(name, at + 1)
    return found


def _given(name: str, body: str) -> bool:
    """Whether a name, or an element of it, gets its value in a loop."""
    return re.search(rf"\b{name}(?:\[[^=;]*\])? = ", body) is not None

"""Lines of Python that matchers are made of, and the objects they refer to by name."""

from __future__ import annotations

from collections.abc import Iterable

from termgraph._lazy import pattern

# ---------------------------------------------------------------------- local names
MARK = "ø"  # in names that have not got their final form: `xø17`
_FRESH = pattern(rf"\b([a-z]+){MARK}(\d+)\b")
_PREFIX = {"a": "b"}  # a0, a1, ... are the operands of the term itself


def reuse_names(lines: list[str]) -> list[str]:
    """The lines with each marked name replaced by the first one of its prefix that no enclosing block uses.

    A matcher with a thousand locals needs a frame of many kilobytes, and every call pays for clearing it (and sometimes
    for mapping memory). Names are scoped by blocks, so what one block used is free for the next.
    """
    live: list[tuple[int, str, str]] = []  # (indentation of the definition, prefix, marked name)
    final: dict[str, str] = {}
    used: dict[str, int] = {}
    out = []
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        while live and live[-1][0] > indent:
            _, prefix, name = live.pop()
            used[prefix] -= 1
            del final[name]
        if MARK not in line:
            out.append(line)
            continue
        for found in _FRESH.finditer(line):
            name, prefix = found.group(), found.group(1)
            if name not in final:
                number = used.get(prefix, 0)
                used[prefix] = number + 1
                final[name] = f"{_PREFIX.get(prefix, prefix)}{number}"
                live.append((indent, prefix, name))
        out.append(_FRESH.sub(lambda found: final[found.group()], line))
    return out


class Items(str):
    """The expression for a segment whose operands have names: a tuple display that knows its elements."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Items:
        """`(a0, a1, )`."""
        made = cls(f"({''.join(n + ', ' for n in names)})")
        made.names = tuple(names)
        return made


class Source:
    """Lines of generated code and the objects they refer to by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.refs: dict[str, object] = {}
        self._names: dict[int, str] = {}
        self._fresh = 0

    def put(self, indent: int, text: str) -> None:
        """One line."""
        self.lines.append("    " * indent + text)

    def ref(self, obj: object, hint: str = "k") -> str:
        """The name of an object in the generated code."""
        name = self._names.get(id(obj))
        if name is None:
            text = "".join(c if c.isalnum() else "_" for c in hint)
            name = self._names[id(obj)] = f"{text}_{len(self._names)}"
            self.refs[name] = obj
        return name

    def fresh(self, prefix: str) -> str:
        """A new local name, until `text` gives it a final one."""
        self._fresh += 1
        return f"{prefix}{MARK}{self._fresh}"

    def text(self) -> str:
        """The code."""
        return "\n".join(reuse_names(self.lines)) + "\n"

"""Lines of Python that matchers are made of, and the objects they refer to by name."""

from __future__ import annotations

from collections.abc import Iterable

from termgraph.rules.local_names import MARK, reuse_names


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

"""Local names of generated matchers, used again and again.

A matcher with a thousand locals needs a frame of many kilobytes, and every call pays for clearing it (and sometimes for
mapping memory). Names are scoped by blocks, so what one block used is free for the next. Imports nothing.
"""

from __future__ import annotations

from termgraph._lazy import pattern

MARK = "ø"  # in names that have not got their final form: `xø17`
_FRESH = pattern(rf"\b([a-z]+){MARK}(\d+)\b")
_PREFIX = {"a": "b"}  # a0, a1, ... are the operands of the term itself


def reuse_names(lines: list[str]) -> list[str]:
    """The lines with each marked name replaced by the first one of its prefix that no enclosing block uses."""
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

"""Text that many programs hold word for word, such as convolutions: it is marked, and compiled once for all of them.

A source stays one text, which could be compiled as it is.
"""

from __future__ import annotations

import re

from termgraph._lazy import pattern
from termgraph._records import NamedTuple

KNOWN = "/* ---- compiled once for all programs that hold it: what both sides know ---- */"
ONCE = "/* ---- and what is compiled once ---- */"
END = "/* ---- the program ---- */"
SECTION = pattern(rf"{re.escape(KNOWN)}\n(.*?){re.escape(ONCE)}\n(.*?){re.escape(END)}\n", re.DOTALL)
ENTRY = pattern(r"^TG_APART ([^{;]*?)\s*\{", re.MULTILINE)  # the head of a function that the program calls
HIDDEN = "#define TG_APART TG_HIDDEN\n"
WHOLE = "#ifndef TG_APART\n#define TG_APART static\n#endif"
# Flags that choose how fast loops run which the compiler makes vectors of, or how little it works on them: what is
# compiled once says that itself, and shall not be compiled again for each choice.
OF_LOOPS = (
    "-O",
    "-mprefer-vector-width",
    "-fsched",
    "--param",
    "-fno-thread-jumps",
    "-fno-tree-slp",
    "-fno-tree-sink",
    "-fpeel-loops",
    "-fno-ivopts",
    "-fira-",
)


class Parts(NamedTuple):
    """A source without what is compiled apart, and the sections of that."""

    program: str
    apart: tuple[str, ...]


def section(known: str, once: str) -> str:
    """Marked text: types and macros that both sides know, and functions. Those the program calls begin `TG_APART`."""
    return "\n".join((KNOWN, WHOLE, known.strip(), ONCE, once.strip(), END, ""))


def declared(once: str) -> str:
    """Declarations of the functions that callers of a text may call."""
    return "\n".join(f"TG_APART {' '.join(head.split())};" for head in ENTRY.findall(once))


def split(source: str, file: str) -> Parts:
    """The parts of a source whose lines are those of a file: also then the compiler names the right ones."""
    sections: list[str] = []

    def taken_out(found: re.Match) -> str:
        known, once = found.groups()
        sections.append(f"{HIDDEN}{known}{once}")
        line = source.count("\n", 0, found.end()) + 1
        return f'{known}{declared(once)}\n#line {line} "{file}"\n'

    program = SECTION.sub(taken_out, source)
    return Parts(f'{HIDDEN}#line 1 "{file}"\n{program}' if sections else source, tuple(sections))


def flags_for_all(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags of a program that what is compiled apart gets too: what changes results, or is the user's."""
    return tuple([flag for flag in flags if not flag.startswith(OF_LOOPS)])

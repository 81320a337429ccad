"""How many of Theano's public names `termgraph.theano` has: a table by module, and the names that are missing.

    python scripts/theano_names.py [--missing]

The names are listed in tests/theano/public_names.txt.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

LIST = Path(__file__).resolve().parent.parent / "tests" / "theano" / "public_names.txt"


def listed(path: Path = LIST) -> Iterator[tuple[str, str]]:
    """(module, name) for every name of the list."""
    module = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith(" "):
            yield from ((module, name) for name in line.split())
        else:
            module = line.strip()


def state(module: str, name: str) -> str:
    """present, refused (with a reason) or absent."""
    from termgraph.theano.modules import RefusedName

    try:
        getattr(import_module(module.replace("theano", "termgraph.theano", 1)), name)
    except RefusedName:
        return "refused"
    except (AttributeError, ImportError):
        return "absent"
    return "present"


INTERNAL = ("rewriting", "compiler", "local", "inner_op")  # refused as parts of Theano's own machinery


def is_internal(full: str) -> bool:
    """Whether a refused name is a part of Theano's optimizer, code generator or machine."""
    from termgraph.theano.modules import entry_of
    from termgraph.theano.names import REFUSALS

    module, _, name = full.removeprefix("theano.").rpartition(".")
    entry = entry_of(module, name)
    return entry is not None and entry.refused in [REFUSALS[key] for key in INTERNAL]


def table() -> dict[str, dict[str, list[str]]]:
    """For each of the outer modules: its names by state."""
    found: dict[str, dict[str, list[str]]] = {}
    for module, name in listed():
        outer = ".".join(module.split(".")[:2])
        found.setdefault(outer, {"present": [], "refused": [], "absent": []})[state(module, name)].append(
            f"{module}.{name}"
        )
    return found


def main() -> None:
    found = table()
    print("| module | names | present | refused with a reason | absent |\n|---|---|---|---|---|")
    total = [0, 0, 0]
    for module, states in found.items():
        counts = [len(states[s]) for s in ("present", "refused", "absent")]
        total = [a + b for a, b in zip(total, counts)]
        print(f"| `{module}` | {sum(counts)} | {counts[0]} | {counts[1]} | {counts[2]} |")
    print(f"| all | {sum(total)} | {total[0]} ({100 * total[0] / sum(total):.1f} %) | {total[1]} | {total[2]} |")
    inside = sum(is_internal(n) for states in found.values() for n in states["refused"])
    share = 100 * total[0] / (sum(total) - inside)
    print(f"\n{inside} of the refused are parts of Theano's own machinery; without these {share:.1f} % are present.")
    if "--missing" in sys.argv:
        for states in found.values():
            print(*states["refused"], *[f"ABSENT {n}" for n in states["absent"]], sep="\n")


if __name__ == "__main__":
    main()

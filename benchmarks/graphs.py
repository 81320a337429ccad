"""Random graphs that several benchmarks build, the same for every library.

A graph is Python text, so that NumPy runs it as a user writes it, and tracing compilers see no random numbers.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

LIVE = 8  # values that a new operation may use; all are summed in the end, so nothing is dead

# text of an operation on v (and w), and how many operations it is
ORDINARY = [
    ("lib.tanh({v})", 1), ("lib.sin({v})", 1), ("lib.exp(-abs({v}))", 3), ("lib.sqrt(abs({v}) + 0.1)", 3),
    ("lib.maximum({v}, {w})", 1), ("lib.minimum({v}, {w})", 1), ("{v} * 0.5 + {w} * 0.5", 3), ("lib.cos({v} - {w})", 2),
]  # fmt: skip
REDEXES = [
    ("{v} * 1.0", 1), ("{v} + 0.0", 1), ("lib.log(lib.exp({v}))", 2), ("{v} * y / y", 2),
    ("lib.maximum(lib.tanh({v}), lib.tanh({v}))", 3),
]  # fmt: skip


@functools.cache
def mixed(n: int, redexes: float = 1 / 3, seed: int = 1) -> Callable[[Any, Any, Any], Any]:
    """f(lib, x, y): about n element-wise operations on x and y (y > 0), the share `redexes` of which simplifies away.

    `lib` offers NumPy's names. Values stay small whatever n is. What simplifies: v * 1, v + 0, log(exp(v)), v * y / y,
    and the same operation written twice.
    """
    pick = random.Random(seed)
    lines = [f"v{k} = {'x' if k % 2 else 'y'} * {(k + 1) / LIVE}" for k in range(LIVE)]
    done, simple = 2 * LIVE - 1, 0
    while done < n:
        k = pick.randrange(LIVE)
        wanted = simple < redexes * done
        text, spent = pick.choice(REDEXES if wanted else ORDINARY)
        lines.append(f"v{k} = " + text.format(v=f"v{k}", w=f"v{pick.randrange(LIVE)}"))
        done, simple = done + spent, simple + spent * wanted
    lines.append("return " + " + ".join(f"v{k}" for k in range(LIVE)))
    space: dict[str, Any] = {}
    exec("def graph(lib, x, y):\n" + "\n".join(f"    {line}" for line in lines), space)
    return space["graph"]


@functools.cache
def dag(n: int, redexes: float, seed: int = 1) -> Callable[[Any, Any, Any], Any]:
    """f(lib, x, y): a random shared DAG: any of the last 200 values may be used again."""
    pick = random.Random(seed)
    lines = ["v = [x, y]"]
    done = 0
    while done < n:
        text, spent = pick.choice(REDEXES if pick.random() < redexes / 1.5 else ORDINARY)
        v, w = (f"v[{pick.randrange(1, min(200, len(lines) + 1) + 1) * -1}]" for _ in "vw")
        lines.append(f"v.append({text.format(v=v, w=w)})")
        done += spent
    lines.append("return v[-200:]")
    space: dict[str, Any] = {}
    exec("def graph(lib, x, y):\n" + "\n".join(f"    {line}" for line in lines), space)
    return space["graph"]

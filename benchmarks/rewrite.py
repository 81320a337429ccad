"""Rewriting speed: nodes per second, visits and growth on random shared graphs; compiled against relational rules.

    python benchmarks/rewrite.py [--sizes 1e3,1e4,1e5] [--small] [--json FILE]

`--small` uses about 30 rules instead of all of fast_run. Times are the least of several runs of CPU time.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import random
import time
from typing import Any

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import RuleSet
from termgraph.rules.relation import ruleset_relation
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import Const, mk
from termgraph.terms.traverse import children_first

TYPES = {"f64 matrix": ("float64", (None, None)), "f32 vector": ("float32", (None,)), "i64 4x4": ("int64", (4, 4))}
PLAIN = [ew.sin, ew.cos, ew.tanh, ew.sqrt, ew.arctan]


def leaves(kind: str) -> list[Any]:
    """A few inputs of one type."""
    dtype, shape = TYPES[kind]
    return [T.tensor(f"x{i}", dtype=dtype, shape=shape).term for i in range(8)]


def graph(kind: str, n: int, redexes: float, seed: int = 0) -> list[Any]:
    """Roots of a random graph of about `n` shared nodes; a share `redexes` of the steps adds something to simplify.

    Otherwise nothing does: the older operand comes first and no term is drawn twice, so that none has a twin with
    swapped operands.
    """
    rng = random.Random(seed)
    pool = leaves(kind)
    known = set(pool)
    integral = TYPES[kind][0] == "int64"
    one, zero = (Const(c, TYPES[kind][0]) for c in (1, 0))
    made = 0
    while made < n:
        a, b = (pool[i] for i in sorted(rng.sample(range(max(0, len(pool) - 200), len(pool)), 2)))
        if rng.random() < redexes:
            t, k = _redex(rng, a, b, one, zero, integral)
        else:
            t, k = _plain(rng, a, b, integral)
        if t in known:
            continue
        known.add(t)
        pool.append(t)
        made += k
    used = {id(a) for t in children_first(pool) for a in t.args}
    return [t for t in pool if id(t) not in used and t.args]


def _plain(rng: random.Random, a: Any, b: Any, integral: bool) -> tuple[Any, int]:
    if integral or rng.random() < 0.6:
        op = rng.choice([ew.maximum, ew.bitwise_xor] if integral else [ew.arctan2, ew.hypot, ew.maximum])
        if op is ew.maximum and a.op is b.op and len(a.args) == 1:
            op = ew.bitwise_xor if integral else ew.hypot  # max(f(x), f(y)) is f(max(x, y)) for increasing f
        return mk(op, (a, b)), 1
    return mk(rng.choice(PLAIN), (a,)), 1


def _redex(rng: random.Random, a: Any, b: Any, one: Const, zero: Const, integral: bool) -> tuple[Any, int]:
    kind = rng.randrange(3 if integral else 6)
    if kind == 0:
        return mk(ew.mul, (a, one)), 1
    if kind == 1:
        return mk(ew.add, (zero, a)), 1
    if kind == 2:
        return mk(ew.neg, (mk(ew.neg, (a,)),)), 2
    if kind == 3:
        return mk(ew.log, (mk(ew.exp, (a,)),)), 2
    if kind == 4:
        return mk(ew.true_div, (mk(ew.mul, (a, b)), b)), 2
    return mk(ew.log, (mk(ew.add, (one, a)),)), 2


def rate(rs: Any, roots: list[Any], repeat: int = 3) -> dict[str, float]:
    """CPU seconds, nodes per second and visits of one rewriting."""
    n = len(children_first(roots))
    best, visited, fired = math.inf, 0, 0
    for _ in range(repeat):
        rs._version = -1  # a new stamp: nothing remembered from the run before
        rs.prepare()
        rs.rewrite_terms(roots[:1])  # matchers compiled
        rs.stamp = object()
        rs.rewrite_terms(roots)
        rs.stamp = object()
        gc.collect()
        start = time.process_time()
        new, trace = rs.rewrite_terms(roots)
        seconds = time.process_time() - start
        if seconds < best:
            best, visited, fired = seconds, trace.visited, len(trace)
        del new, trace  # freeing them is not part of the next run
    return {"nodes": n, "seconds": best, "rate": n / best, "visited": visited, "fired": fired, "ratio": visited / n}


def relational_rate(rs: Any, roots: list[Any], limit: int = 60) -> float:
    """Nodes per second when every node asks the relations of all rules."""
    import kanren

    nodes = [t for t in children_first(roots) if t.args][:limit]
    start = time.process_time()
    for t in nodes:
        q = kanren.var()
        kanren.run(1, q, ruleset_relation(rs.rules, t, q, rs.assume))
    return len(nodes) / (time.process_time() - start)


SMALL = ("algebra", "logs", "sigmoids", "inverses", "powers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e3,1e4,1e5")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    sizes = [int(float(s)) for s in options.sizes.split(",")]
    start = time.perf_counter()
    chosen = db.query("+fast_run", "-inplace", "-scan", "-fuse")
    rs = RuleSet([r for r in chosen if r.topic in SMALL], chosen.assume) if options.small else chosen
    print(f"{len(rs)} rules loaded in {time.perf_counter() - start:.3f} s")
    results: dict[str, Any] = {"rules": len(rs)}
    for redexes in (0.0, 0.3):
        for kind in TYPES:
            rows = []
            for n in sizes:
                row = rate(rs, graph(kind, n, redexes))
                rows.append(row)
                print(
                    f"{kind:11s} {redexes:.0%} redexes  N={row['nodes']:7d}  {row['seconds'] * 1e3:8.1f} ms  "
                    f"{row['rate'] / 1e3:7.0f} k nodes/s  visits/N {row['ratio']:.2f}  fired {row['fired']}"
                )
            exponent = _exponent(rows)
            print(f"{'':11s} time exponent {exponent:.2f}")
            results[f"{kind} {redexes}"] = {"rows": rows, "exponent": exponent}
    roots = graph("f64 matrix", 1000, 0.3)
    slow, fast = relational_rate(rs, roots), rate(rs, roots)["rate"]
    print(f"relational: {slow:.0f} nodes/s, compiled: {fast:.0f} nodes/s, ratio {fast / slow:.0f}")
    print(f"matchers compiled in {rs.compile_seconds:.3f} s")
    results["relational"] = {"rate": slow, "ratio": fast / slow}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


def _exponent(rows: list[dict]) -> float:
    if len(rows) < 2:
        return math.nan
    first, last = rows[0], rows[-1]
    return math.log(last["seconds"] / first["seconds"]) / math.log(last["nodes"] / first["nodes"])


if __name__ == "__main__":
    main()

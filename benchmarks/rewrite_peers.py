"""Simplifying graphs: termgraph's rewrite() beside PyTensor's canonicalize, stabilize and specialize. CPU time.

The mixed graph has a third of its operations simplifiable (graphs.py); random DAGs have 30 % redexes or none.
Only rewriting is timed: the graph exists, the rules are loaded and the matchers of its operators compiled. The row
"rule library" says what loading and compiling take, by rewriting another small graph of the same kind first.
"""

import time
from typing import Any

from graphs import dag, mixed
from harness import Also, Case, Suite, Target


def cases(quick: bool) -> list[Case]:
    n = 200 if quick else 10_000
    loading = [] if quick else [Also("rule library", "s", [Target(0.3, "absolute")])]
    made = [
        Case(f"mixed graph N={n}", {"kind": "mixed", "n": n}, "s", targets=[Target(1 / 60, "pytensor")], also=loading)
    ]
    for n in [200] if quick else [1000, 10_000, 100_000]:
        for share in (0.3, 0.0):
            made.append(
                Case(
                    f"random DAG N={n}, {share:.0%} redexes", {"kind": "dag", "n": n, "redexes": share}, "knodes/s", n,
                    [Target(1 / 40, "pytensor")],
                )
            )  # fmt: skip
    return made


SMALL = 300  # operations of the graph that has the library loaded: all the operators there are

suite = Suite("rewrite_peers", cases, kind="once", doc=__doc__)


def outputs(lib: Any, x: Any, y: Any, kind: str, n: int, redexes: float) -> list:
    return [mixed(n)(lib, x, y)] if kind == "mixed" else dag(n, redexes)(lib, x, y)


@suite.side("pytensor")
def pytensor_side(who: str, kind: str, n: int, redexes: float = 0.0) -> dict:
    import pytensor.tensor as pt
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.utils import rewrite_graph

    stages = ("canonicalize", "stabilize", "specialize")

    def rewritten(kind: str, n: int, redexes: float) -> tuple[float, int]:
        x, y = pt.dvector("x"), pt.dvector("y")
        graph = FunctionGraph([x, y], outputs(pt, x, y, kind, n, redexes), clone=True)
        start = time.process_time()
        rewrite_graph(graph, include=stages)
        return time.process_time() - start, len(graph.apply_nodes)

    library = rewritten(kind, SMALL, redexes)[0]
    seconds, nodes = rewritten(kind, n, redexes)
    return {"seconds": seconds, "nodes_left": nodes, "also": {"rule library": library}}


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, n: int, redexes: float = 0.0) -> dict:
    import termgraph as tg
    import termgraph.tensor as T
    from termgraph.terms.traverse import count_nodes

    def rewritten(kind: str, n: int, redexes: float) -> tuple[float, int]:
        x, y = T.dvector("x"), T.dvector("y")
        graph = outputs(T, x, y, kind, n, redexes)
        start = time.process_time()
        found = tg.rewrite(graph)
        return time.process_time() - start, count_nodes([v.term for v in found])

    library = rewritten(kind, SMALL, redexes)[0]
    seconds, nodes = rewritten(kind, n, redexes)
    return {"seconds": seconds, "nodes_left": nodes, "also": {"rule library": library}}


if __name__ == "__main__":
    raise SystemExit(suite.main())

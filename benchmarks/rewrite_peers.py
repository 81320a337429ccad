"""Simplifying graphs: termgraph's rewrite() beside PyTensor's canonicalize, stabilize and specialize. CPU time.

The mixed graph has a third of its operations simplifiable (graphs.py); random DAGs have 30 % redexes or none.
Only rewriting is timed: the graph exists and the rules are loaded (the row "rule library" says what loading takes).
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

    library = rewritten("mixed", 20, 0.0)[0]
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

    library = rewritten("mixed", 20, 0.0)[0]
    seconds, nodes = rewritten(kind, n, redexes)
    return {"seconds": seconds, "nodes_left": nodes, "also": {"rule library": library}}


if __name__ == "__main__":
    raise SystemExit(suite.main())

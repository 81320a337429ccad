"""Where the nodes of a picture go: ranks from top to bottom, few crossings, no two nodes over each other.

Edges over several ranks lead between the boxes in between. Linear in nodes and edges per sweep. Imports nothing of the
package.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

SWEEPS = 6
GAP_X, GAP_Y = 24.0, 56.0
THIN = 6.0  # the width that an edge takes where it passes boxes
MOST_BENDS = 8000  # of all edges together; longer edges are drawn straight

Point = tuple[float, float]
Edges = Sequence[tuple[int, int]]


def routed(
    widths: Sequence[float], edges: Edges, top: Collection[int] = (), bottom: Collection[int] = ()
) -> tuple[list[Point], list[list[Point]]]:
    """The centre of each node, given its width, and for each edge the places where it passes rows of boxes.

    Edges point from what is computed first to what uses it, and from a lower number to a higher one. Nodes of `top`, to
    which nothing leads, stand in the first row, those of `bottom` in the last.
    """
    ranks = _ranks(*_neighbours(len(widths), edges))
    for n in top:
        ranks[n] = 0
    for n in bottom:
        ranks[n] = max(ranks)
    wide, chains, steps = list(widths), _chains(ranks, edges), []
    for (a, b), chain in zip(edges, chains):
        first = len(wide)
        wide += [THIN] * len(chain)
        ranks += chain
        stops = [a, *range(first, len(wide)), b]
        steps += list(zip(stops, stops[1:]))
    places = _placed(wide, steps, ranks)
    bends, start = [], len(widths)
    for chain in chains:
        bends.append(places[start : start + len(chain)])
        start += len(chain)
    return places[: len(widths)], bends


def _chains(ranks: Sequence[int], edges: Edges) -> list[range]:
    """For each edge the ranks it passes; the shortest edges first as long as there are not too many."""
    chains = [range(0)] * len(edges)
    left = MOST_BENDS
    for k in sorted(range(len(edges)), key=lambda k: ranks[edges[k][1]] - ranks[edges[k][0]]):
        a, b = edges[k]
        passed = range(ranks[a] + 1, ranks[b])
        if len(passed) > left:
            break
        chains[k] = passed
        left -= len(passed)
    return chains


def _neighbours(n: int, edges: Edges) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(n)]
    below: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    return above, below


def _placed(widths: Sequence[float], edges: Edges, ranks: Sequence[int]) -> list[Point]:
    above, below = _neighbours(len(widths), edges)
    rows = _rows(ranks)
    x = [0.0] * len(widths)
    for row in rows:
        _pack(row, widths, x, {n: float(k) for k, n in enumerate(row)})
    for sweep in range(SWEEPS):
        near, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            wanted = {n: sum(x[m] for m in near[n]) / len(near[n]) if near[n] else x[n] for n in row}
            _pack(row, widths, x, wanted)
    return [(x[n], rank * GAP_Y) for n, rank in enumerate(ranks)]


def _ranks(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """The longest path from a start; what nothing leads to stands just above its first use."""
    rank = [0] * len(above)
    for n, sources in enumerate(above):
        rank[n] = max((rank[m] + 1 for m in sources), default=0)
    for n in reversed(range(len(above))):
        if not above[n] and below[n]:
            rank[n] = min(rank[m] for m in below[n]) - 1
    return rank


def _rows(ranks: Sequence[int]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for n, rank in enumerate(ranks):
        rows[rank].append(n)
    return rows


def _pack(row: list[int], widths: Sequence[float], x: list[float], wanted: dict[int, float]) -> None:
    """Put a row in the order of the wanted places, as near to them as widths allow."""
    row.sort(key=lambda n: (wanted[n], n))
    blocks: list[tuple[list[int], float, float]] = []  # nodes, width, sum over nodes of (wanted place - own offset)
    for n in row:
        nodes, width, pull = [n], widths[n] + GAP_X, wanted[n] - (widths[n] + GAP_X) / 2
        while blocks and _start(blocks[-1]) + blocks[-1][1] > pull / len(nodes):  # touches the block before: join
            before, before_width, before_pull = blocks.pop()
            pull = before_pull + pull - before_width * len(nodes)
            nodes, width = before + nodes, before_width + width
        blocks.append((nodes, width, pull))
    for block in blocks:
        at = _start(block)
        for n in block[0]:
            x[n] = at + (widths[n] + GAP_X) / 2
            at += widths[n] + GAP_X


def _start(block: tuple[list[int], float, float]) -> float:
    return block[2] / len(block[0])

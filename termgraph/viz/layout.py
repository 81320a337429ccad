"""Where the nodes of a picture go: ranks from top to bottom, few crossings, no two nodes over each other.

Linear in nodes and edges per sweep. Imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Sequence

SWEEPS = 6
GAP_X, GAP_Y = 24.0, 56.0


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    """The centre of each node, given its width; edges point from what is computed first to what uses it.

    Nodes must be numbered so that every edge goes from a lower number to a higher one.
    """
    above: list[list[int]] = [[] for _ in widths]
    below: list[list[int]] = [[] for _ in widths]
    for a, b in edges:
        above[b].append(a)
        below[a].append(b)
    rows = _rows(_ranks(above, below))
    x = [0.0] * len(widths)
    for row in rows:
        _pack(row, widths, x, {n: float(k) for k, n in enumerate(row)})
    for sweep in range(SWEEPS):
        near, order = (above, rows) if sweep % 2 == 0 else (below, rows[::-1])
        for row in order:
            wanted = {n: sum(x[m] for m in near[n]) / len(near[n]) if near[n] else x[n] for n in row}
            _pack(row, widths, x, wanted)
    return [(x[n], depth * GAP_Y) for n, depth in sorted((n, k) for k, row in enumerate(rows) for n in row)]


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


__all__ = ["layered"]

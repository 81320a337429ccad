"""A flat, versioned byte format for graphs of any depth: what pickles of terms hold. Files have `records` instead.

One record per node in children-first order; ops, types and constants travel in side tables by pickle of plain data.
"""

from __future__ import annotations

import copyreg
import pickle
import struct
from array import array
from collections.abc import Sequence
from typing import Any

from termgraph.terms.errors import GraphError
from termgraph.terms.term import AnyTerm, Term, mk
from termgraph.terms.traverse import children_first

MAGIC = b"tgraph1\n"


def dumps_flat(roots: Sequence[Any]) -> bytes:
    """The graph under the roots as bytes."""
    heads, leaves, numbers, n_nodes, stream = flat_parts(roots)
    side = pickle.dumps((heads, leaves, numbers), protocol=5)
    return MAGIC + struct.pack("<qq", len(side), n_nodes) + side + stream


def flat_parts(roots: Sequence[Any]) -> tuple[list[Any], list[Any], list[int], int, bytes]:
    """The graph as plain data for another pickle: heads, leaves, numbers of the roots, how many nodes, the stream."""
    order = children_first(roots)
    number = {id(t): i for i, t in enumerate(order)}
    heads: dict[Any, int] = {}
    leaves: list[Any] = []
    stream = array("q")  # per node: -1 for a leaf, else head index, argument count, arguments
    for t in order:
        if t.__class__ is Term:
            stream.append(heads.setdefault(t.op, len(heads)))
            stream.append(len(t.args))
            stream.extend([number[id(a)] for a in t.args])
        else:
            stream.append(-1)
            leaves.append(t)
    return list(heads), leaves, [number[id(r)] for r in roots], len(order), stream.tobytes()


def loads_roots(data: bytes) -> list[Any]:
    """The roots of a graph written by `dumps_flat`."""
    if not data.startswith(MAGIC):
        raise GraphError(f"not a graph of this version: starts with {data[:8]!r}, expected {MAGIC!r}")
    start = len(MAGIC) + 16
    n_side, n_nodes = struct.unpack("<qq", data[len(MAGIC) : start])
    heads, leaves, roots = pickle.loads(data[start : start + n_side])
    return from_flat_parts(heads, leaves, roots, n_nodes, data[start + n_side :])


def from_flat_parts(heads: list[Any], leaves: list[Any], roots: list[int], n_nodes: int, raw: bytes) -> list[Any]:
    """The inverse of `flat_parts`: the roots."""
    stream = array("q")
    stream.frombytes(raw)
    nodes: list[Any] = []
    next_leaf = iter(leaves)
    i = 0
    for _ in range(n_nodes):
        head = stream[i]
        if head < 0:
            nodes.append(next(next_leaf))
            i += 1
            continue
        stop = i + 2 + stream[i + 1]
        nodes.append(mk(heads[head], tuple([nodes[j] for j in stream[i + 2 : stop]])))
        i = stop
    return [nodes[r] for r in roots]


def loads_flat(data: bytes, which: int) -> AnyTerm:
    """One root of a stored graph; what unpickling a term calls."""
    root: AnyTerm = loads_roots(data)[which]
    return root


def _reduced(term: Term) -> tuple[Any, ...]:
    return loads_flat, (dumps_flat([term]), 0)


copyreg.pickle(Term, _reduced)

"""Classes of equal terms: union-find over nodes whose operands are classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from termgraph.terms.term import AnyTerm, Term, mk
from termgraph.terms.traverse import children_first, work_out

Node = tuple[Any, tuple[int, ...]]  # an op and the classes of its operands; a leaf and none


class Classes:
    """The classes, and the cheapest node of each: `price(term)` is what its root costs, leaves cost nothing."""

    def __init__(self, price: Callable[[Any], float]) -> None:
        self.price = price
        self.parent: list[int] = []
        self.nodes: list[dict[Node, None]] = []
        self.where: dict[Node, int] = {}
        self.known: dict[Any, int] = {}  # terms that were added
        self.prices: dict[Node, float] = {}
        self.best: list[tuple[float, Node]] = []
        self.terms: dict[int, Any] = {}  # the cheapest of each class, since it last settled

    def size(self) -> int:
        """How many nodes there are."""
        return len(self.where)

    def find(self, c: int) -> int:
        """The class that a class has become."""
        while self.parent[c] != c:
            self.parent[c] = c = self.parent[self.parent[c]]
        return c

    def add(self, term: AnyTerm) -> int:
        """The class of a term, which gets one if it is new."""
        for t in children_first([term]):
            if t in self.known:
                continue
            operands = tuple([self.find(self.known[a]) for a in t.args])
            node = (t.op if t.__class__ is Term else t, operands)
            c = self.where.get(node)
            if c is None:
                c = self.where[node] = len(self.parent)
                self.parent.append(c)
                self.nodes.append({node: None})
                self.prices[node] = self.price(t) if t.args else 0.0
                cost = self.prices[node] + sum([self.best[a][0] for a in operands])
                self.best.append((cost, node))
                self.terms[c] = t
            self.known[t] = c
        return self.find(self.known[term])

    def join(self, c: int, term: AnyTerm) -> bool:
        """Put a term into a class; whether it was in another one."""
        a, b = sorted((self.find(c), self.add(term)))
        if a == b:
            return False
        self._merge(a, b)
        return True

    def _merge(self, a: int, b: int) -> None:
        self.parent[b] = a
        self.nodes[a].update(self.nodes[b])
        self.nodes[b] = {}
        if self.best[b][0] < self.best[a][0]:
            self.best[a] = self.best[b]
            self.terms.pop(a, None)
            if b in self.terms:
                self.terms[a] = self.terms[b]

    def settle(self) -> None:
        """Equal operands make equal nodes: join their classes, as long as there are any; then find what is cheapest."""
        while self._joined_again():
            pass
        self._choose()

    def _joined_again(self) -> bool:
        where: dict[Node, int] = {}
        prices: dict[Node, float] = {}
        again = False
        for node, c in self.where.items():
            op, operands = node
            new = (op, tuple([self.find(a) for a in operands]))
            c, other = self.find(c), where.get(new)
            prices[new] = min(self.prices[node], prices.get(new, self.prices[node]))
            if other is None:
                where[new] = c
            elif self.find(other) != c:
                self._merge(*sorted((self.find(other), c)))
                again = True
        self.where, self.prices = where, prices
        for members in self.nodes:
            members.clear()
        for node, c in where.items():
            self.nodes[self.find(c)][node] = None
        return again

    def _choose(self) -> None:
        """The cheapest node of each class: costs only fall, until none does."""
        costs: dict[int, tuple[float, Node]] = {}
        moving = True
        while moving:
            moving = False
            for node, c in self.where.items():
                c = self.find(c)
                below = [costs.get(a) for a in node[1]]
                if None in below:
                    continue
                cost = self.prices[node] + sum([b[0] for b in below if b is not None])
                if c not in costs or cost < costs[c][0]:
                    costs[c] = (cost, node)
                    moving = True
        for c, found in costs.items():
            self.best[c] = found
        self.terms.clear()

    def members(self) -> Iterator[tuple[int, Node]]:
        """The nodes that there are now, with their classes."""
        yield from [(c, node) for c, nodes in enumerate(self.nodes) for node in nodes]

    def cheapest(self, c: int) -> Any:
        """The cheapest term of a class."""

        def operands(at: int) -> list[int]:
            return [self.find(a) for a in self.best[at][1][1]]

        def made(at: int) -> Any:
            op, args = self.best[at][1][0], tuple([self.terms[a] for a in operands(at)])
            return mk(op, args) if args else op

        return work_out(self.terms, self.find(c), operands, made)

    def forms(self, c: int, most: int) -> list[Any]:
        """Terms of a class: the cheapest first, then one for each other node."""
        c = self.find(c)
        found = [self.cheapest(c)]
        for op, operands in self.nodes[c]:
            if len(found) >= most:
                break
            args = tuple([self.cheapest(a) for a in operands])
            t = mk(op, args) if args else op
            if t not in found:
                found.append(t)
        return found

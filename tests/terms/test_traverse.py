"""Orders of graphs: walked once while they are kept, and never shared with who changes them."""

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms import traverse
from termgraph.terms.traverse import children_first, orders_kept


def chain(length):
    x = T.dvector("x")
    y = x
    for _ in range(length):
        y = T.tanh(y) * x
    return x, y


def counted(monkeypatch):
    walks = []
    real = traverse._children_first
    monkeypatch.setattr(traverse, "_children_first", lambda roots: walks.append(1) or real(roots))
    return walks


def test_a_large_graph_is_walked_once_while_orders_are_kept(monkeypatch):
    _, y = chain(100)
    walks = counted(monkeypatch)
    first = children_first([y.term])
    with orders_kept():
        for _ in range(3):
            again = children_first(iter([y.term]))
            assert again == first
            again.clear()  # a copy
    assert len(walks) == 2 and children_first([y.term]) == first and len(walks) == 3


def test_few_orders_are_kept(monkeypatch):
    _, y = chain(100)
    roots = [[y.term]]
    while len(roots) < 2 * traverse._MOST:
        roots.append([*roots[-1], y.term])
    with orders_kept():
        for r in roots:
            children_first(r)
        assert len(traverse._KEPT.orders) == traverse._MOST
    assert traverse._KEPT.orders is None


def test_compiling_walks_a_graph_a_few_times_whoever_asks(monkeypatch):
    """Capturing, checking, naming for the cache: thirteen walks of a warm start were of three lists of roots."""
    x, y = chain(100)
    g = tg.grad(y.sum(), x)
    walks = counted(monkeypatch)
    tg.function([x], g, mode=tg.Mode(optimizer=None, linker="py"))
    assert len(walks) <= 8

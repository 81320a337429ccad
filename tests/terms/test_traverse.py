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
    assert g.owner is not None  # gradients wait until they are looked at
    mode = tg.Mode(optimizer=None, linker="py")
    tg.function([(small := chain(3))[0]], small[1], mode=mode)  # what is walked once in a process
    walks = counted(monkeypatch)
    tg.function([x], g, mode=mode)
    assert len(walks) <= 8


MADE_OF = {"top": "ab", "a": "xy", "b": "yz", "x": "", "y": "z", "z": ""}


def below(part):
    return MADE_OF[part]


def test_walks_meet_each_part_once_from_left_to_right():
    assert traverse.users_first(["top"], below) == ["top", "a", "x", "y", "z", "b"]
    assert traverse.parts_first(["top"], below) == ["x", "z", "y", "a", "b", "top"]
    assert traverse.users_first("bz", below) == ["b", "y", "z"] and traverse.parts_first("zb", below) == ["z", "y", "b"]


def test_a_region_and_its_edge():
    inside, edge = traverse.region(["top"], lambda part: part in ("top", "a"), below)
    assert inside == ["top", "a"] and edge == ["x", "y", "b"]


def test_each_part_is_worked_out_once():
    known, asked = {"z": 5}, []

    def rule(part):
        asked.append(part)
        return 1 + sum(known[p] for p in MADE_OF[part])

    assert traverse.work_out(known, "top", below, rule) == 21
    assert sorted(asked) == ["a", "b", "top", "x", "y"]
    assert traverse.work_out(known, "a", below, rule) == 8 and len(asked) == 5


def test_a_path_down():
    assert traverse.path_down(["top"], lambda part: part == "x", below) == ["top", "a", "x"]
    assert traverse.path_down(["b", "top"], lambda part: part == "w", below) == []


def test_walks_are_as_deep_as_graphs():
    deep = lambda n: [n - 1] if n else []  # noqa: E731
    assert traverse.parts_first([10**5], deep)[-1] == traverse.users_first([10**5], deep)[0] == 10**5
    assert traverse.work_out({}, 10**5, deep, lambda n: n) == 10**5


def test_what_has_one_key_in_the_order_of_the_pairs():
    assert traverse.grouped((len(word), word) for word in ("b", "aa", "a")) == {1: ["b", "a"], 2: ["aa"]}

"""Loops that are alike are planned once: what is copied is the tree that planning would have made."""

from lower.randomgraphs import Graphs
from lower.test_depth import lowered

import termgraph.tensor as T
from termgraph.lower.lengths.index import Poly, Var
from termgraph.lower.loops import like_before, plan
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import Kernel, Node
from termgraph.lower.lowering import lower
from termgraph.lower.push.kernel import Buf
from termgraph.terms.op import ARG
from termgraph.terms.ops.elementwise import add
from termgraph.terms.ops.reduce import cumsum
from termgraph.terms.term import Arg, mk
from termgraph.terms.traverse import substitute


def described(nodes):
    """A tree with all its fields, the objects in it by identity or by what they are interned by."""
    return [(type(n).__name__, [_shown(getattr(n, name)) for name in n.__dataclass_fields__]) for n in nodes]


def _shown(value):
    if isinstance(value, Node):
        return described([value])
    if isinstance(value, (list, tuple)):
        return [_shown(v) for v in value]
    return value if isinstance(value, (Buf, Poly, Var, bool, int, str, type(None))) else repr(value)


def trees(outputs, monkeypatch):
    """The tree of a program planned loop by loop, the one with copies, and how many loops were copied."""
    copied, copy = [], like_before.LikeBefore.copied
    monkeypatch.setattr(
        like_before.LikeBefore, "copied", lambda self, like: copied.append(found := copy(self, like)) or found
    )
    found = []
    for many in (10**9, 1):
        monkeypatch.setattr(plan, "MANY_LOOPS", many)
        copied.clear()
        made = lower(outputs)
        found.append(described(made.nodes))
    return *found, sum(k is not None for k in copied)


def layers(seed, count=4):
    """A random graph, and the same over arguments to which running sums of the layer before are added."""
    g = Graphs(5000 + seed).grow(4 + seed % 8)
    outputs, float_args = list(g.outputs()), [(t, dims) for t, dims in g.pool if t.op is ARG and dims]
    made = list(outputs)
    last = dict(g.pool[::-1])
    for k in range(1, count):
        other = {a: Arg(a.index + k * len(g.args), a.type) for a in g.args}
        for a, dims in float_args:
            before = next(t for t, d in reversed(g.pool) if d == dims)
            before = last.get(before, before) if k > 1 else before
            other[a] = mk(add, (other[a], mk(cumsum.bind(axis=len(dims) - 1), (before,))))
        pool = [t for t, _ in g.pool]
        last = dict(zip(pool, substitute(pool, other)))
        made += substitute(outputs, other)
    return made


def test_copies_are_what_planning_makes(monkeypatch):
    total = 0
    for seed in range(12):
        one_by_one, with_copies, copied = trees(layers(seed), monkeypatch)
        assert one_by_one == with_copies, seed
        total += copied
    assert total > 30, total


def test_equal_layers_are_planned_once(monkeypatch):
    planned, real = [], Planner.loop
    monkeypatch.setattr(Planner, "loop", lambda self, *given: planned.append(given) or real(self, *given))
    counts, kernels = [], []
    for layers in (6, 12):
        planned.clear()
        kernels.append(sum(isinstance(n, Kernel) for n in lowered(layers).nodes))
        counts.append(len(planned))
    assert kernels[1] > 1.8 * kernels[0] and counts[0] == counts[1], (kernels, counts)


def _key(x, inputs):
    """What tells the loop of the last statement of a program from others."""
    args = {v.term: Arg(i, v.term.type) for i, v in enumerate(inputs)}
    made = lower(substitute([x.term], args)).statements
    return like_before.LikeBefore(made.scalars).read([], made.stores[-1:], set()).key


def test_what_tells_loops_apart():
    """Operations, dtypes, lengths, layouts, the order of operands, whether one array is read twice."""
    f, g, c = (T.tensor(name, dtype="float32", shape=(16, 8)) for name in "fgc")
    d, h = T.tensor("d", dtype="float64", shape=(16, 8)), T.tensor("h", dtype="float32", shape=(16, 9))
    several = [
        f * g, f * f, f + g, f - g, d * d, h * h, T.exp(f) * g, f * T.exp(g), f[::2] * g[1::2], f[::-1] * g,
        T.where(f > 0, f, g), T.where(f > 0, g, f), (f * g).sum(0), (f * g).sum(1), T.max(f * g, 1), f * 2, f * 3,
    ]  # fmt: skip
    keys = [_key(x, (f, g, d, h, c)) for x in several]
    assert len(set(keys)) == len(keys)
    assert _key(f * g, (f, g, c)) == _key(g * c, (f, g, c)) == _key(g * f, (g, f, c))

"""Cloning with replacements, comparing graphs, updates, the ancestors' module names (FEATURES 3.4, 10, 38)."""

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.printing import pp
from termgraph.tensor import origins


def test_f38_clone_plugs_graphs_together():
    x, y, z = T.dvectors("xyz")
    mid = x + y
    out = T.exp(mid) * x
    assert pp(tg.clone(out, replace={mid: z})) == "exp(z) * x"
    assert pp(tg.clone(out, replace={x: T.sin(z)})) == "exp(sin(z) + y) * sin(z)"
    a, b = tg.clone([out, mid], replace=[(y, z)])
    assert a.owner.inputs[0].owner.inputs[0] is b
    assert tg.clone(out).term is out.term
    with pytest.raises(TypeError, match="cannot be replaced"):
        tg.clone(out, replace={mid: T.dmatrix("m")})


def test_clone_resolves_placeholders_bound_later():
    x, y = T.dvectors("xy")
    hole = T.Variable(type=T.dvector)
    out = T.exp(hole)
    T.Apply(T.add, [x, y], [hole])
    assert tg.clone(out, replace={y: x}).term is T.exp(x + x).term


def test_f10_equal_computations_up_to_the_inputs():
    x, y, a, b = T.dvectors("xyab")
    assert tg.equal_computations([x + T.exp(y)], [a + T.exp(b)], [x, y], [a, b])
    assert not tg.equal_computations([x + T.exp(y)], [a + T.exp(b)], [y, x], [a, b])
    assert not tg.equal_computations([x + y], [a + b])


def test_f3_apply_has_its_old_module_names():
    from termgraph import gof
    from termgraph.graph import basic

    assert gof.Apply is gof.graph.Apply is basic.Apply is T.Apply is tg.Apply


def test_ordered_updates_refuse_two_values_and_join():
    w, b = tg.shared(0.0, name="w"), tg.shared(1.0, name="b")
    u = T.OrderedUpdates({w: w + 1}) + {b: 2.0}
    assert list(u) == [w, b]
    with pytest.raises(KeyError, match="updated twice"):
        u + {w: w + 2}
    with pytest.raises(TypeError, match="only shared"):
        T.OrderedUpdates({T.dscalar("x"): 1})


def test_gradients_by_many_weights_were_made_from_one_list():
    """Otherwise what they were made from is looked through once for each of them: the square of their number."""
    weights = [tg.shared(float(i)) for i in range(5)]
    slopes = tg.grad(sum((w * w for w in weights), T.dscalar("x")), weights)
    assert len({id(origins._origins[g]) for g in slopes}) == 1
    assert origins.original_inputs(slopes[:1]) >= set(weights)

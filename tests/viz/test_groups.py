"""Boxes with a graph inside: kernels of compiled functions, branches of choices, and what rules made of a node."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.viz.scene import scenes_of

NATIVE = tg.Mode(linker="auto")


def ops(scene):
    return [n.label for n in scene.nodes if n.kind == "op"]


def boxes(scenes):
    return len(scenes[0].nodes)


def test_f15_2_the_picture_of_a_compiled_function_is_not_larger():
    a, x = T.dvector("a"), T.dmatrix("x")
    for inputs, graph in (([a], a + a**10), ([a], T.log(1 + T.exp(a)).sum()), ([x], T.nnet.softmax(T.dot(x, x.T) * 2))):
        assert boxes(scenes_of(tg.function(inputs, graph, mode=NATIVE))) <= boxes(scenes_of(graph))


def test_a_kernel_has_its_operations_inside():
    a = T.dvector("a")
    f = tg.function([a], a + a**10, mode=NATIVE)
    if not f.maker.work.in_c:
        pytest.skip("there is no C compiler")
    outer, inside = scenes_of(f)
    assert [n.kind for n in outer.nodes] == ["input", "kernel", "output"] and outer.nodes[1].inner == 1
    assert sorted(ops(inside)) == sorted(node.op.name for node in f.maker.fgraph.toposort())
    assert inside.nodes[inside.inlets[0]].label == "a" and len(inside.outlets) == 1


def test_machine_kernels_and_single_operations():
    x = T.dmatrix("x")
    f = tg.function([x], T.unique(x) * 2 + T.exp(x).sum(), mode=NATIVE)
    outer = scenes_of(f)[0]
    assert "unique" in ops(outer)
    every = [n.kind for n in outer.nodes]
    assert every.count("kernel") == (2 if f.maker.work.in_c else 0)


def test_branches_hold_what_only_they_need():
    a, i = T.dvector("a"), T.iscalar("i")
    common = T.cos(a)
    inner = tg.ifelse(i < -5, T.sin(a) * 3, T.log(a) - common)
    scenes = scenes_of(tg.ifelse(i > 0, T.exp(a) * 2 + common, inner))
    outer = scenes[0]
    assert {"cos", "ifelse"} <= set(ops(outer)) and not {"exp", "sin", "log"} & set(ops(outer))
    then, other = [scenes[n.inner] for n in outer.nodes if n.kind == "branch"]
    assert "exp" in ops(then) and "ifelse" in ops(other) and "log" not in ops(other)
    innermost = [ops(scenes[n.inner]) for n in other.nodes if n.kind == "branch"]
    assert ["sin" in found for found in innermost] == [True, False] and "log" in innermost[1]


def test_rule_history_is_that_of_the_node():
    x = T.dvector("x")
    f = tg.function([x], T.log(1 + T.exp(x)), mode=NATIVE)
    scenes = scenes_of(f)
    made = next(n for scene in scenes for n in scene.nodes if n.label == "softplus")
    names = []
    number = made.rule
    while number >= 0:
        names.append(scenes.rules.records[number].rule)
        number = scenes.rules.records[number].before
    assert names[0] == "logs.log1p_exp" and "logs.log1p" in names
    plain = tg.function([x], T.sin(x), mode=NATIVE)
    assert [n.rule for n in scenes_of(plain)[0].nodes] == [-1, -1, -1]


def test_nothing_and_one_thing_are_drawn(tmp_path):
    x = T.dscalar("x")
    assert len(scenes_of([])[0].nodes) == 0 and len(scenes_of(x)[0].nodes) == 2
    for graph in ([], x, T.constant(np.zeros((400, 400)))):
        assert "<canvas" in tg.viz.d3viz(graph, tmp_path / "g.html").read_text(encoding="utf-8")
    assert (tmp_path / "g.html").stat().st_size < 60_000
    assert tg.viz.to_svg([]).startswith("<svg")

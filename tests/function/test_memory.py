"""f.memory(): what a call holds, when, and in which room; sizes follow the lengths of arguments."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.memory.plan import LINE

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"


def net(layers=5, width=16, batch=8):
    weights = [tg.shared(np.full((width, width), 0.1, "float32"), name=f"w{k}") for k in range(layers)]
    x = h = T.tensor("x", dtype="float32", shape=(None, width))
    for w in weights:
        h = T.tanh(h @ w)
    loss = (h * h).mean()
    return tg.function([x], [loss, *tg.grad(loss, weights)], name="step"), np.ones((batch, width), "float32")


def loops():
    x = T.dmatrix("x")
    outs = tg.scan(lambda a, c: T.tanh(c @ a) + c.sum(axis=0), sequences=x.dimshuffle(0, 1, "x") * T.ones((1, 1, 3)),
                   outputs_info=[T.ones((2, 3))])[0]  # fmt: skip
    return tg.function([x], outs.sum(axis=0)), np.ones((4, 3))


def choice():
    x = T.tensor("x", dtype="float64", shape=(6, 6))
    return tg.function([x], tg.ifelse(x.sum() > 0, x @ x, (x - 1) @ x) + 1), np.ones((6, 6))


@pytest.mark.parametrize("made", [net, loops, choice])
def test_arrays_in_one_room_are_never_alive_together(made):
    f, x = made()
    f(x)
    plan = f.memory(x)
    assert plan.peak == plan.results + plan.temporaries and len(plan.alive) == len(plan.steps) > 0
    for k, nbytes in enumerate(plan.rooms):
        inside = sorted([a for a in plan.arrays if a.room == k], key=lambda a: a.first)
        assert nbytes == max(a.offset + a.nbytes for a in inside)
        own = [a for a in inside if a.kind == "temporary"]
        for a, b in combinations(own, 2):
            together = a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
    results = {a.name: a for a in plan.arrays if a.kind == "result"}
    guests = [a for a in plan.arrays if a.host]
    assert all(a.last < results[a.host].first and a.offset + a.nbytes <= results[a.host].nbytes - LINE for a in guests)
    for a, b in combinations(guests, 2):
        if a.host == b.host and a.first <= b.last and b.first <= a.last:  # alive together: side by side
            assert a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
    for k, alive in enumerate(plan.alive):
        assert alive == sum(a.nbytes for a in plan.arrays if a.first <= k <= a.last) <= plan.peak
    assert plan.alive[plan.busiest] == max(plan.alive)


def test_bytes_are_those_of_the_arrays():
    f, x = net(layers=3, width=16, batch=8)
    plan, double = f.memory(x), f.memory(np.ones((16, 16), "float32"))
    assert plan.results == double.results == 4 + 3 * 16 * 16 * 4
    assert double.temporaries == 2 * plan.temporaries and plan.temporaries % (8 * 16 * 4) == 0
    assert {a.nbytes for a in plan.arrays if a.kind == "temporary"} == {8 * 16 * 4}
    assert all(int(np.prod(a.shape)) * np.dtype(a.dtype).itemsize == a.nbytes for a in plan.arrays)
    assert len(plan.rooms) < sum(a.kind == "temporary" for a in plan.arrays)


def test_a_deeper_net_needs_more_rooms():
    one, other = (net(layers=n) for n in (3, 12))
    assert len(other[0].memory(other[1]).rooms) > len(one[0].memory(one[1]).rooms)


def known_net(layers=6, width=16, batch=8, mode=None):
    """The same with known lengths: gradients are larger than what is kept for them."""
    rng = np.random.default_rng(0)
    weights = [tg.shared(rng.standard_normal((width, width)).astype("float32")) for _ in range(layers)]
    x = h = T.tensor("x", dtype="float32", shape=(batch, width))
    for w in weights:
        h = T.tanh(h @ w) + 0.1 * h[:, ::-1]
    loss = (h * h).mean()
    value = rng.standard_normal((batch, width)).astype("float32")
    return tg.function([x], [loss, *tg.grad(loss, weights)], mode=mode), value


def test_temporaries_lie_in_results_that_are_written_later():
    f, x = known_net()
    plan = f.memory()
    assert any(a.host for a in plan.arrays)
    plain, _ = known_net(mode=tg.Mode().excluding("inplace"))
    apart = plain.memory()
    assert not any(a.host for a in apart.arrays) and apart.temporaries > 1.5 * plan.temporaries
    for one, other in zip(f(x), plain(x)):
        np.testing.assert_array_equal(one, other)


def test_what_is_written_over_old_values_takes_no_memory():
    w, x = tg.shared(np.zeros((50, 50))), T.dmatrix("x")
    f = tg.function([x], [], updates=[(w, w + x)])
    assert f.memory(np.ones((50, 50))).peak == 0
    g = tg.function([x], [], updates=[(w, w + x)], mode=tg.Mode().excluding("inplace"))
    assert g.memory(np.ones((50, 50))).results == 20000


def test_the_table_and_the_picture():
    f, x = net()
    plan = f.memory(x)
    text = str(plan)
    assert text.startswith("function 'step': a call holds ") and "tanh(dot(x, w0))" in text
    assert f"in {len(plan.rooms)} rooms" in text and repr(plan).startswith("<memory of function 'step'")
    root = ElementTree.fromstring(plan.svg())
    boxes = [e for e in root if e.tag.endswith("rect")]
    assert len(boxes) == len(plan.arrays)
    for box in boxes:
        low, high = float(box.attrib["y"]), float(box.attrib["height"])
        assert low >= -0.2 and low + high <= 240.2
    assert "<svg" in plan._repr_html_() and "<pre" in plan._repr_html_()


def test_nothing_held():
    x = T.dscalar("x")
    plan = tg.function([x], [], on_unused_input="ignore").memory()
    assert plan.peak == 0 and plan.busiest == 0 and "holds 0 bytes" in str(plan)
    ElementTree.fromstring(plan.svg())


def test_what_cannot_be_told_is_an_error():
    x, n = T.dmatrix("x"), T.lscalar("n")
    f = tg.function([x], x @ x)
    with pytest.raises(ValueError, match=r"lengths of x are not known"):
        f.memory()
    with pytest.raises(TypeError, match="takes 1 arguments, memory"):
        f.memory(1, 2)
    with pytest.raises(ValueError, match="one C program"):
        tg.function([x], x + 1, mode=tg.Mode(linker="py")).memory(np.ones((2, 2)))
    with pytest.raises(ValueError, match="the value of n is not known"):
        tg.function([n], T.zeros((n, 3)) + 1).memory()
    with pytest.raises(ValueError, match="its length is computed from values"):
        tg.function([x], T.zeros(((x > 0).sum(), 3)) + 1).memory(np.ones((2, 2)))


def test_numbers_that_lengths_depend_on_are_taken_from_the_arguments():
    n, shape = T.lscalar("n"), T.lvector("shape")
    f = tg.function([n, shape], T.cumsum(T.ones((n, 3)), axis=0).sum(axis=1) @ T.ones((shape[-1], n)).sum(axis=0))
    small, large = f.memory(7, np.array([1, 5])), f.memory(700, np.array([1, 5]))
    assert 50 * small.peak < large.peak < 200 * small.peak


def test_a_warm_start_tells_the_same(tmp_path):
    code = """
import numpy as np, termgraph as tg, termgraph.tensor as T
x = T.tensor("x", dtype="float64", shape=(None, 16))
f = tg.function([x], T.tanh(T.tanh(x @ np.ones((16, 16))) @ np.ones((16, 16))))
print(f.maker.work.warm)
print(f.memory(np.ones((8, 16))))
"""
    given = {**os.environ, "TERMGRAPH_FLAGS": f"cache.dir={tmp_path}"}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code], env=given, capture_output=True, text=True, timeout=300, check=True
        ).stdout.partition("\n")
        for _ in range(2)
    )
    assert (first[0], second[0]) == ("False", "True")
    assert first[2] == second[2] and "holds" in first[2]

"""Element-wise results over joined arrays: a loop per part, no choice inside, nothing costly computed twice."""

import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.lower.loops.tree import Branch, show, walk
from termgraph.lower.lowering import lower
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"

x, y, v, w = T.dmatrix("x"), T.dmatrix("y"), T.dvector("v"), T.dvector("w")

# A result, and how often C computes exp and the like for it.
CASES = {
    "one array twice": (T.exp(T.concatenate([x, x], 1)), 1),
    "two arrays": (T.exp(T.concatenate([x, y], 1)), 2),
    "rows": (2 * T.concatenate([x, y, x], 0) + 1, 0),
    "vectors": (T.sqrt(abs(T.concatenate([v, w, v[:3]]))), 0),
    "a new last axis": (T.exp(T.stack([x, y], 2) * 2), 2),
    "a new first axis": (T.stack([v, v * 2, w[: v.shape[0]]]) - v, 0),
    "with a whole array": (T.concatenate([x, y], 1) * T.concatenate([y, x], 1), 0),
    "joined at other places": (T.concatenate([x, y], 1) * T.concatenate([y[:, :2], x, y[:, 2:]], 1), 0),
    "costly operands": (T.tanh(T.concatenate([T.exp(x), y], 1) + 1), 3),
    "a costly operand of a whole row": (T.concatenate([x, y], 1) * T.exp(v)[:, None], 1),
    "seen in two directions": (T.tanh(T.concatenate([T.exp(x), T.exp(x)[:, ::-1]], 1)), 3),
    "a part that is whole": (T.tanh(T.exp(T.concatenate([x, x], 1)) + T.concatenate([x, x], 1)), 2),
    "a join in a join": (T.exp(T.concatenate([T.concatenate([x, y], 1), x], 1)), 2),
    "promised lengths": (T.exp(T.specify_shape(T.concatenate([x, y], 1), (None, x.shape[1] + y.shape[1]))), 2),
    "without a column": (T.delete(T.concatenate([x, x], 1), 0, axis=1), 0),
    "other dtypes": (T.concatenate([T.cast(x, "float32"), T.cast(y, "int64")], 1) > 0, 0),
}
COSTLY = re.compile(r"\b(?:tg_)?(?:own_)?(?:exp|tanh)\w*\(")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(5, 7, 4), (1, 1, 1), (3, 3, 3), (4, 6, 0), (0, 3, 3)], ids=str)
def test_values_are_those_of_numpy(name, shape):
    output, _ = CASES[name]
    rng, (n, a, b) = np.random.default_rng(3), shape
    if name in ("rows", "a new last axis", "seen in two directions", "joined at other places"):
        b = a
    values = {"x": rng.normal(size=(n, a)), "y": rng.normal(size=(n, b)), "v": rng.normal(size=n)}
    values["w"] = rng.normal(size=n + 2)
    given = {name: values[name] for name in "xyvw"}
    wanted = tg.function([x, y, v, w], output, mode=tg.Mode(linker="py"), on_unused_input="ignore")(**given)
    found = tg.function([x, y, v, w], output, on_unused_input="ignore")(**given)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in CASES if name != "joined at other places"])
def test_no_loop_chooses_and_nothing_costly_is_computed_twice(name):
    output, calls = CASES[name]
    f = tg.function([x, y, v, w], output, on_unused_input="ignore")
    text = f.source("c").partition("static void kernel0")[2]
    assert " ? " not in text.partition("tg_plan")[0] and "if (i" not in text
    assert len(COSTLY.findall(text)) == calls


def test_many_parts_of_long_expressions_stay_one_loop():
    parts = [v * k for k in range(40)]
    output = T.concatenate(parts)
    for k in range(10):
        output = T.sin(output) + k
    leaf = Arg(0, TensorType.of("float64", (None,)))
    nodes = lower(substitute([output.term], {v.term: leaf})).nodes
    assert any(isinstance(n, Branch) for n in walk(nodes)) or "pick" in show(nodes)
    f = tg.function([v], output)
    given = np.linspace(0, 1, 5)
    np.testing.assert_allclose(f(given), tg.function([v], output, mode=tg.Mode(linker="py"))(given), rtol=1e-12)


def test_what_a_part_and_others_need_is_stored_not_computed_in_each_fold(rng):
    """The arm of the choice between the parts is one for all steps of a fold over them, which takes it up each time."""
    n = 50
    a, b = (T.tensor(name, "float64", shape=(n,)) for name in "ab")
    parts = T.stack([b, T.gammaln(a)])
    most = T.max(parts, axis=0)
    outputs = [most + T.log(T.sum(T.exp(parts - most), axis=0)), T.exp(parts), T.gammaln(a) * b]
    f = tg.function([a, b], outputs)
    text = f.source("c").partition("static void kernel0")[2]
    assert text.count("tg_gammaln_f64(") == 1  # both folds are written out, so that one loop makes all
    given = rng.uniform(1, 5, n), rng.normal(size=n)
    for found, wanted in zip(f(*given), tg.function([a, b], outputs, mode=tg.Mode(linker="py"))(*given)):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT", "FAST_COMPILE", "None"])
def test_a_join_of_nothing_but_empty_parts(mode):
    x, y = (T.tensor(dtype="float64", shape=(0, 2)) for _ in "xy")
    empty = np.ones((0, 2))
    assert tg.function([x, y], T.exp(T.concatenate([x, y], axis=0)), mode=mode)(empty, empty).shape == (0, 2)


@pytest.mark.parametrize("shape", [(6, 70), (1, 70), (40, 2), (70, 1), (80,), (3, 5, 33)], ids=str)
@pytest.mark.parametrize("gradient", [False, True])
def test_neighbours_around_edges_leave_no_choice_to_the_innermost_loop(shape, gradient, rng):
    """A row of neighbours in both directions is cut at both edges; which row is the next one is asked once per row."""
    u = T.tensor("u", "float64", shape=shape)
    axes = range(len(shape))
    output = T.tanh(sum(T.roll(u, k, axis) * (axis + k + 2.5) for axis in axes for k in (1, -1)) - u)
    output = tg.grad((output**2).sum(), u) if gradient else output
    f, value = tg.function([u], output), rng.normal(size=shape)
    np.testing.assert_allclose(
        f(value), tg.function([u], output, mode=tg.Mode(linker="py"))(value), rtol=1e-12, atol=1e-12
    )
    inner = f"i{len(shape) - 1}"
    assert not re.search(rf"_Bool v\d+ = \({inner} |if \({inner} <", f.source("c"))

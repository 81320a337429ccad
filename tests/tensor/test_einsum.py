"""einsum agrees with NumPy over its whole language."""

import numpy as np
import pytest
from helpers import arrays, check, quick, run, variable_for
from hypothesis import given
from hypothesis import strategies as st

import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

DTYPES = ("bool", "int8", "int64", "float32", "float64", "complex64")
LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 1, "m": 0}


@st.composite
def cases(draw):
    letters = st.sampled_from("iiijjjkklm")
    inputs = draw(st.lists(st.lists(letters, max_size=3), min_size=1, max_size=4))
    dots = draw(st.lists(st.sampled_from([2, 3]), max_size=2))
    parts, operands = [], []
    for labels in inputs:
        here = draw(st.integers(0, len(dots))) if draw(st.booleans()) else None
        at = draw(st.integers(0, len(labels)))
        shape = [LENGTHS[c] for c in labels]
        shape = [1 if n == 3 and labels.count("j") == 1 and draw(st.integers(0, 5)) == 0 else n for n in shape]
        if here is not None:
            shape[at:at] = [n if draw(st.integers(0, 3)) else 1 for n in dots[len(dots) - here :]]
            labels = [*labels[:at], "...", *labels[at:]]
        parts.append("".join(labels))
        operands.append(np.ones(tuple(shape)))
    subscripts = ",".join(parts)
    used = sorted(set("".join(parts).replace(".", "")))
    if draw(st.booleans()):
        out = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        subscripts += "->" + ("..." if "..." in subscripts else "") + "".join(out)
    filled = []
    for o in operands:
        a = draw(arrays(DTYPES, shape=o.shape, finite=True))
        filled.append((a % 3).astype(a.dtype) if a.dtype.kind in "iu" else a)
    return subscripts, filled


@given(case=cases())
@quick(150)
def test_einsum(case):
    subscripts, operands = case
    check(
        lambda *xs: T.einsum(subscripts, *xs),
        lambda *xs: np.einsum(subscripts, *xs),
        *operands,
        rtol=1e-4,
        what=subscripts,
    )


def test_the_form_with_lists_of_integers():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    check(
        lambda x, y: T.einsum(x, [0, 1], y, [1, 2], [2, 0]), lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), a, b
    )
    check(lambda x: T.einsum(x, [1, 0]), lambda x: np.einsum(x, [1, 0]), a)
    check(lambda x: T.einsum(x, [..., 0], [0, ...]), lambda x: np.einsum(x, [..., 0], [0, ...]), a)


@pytest.mark.parametrize(
    "subscripts, op",
    [
        ("ij,jk->ik", "dot"),
        ("ij,kj->ik", "dot"),
        ("bij,bjk->bik", "matmul"),
        ("ij,ij->i", "sum"),
        ("ij,ij->ij", "mul"),
        ("ii->i", "diagonal"),
        ("ij->ji", "dimshuffle"),
    ],
)
def test_what_it_becomes(subscripts, op):
    n = subscripts.count(",") + 1
    ranks = [len(p) for p in subscripts.split("->")[0].split(",")]
    made = T.einsum(
        subscripts, *[T.tensor(str(i), dtype="float64", shape=(None,) * r) for i, r in zip(range(n), ranks)]
    )
    assert made.owner.op.name == op


def test_a_chain_contracts_its_small_end_first():
    a = T.tensor("a", dtype="float64", shape=(100, 100))
    v = T.tensor("v", dtype="float64", shape=(100,))
    made = T.einsum("ij,jk,kl,l->i", a, a, a, v)
    assert made.term is (a @ (a @ (a @ v))).term


@pytest.mark.parametrize(
    "subscripts, ranks, message",
    [
        ("ij,jk", [2], "describes 2 operands, 1 were given"),
        ("ijk", [2], "operand 0 has 2 dimensions, its subscripts 'ijk' name 3"),
        ("i", [2], "operand 0 has 2 dimensions"),
        ("ij->ii", [2], "names 'i' twice"),
        ("ij->ik", [2], "names 'k', which no operand has"),
        ("i1->i", [2], "may have letters"),
    ],
)
def test_bad_subscripts(subscripts, ranks, message):
    with pytest.raises(ValueError, match=message):
        T.einsum(subscripts, *[T.tensor(dtype="float64", shape=(None,) * r) for r in ranks])


def test_lengths_that_do_not_fit():
    a, b = np.ones((2, 3)), np.ones((4, 5))
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(4, 5\) do not fit: 'j' is 3 and 4"):
        run(lambda x, y: T.einsum("ij,jk", x, y), a, b, known=True)
    with pytest.raises(ShapeError, match=r"shapes \(2, 3\) and \(4, 5\)"):
        run(lambda x, y: T.einsum("ij,jk", x, y), a, b)
    with pytest.raises(ShapeError, match="'i' is repeated.*lengths 2 and 3"):
        T.einsum("ii", variable_for(a, known=True))
    with pytest.raises(ShapeError):
        run(lambda x: T.einsum("ii", x), a)

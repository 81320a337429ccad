"""Graphs as JSON: the same interned terms come back; what cannot be written is refused."""

import json

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.compile.capture import capture
from termgraph.terms.digest import NoName
from termgraph.terms.op import OPS
from termgraph.terms.plain import from_plain, to_plain


def roots_of(*outputs, inputs):
    return capture(inputs, list(outputs), {}).roots


def test_the_same_terms_come_back():
    x, m, i = T.dvector("x"), T.fmatrix("m"), T.lscalar("i")
    halves = T.constant(np.array([0.5, -0.0, np.nan], "f2"))
    outputs = [
        T.sort(x)[::-2] + 1, m.sum(axis=(0, 1)), m[i, 1:], T.cast(x, "complex64") * 2j, T.join(0, x, x), m.T, halves,
        T.clip(x, -np.inf, 0.1), x.reshape((2, -1)), T.alloc(x[0], 2, i), T.argsort(m, axis=1), T.dot(m, m.T), x > 0,
    ]  # fmt: skip
    roots = roots_of(*outputs, inputs=[x, m, i])
    back = from_plain(json.loads(json.dumps(to_plain(roots))))
    assert len(back) == len(roots) and all(a is b for a, b in zip(back, roots))


def test_parameters_keep_their_kind():
    add = OPS["add"]
    assert add is not None
    from termgraph.terms import plain

    for value in (
        None,
        True,
        1,
        1.5,
        -0.0,
        2j,
        "a",
        (1, (2.0,)),
        [1],
        slice(1, None, -1),
        np.float32(0.1),
        np.dtype("i2"),
    ):
        found = plain._read(json.loads(json.dumps(plain._plain(value, add))))
        assert type(found) is type(value) and repr(found) == repr(value)


def test_what_only_this_process_knows_is_refused():
    x = T.dvector("x")

    @tg.as_op(itypes=[T.dvector], otypes=[T.dvector])
    def mine(a):
        return a

    total, _ = tg.scan(lambda a, b: a + b, sequences=x, outputs_info=T.constant(0.0))
    for output, why in ((mine(x), "not one of the library's"), (total, "a parameter of loop")):
        with pytest.raises(NoName, match=why):
            to_plain(roots_of(output, inputs=[x]))
    with pytest.raises(NoName, match="2 MB of constants"):
        to_plain(roots_of(x + np.ones(300_000), inputs=[x]), most=1 << 20)


@pytest.mark.parametrize(
    "damage", [{"heads": [["no such op", []]]}, {"nodes": [[0, 99]]}, {"roots": ["a"]}, {"nodes": 3}]
)
def test_what_is_no_graph_raises(damage):
    x = T.dvector("x")
    graph = to_plain(roots_of(T.exp(x), inputs=[x]))
    with pytest.raises((ValueError, KeyError, TypeError, IndexError)):
        from_plain(graph | damage)

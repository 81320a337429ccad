"""Terms: interning, typing, depth, pickling, kanren interoperation."""

import gc
import pickle

import numpy as np
import pytest
from cons import car, cdr, cons
from etuples import etuple, etuplize
from etuples.core import ExpressionTuple
from kanren import conso, run, var
from kanren import eq as same
from kanren.term import applyo
from unification import reify, unify

from termgraph.terms import relational  # noqa: F401
from termgraph.terms.errors import GraphError, ShapeError
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import add, cast, exp, lt, mul, switch
from termgraph.terms.term import Arg, Const, Input, Lit, Term, live_terms, mk2
from termgraph.terms.traverse import count_nodes, equal_up_to_inputs, path_to, substitute
from termgraph.terms.types import TensorType

MATRIX = TensorType("float64", (None, None))


@pytest.fixture
def xy():
    return Input("x", MATRIX), Input("y", MATRIX)


def test_equal_terms_are_one_object(xy):
    x, y = xy
    assert add(x, y) is add(x, y)
    assert add(x, y) is not add(y, x)
    assert isinstance(add(x, y), ExpressionTuple)
    assert cast(x, dtype="float32") is cast(x, dtype="float32")
    assert cast(x, dtype="float32") is not cast(x, dtype="int8")


def test_inputs_of_one_name_are_different_leaves():
    assert Input("x", MATRIX) is not Input("x", MATRIX)
    assert Arg(0, MATRIX) is Arg(0, MATRIX)


def test_constants_are_interned_by_type_and_bytes():
    assert Const(0.0) is Const(0.0)
    distinct = [Const(0.0), Const(-0.0), Const(0), Const(False), Const(np.float32(0)), Const([0.0])]
    assert len(set(distinct)) == len(distinct)
    assert Const(np.nan) is Const(np.nan)
    assert Const(np.arange(10_000)) is Const(np.arange(10_000))
    assert Const(np.full((2, 3), 7.0)).scalar == 7.0
    assert Const([1.0, 2.0]).scalar is None
    with pytest.raises(ValueError, match="read-only"):
        Const([1.0, 2.0]).value[0] = 3


def test_constant_does_not_follow_its_source():
    source = np.ones(3)
    const = Const(source)
    source[:] = 5
    assert const.value.tolist() == [1, 1, 1]


def test_types_are_inferred_and_checked(xy):
    x, y = xy
    assert lt(x, y).type is TensorType("bool", (None, None))
    assert switch(lt(x, y), x, y).type is MATRIX
    with pytest.raises(ShapeError, match="3 against 4"):
        add(Input("a", TensorType("float64", (3,))), Input("b", TensorType("float64", (4,))))
    with pytest.raises(GraphError, match="exp takes 1 argument"):
        exp(x, y)


def test_numbers_take_the_dtype_of_their_neighbours():
    f = Input("f", TensorType("float32", (None,)))
    assert mul(f, 2.0).type.dtype == "float32"


def test_unknown_against_known_length_is_the_known_one():
    a, b = Input("a", TensorType("float64", (None,))), Input("b", TensorType("float64", (5,)))
    assert add(a, b).type.shape == (5,)
    one = Input("c", TensorType("float64", (1,)))
    assert add(a, one).type.shape == (None,)


@pytest.mark.parametrize("depth", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_million_terms_deep(xy, depth):
    x, y = xy
    gc.collect()
    before = live_terms()
    t = x
    for _ in range(depth):
        t = mk2(add, t, y)
    assert hash(t) == hash(t)
    assert len(repr(t)) < 1000
    assert count_nodes([t]) == depth
    assert pickle.loads(pickle.dumps(t)) is t
    assert substitute([t], {y: x})[0].op is add
    del t
    gc.collect()
    assert live_terms() <= before  # less, where something older went meanwhile


def test_pickle_from_another_process_makes_equal_graphs(xy, tmp_path):
    import subprocess
    import sys

    code = (
        "import pickle, sys\n"
        "from termgraph.terms.term import Input\n"
        "from termgraph.terms.types import TensorType\n"
        "from termgraph.terms.ops.elementwise import add, exp\n"
        "x = Input('x', TensorType('float64', (None,)))\n"
        "open(sys.argv[1], 'wb').write(pickle.dumps([x, add(x, exp(x)), exp(x)]))\n"
    )
    path = tmp_path / "graph é.pkl"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    x, s, e = pickle.loads(path.read_bytes())
    assert s is add(x, exp(x)) and e is exp(x) and x.name == "x"


def test_structural_hash_is_the_same_under_every_hash_seed():
    import os
    import subprocess
    import sys

    code = (
        "from termgraph.terms.term import Input\n"
        "from termgraph.terms.types import TensorType\n"
        "from termgraph.terms.ops.elementwise import add, cast, exp\n"
        "x = Input('x', TensorType('float64', (None, 3)))\n"
        "t = add(x, cast(exp(x), dtype='float32'), 2.0)\n"
        "print(t._h, t)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_kanren_works_on_graphs(xy):
    x, y = xy
    q, r = var(), var()
    assert run(0, q, same(add(q, y), add(x, y))) == (x,)
    assert run(0, q, conso(add, q, add(x, y)))[0]._tuple == (x, y)
    assert run(0, q, applyo(mul, etuple(x, y), q)) == (mul(x, y),)
    head, args = run(0, (q, r), applyo(q, r, mul(x, y)))[0]
    assert head is mul and args._tuple == (x, y)
    assert car(add(x, y)) is add
    t = add(x, y)
    assert cons(car(t), cdr(t)) is t and etuplize(t) is t
    assert cons(mul, cdr(t)) is mul(*t.args)  # a term wherever there is one
    assert cons(exp, cdr(add(x, y))).__class__ is ExpressionTuple  # exp takes one operand: no term
    assert etuple(add, x, etuple(mul, x, y)).evaled_obj is add(x, mul(x, y))
    assert unify(add(x, q), add(x, 2.0), {})[q] is Const(2.0)
    assert reify(add(x, q), {q: y}) is add(x, y)
    assert unify(Const(1), Const(True), {}) is False
    assert unify(Lit(1), Const(1.0), {}) == {}


def test_shared_graphs_unify_without_walking_the_tree(xy):
    x, _ = xy  # as a tree, this would have 2**60 leaves: the test would not end
    q = var()
    t = x
    for _ in range(60):
        t = add(t, t)
    assert run(0, q, same(add(q, t.args[0]), t)) == (t.args[0],)
    assert reify(t, {}) is t
    assert unify(t, exp(t), {}) is False


def test_equal_up_to_inputs_and_paths(xy):
    x, y = xy
    a, b = Input("a", MATRIX), Input("b", MATRIX)
    assert equal_up_to_inputs([add(x, exp(y))], [add(a, exp(b))], [x, y], [a, b])
    assert not equal_up_to_inputs([add(x, exp(y))], [add(a, exp(b))], [y, x], [a, b])
    t = exp(add(x, mul(y, x)))
    assert path_to(t, y) == [t, t.args[0], t.args[0].args[1], y]


def test_attributes_of_an_op_are_looked_up_by_the_interpreter_alone():
    """The rewriter asks ops in every step: a `__getattr__` or `__getattribute__` of Python would slow all of it."""
    assert not hasattr(Op, "__getattr__") and Op.__getattribute__ is object.__getattribute__
    head = cast.bind(dtype="int8")
    assert "_h" not in vars(head) and hash(head._h) and "_h" in vars(head)  # worked out when it is asked for


def test_a_term_refuses_to_become_an_array(xy):
    with pytest.raises(TypeError, match="not an array"):
        np.asarray(exp(xy[0]))
    assert isinstance(Term((add, 1)), ExpressionTuple) and not isinstance(Term((add, 1)), Term)

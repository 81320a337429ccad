"""Variables and Apply nodes: the bipartite view of FEATURES 1-10."""

import threading
import warnings

import numpy as np
import pytest

import termgraph
import termgraph.tensor as T
from termgraph.tensor import Apply, Constant, TensorType, Variable, add, mul
from termgraph.tensor.constructors import LETTERS, SHAPES
from termgraph.terms.errors import GraphError
from termgraph.terms.op import CONST


def test_the_long_explicit_example_builds_the_same_graph():
    float64_matrix = TensorType(dtype="float64", broadcastable=(False, False))
    x = Variable(type=float64_matrix, name="x")
    y = Variable(type=float64_matrix, name="y")
    z = Variable(type=float64_matrix, name="z")
    mul_variable = Variable(type=float64_matrix)
    assert mul_variable.owner is None
    node_mul = Apply(op=mul, inputs=[y, z], outputs=[mul_variable])
    assert mul_variable.owner is node_mul
    assert mul_variable.index == 0
    add_variable = Variable(type=float64_matrix)
    node_add = Apply(op=add, inputs=[x, mul_variable], outputs=[add_variable])
    assert add_variable.owner is node_add
    e = add_variable
    assert e.owner.inputs[0] is x
    assert e.owner.inputs[1] is mul_variable
    assert e.owner.inputs[1].owner.inputs[0] is y
    assert e.owner.inputs[1].owner.inputs[1] is z
    assert e.term is (x + y * z).term


def test_apply_refuses_cycles_second_owners_and_foreign_objects():
    t = TensorType("float64", (None, None))
    x, out = Variable(type=t, name="x"), Variable(type=t)
    with pytest.raises(GraphError, match="no cycles"):
        Apply(mul, [x, out + x], [out])
    Apply(mul, [x, x], [out])
    with pytest.raises(GraphError, match="already has an owner"):
        Apply(add, [x, x], [out])
    with pytest.raises(TypeError, match=r"inputs\[1\] must be a Variable"):
        Apply(add, [x, object()], [Variable(type=t)])
    with pytest.raises(TypeError, match="has type"):
        Apply(add, [x, x], [Variable(type=TensorType("float32", (None, None)))])


def test_owner_inputs_and_outputs_keep_their_identity():
    x, y = T.dmatrix("x"), T.dmatrix("y")
    z = x + y
    assert z.owner.inputs == [x, y] and z.owner.outputs[0] is z and z.index == 0
    assert z.owner is z.owner
    assert x.owner is None
    assert (x + y).owner.op is (y + x).owner.op
    assert (x + y).term is (x + y).term and (x + y) is not (x + y)


def test_numbers_become_int64_and_float64_constants_behind_a_dimshuffle():
    e = T.dscalar("x") + 1
    one = e.owner.inputs[1]
    assert isinstance(one, Constant) and one.type == T.lscalar and one.data == 1
    y = T.dmatrix("x") * 2.0
    assert y.owner.inputs[1].owner.op.name == "dimshuffle"
    assert y.owner.inputs[1].owner.inputs[0].data == 2.0
    assert y.term.args[1].op is CONST and y.term.args[1].scalar == 2.0  # broadcasting needs no dimension to be written
    with pytest.raises(AttributeError):
        one.data = 5


def test_owners_and_derivatives_of_numbers_stay():
    """The graph of variables is Theano's: a number behind a dimshuffle. A constant of the user's can be asked for."""
    x, c = T.dmatrix("x"), T.constant(3.0)
    y = x * c
    spread = y.owner.inputs[1]
    assert spread.owner.op.name == "dimshuffle" and spread.owner.inputs == [c] and spread.ndim == 2
    f = termgraph.function([x], [T.grad(y.sum(), c), T.grad(y.sum(), x)])
    total, ones = f(np.arange(6.0).reshape(2, 3))
    assert total == 15 and (ones == 3).all()
    d = T.dscalar("d")
    assert termgraph.function([x, d], termgraph.clone(y, replace={c: d}))(np.ones((2, 2)), 2.0).sum() == 8


def test_numbers_are_weak():
    cases = [
        (T.fvector() * 2.0, "float32"), (T.ivector() + 1, "int32"), (T.ivector() / 2, "float64"),
        (T.bvector() + 1, "int8"), (2 - T.fvector(), "float32"), (T.ivector() * 1.5, "float64"),
        (T.fvector() ** 2, "float32"), (T.lvector() > 0.5, "bool"), (T.cvector() * 1j, "complex64"),
        (T.switch(T.fvector() > 0, T.fvector(), 0), "float32"),
    ]  # fmt: skip
    assert [v.type.dtype for v, _ in cases] == [d for _, d in cases]
    with pytest.raises(OverflowError, match="300"):
        T.bvector() + 300
    assert (T.bvector() > 300).type.dtype == "bool"


def test_ndarray_on_the_left_calls_the_variable():
    x = T.dmatrix("x")
    v = np.ones((2, 2)) + x
    assert v.owner.inputs[1] is x


def test_types_construct_variables_with_the_seeds_repr():
    assert repr(T.irow()) == "<TensorType(int32, (1, ?))>"
    assert T.irow.shape == (1, None) and T.irow != T.dmatrix
    y = -T.ivector()
    assert y.type == T.ivector


@pytest.mark.parametrize("letter, dtype", LETTERS.items())
def test_the_whole_family_of_constructors(letter, dtype):
    for kind, shape in SHAPES.items():
        type_ = getattr(T, letter + kind)
        assert (type_.dtype, type_.shape) == (dtype, shape)
        assert type_("v").name == "v"


def test_plain_names_take_lengths():
    assert T.matrix("m", dtype="int8", shape=(None, 3)).type == T.TensorType("int8", (None, 3))
    assert T.vector(shape=[2]).type.shape == (2,)
    with pytest.raises(ValueError, match="vector.. takes 1 lengths"):
        T.vector("v", shape=(2, 3))


def test_irow_filter_makes_three_checks():
    T.irow.filter(np.ones((1, 5), "int32"))
    for bad in (np.ones((1, 5)), np.ones((1, 5, 1), "int32"), np.ones((2, 5), "int32")):
        with pytest.raises(TypeError):
            T.irow.filter(bad)


def test_truth_of_a_comparison_is_refused():
    x = T.dvector("x")
    assert bool(x)
    with pytest.raises(TypeError, match="switch"):
        if x > 0:
            pass


def test_truth_of_what_is_made_of_comparisons_is_refused():
    x, y, b = T.dscalar("x"), T.dscalar("y"), T.scalar("b", dtype="bool")
    conditions = [
        ~(x > 0),
        (x > 0) & (y > 0),
        (x > 0) | b,
        (x > 0) ^ b,
        T.isin(x, [1, 2]),
        T.isclose(x, y),
        T.switch(b, x > 0, b),
    ]
    for condition in [*conditions, (T.dvector() > 0)[0], T.minimum(b, x > 0), T.cast(x, "bool")]:
        with pytest.raises(TypeError, match="truth of a symbolic condition"):
            bool(condition)
    assert bool(b) and bool(termgraph.shared(False)) and bool(x - y)  # as in Theano's programs: `if not input`


def test_traces_name_the_line_that_made_the_variable():
    x = T.dvector("x")
    y = x + 1
    assert y.where.startswith(__file__) and "y = x + 1" in y.frames[0][3]


def test_foreign_operands_are_refused_with_a_sentence():
    x = T.dvector("x")
    for bad in ("s", None, {}, object):
        with pytest.raises(TypeError, match="expected a number"):
            x + bad


def test_variables_are_collected_although_they_are_not_tracked_at_first():
    import gc
    import weakref

    x, y = T.dvector("x"), T.dvector("y")
    kept, seen, tagged = x + y, x * y, x - y
    assert not gc.is_tracked(kept)
    assert seen.owner.outputs[0] is seen and gc.is_tracked(seen)
    tagged.tag.me = tagged
    assert gc.is_tracked(tagged)
    gone = [weakref.ref(v) for v in (kept, seen, tagged)]
    del kept, seen, tagged
    gc.collect()
    assert [r() for r in gone] == [None, None, None]


def test_every_public_name_of_the_language_is_documented():
    public = {n: getattr(T, n) for n in dir(T) if not n.startswith("_")}
    bare = [n for n, f in public.items() if callable(f) and not (getattr(f, "__doc__", None) or "").strip()]
    assert bare == []


def test_what_has_no_value_yet_is_not_written_or_searched():
    x = T.dvector("x")
    assert f"{x} of {x + 1}" == "x of add.0"
    with pytest.raises(TypeError, match=r"x has no value to be written as '.3f' .* tg.printing.Print"):
        f"{x:.3f}"
    with pytest.raises(TypeError, match=r"T.eq\(x, value\).any\(\)"):
        3 in x  # noqa: B015


def test_what_others_write_rounds_assigns_and_is_told_apart():
    x = T.dvector("x")
    assert round(x, 1).eval({x: [1.26, -0.24]}).tolist() == [1.3, -0.2]
    assert round(x).eval({x: [1.5, 2.5]}).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="decimals must be a known whole number, got 1.5"):
        round(x, 1.5)
    with pytest.raises(TypeError, match="decimals must be a known whole number, got k"):
        round(x, T.lscalar("k"))
    w, given = termgraph.shared(np.ones(2), name="w"), np.array([1.0, 2.0])
    w.value = given
    given[0] = 5
    w.value += 1
    assert w.get_value().tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="^w: "):
        w.value = "no"
    with pytest.raises(TypeError, match=r"not list; an array of known values is T.constant\(values\)"):
        T.tensor([1.0, 2.0])
    with pytest.raises(TypeError, match=r"got a scalar .* Sequences come first: scan\(step, sequences=xs"):
        termgraph.scan(lambda c, e: c + e, 0.0, x)


def test_computing_with_the_answer_of_a_comparison_by_identity_says_so():
    """Two variables may be compared to branch; the answer is no array of truth values."""
    x, y = T.dvectors("x", "y")
    for computed in (
        lambda: T.mean(x == y), lambda: T.where(x != y, x, 0), lambda: y * (x == y), lambda: 1 - (x == y),
        lambda: T.sum(x != x), lambda: T.switch(True, y == x, x), lambda: x[x == y],
        lambda: ~(x == y), lambda: T.where(
            x == y,
            x, 0),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match=r"same variable, whatever.*; write T.eq\(x, y\) or T.neq") as seen:
            computed()
        assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [1 if x == y else 2, x != y and 1, not x == y] == [2, 1, True]  # noqa: SIM201
        assert not any(x == v for v in (y, x + y)) and {x: 1, y: 2}[y] == 2 and (x, 1) == (x, 1) != (y, 1)
        same = x == y
        while x == y:
            break
        assert same is False and [v for v in (x, y) if v != x] == [y]
        made = [x == y, 1], {"a": x != y, "b": 1}, {"same": x == y}, str(x == y), bool(x == x), (x == y) is True
        made[0].append(x == y)
        assert str([x] == [y]) == "False" and {1: x} != {1: y} and max([x, y] == [y, x], False) is False
        assert T.where(True, x, y).ndim == 1 and T.mean(False).ndim == 0


def test_comparing_a_variable_with_a_number_by_identity_says_so():
    x = T.dvector("x")
    for compared in (lambda: x == 0, lambda: x != 1.5, lambda: np.zeros(2) == x, lambda: np.not_equal(x, 1)):
        with pytest.warns(UserWarning, match=r"which x and .* are not; write T.eq\(x, y\) or T.neq") as seen:
            compared()
        assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x != T.dvector("x") and x == x and x != None and x != "x"  # noqa: E711
        assert x in [1 - x, x] and [T.dvector(), x].index(x) == 1
        assert T.einsum("ij,ij->i", T.dmatrix(), T.dmatrix()).ndim == 1  # lengths are compared inside


def test_what_was_meant():
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"x is symbolic and cannot be changed in place; T.delete\(x, index, axis\)"):
        del x[0]
    with pytest.raises(TypeError, match="unsupported dtype 'flaot32'"):
        T.tensor("x", dtype="flaot32")
    with pytest.raises(TypeError, match=r"such as shape=\(None, 3\)"):
        T.tensor("x", dtype="float32")
    with pytest.raises(TypeError, match="Several lengths or axes are written as one tuple"):
        x.mean(0, 1)
    with pytest.raises(AttributeError, match="write rng.normal"):
        T.random.RandomStream(1).gaussian()
    with pytest.raises(TypeError, match=r"the path comes last; write tg.save\(thing, 'there.tg'\)"):
        termgraph.save("there.tg", x)
    with pytest.raises(AttributeError) as told:
        termgraph.optim.adm
    assert told.value.obj is termgraph.optim  # Python says "Did you mean: 'adam'?"


@pytest.mark.filterwarnings("ignore:.*same variable")
def test_threads_that_compare_variables_do_not_meet():
    """Each thread's question is its own: another one's may end between two instructions of this one."""
    x, y = T.dvectors("x", "y")
    wrong = []

    def ask():
        try:
            for _ in range(200):
                T.mean(x == y)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong

"""Lazy choice, checks, printing, folded graphs (FEATURES 52, 58, 80)."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.op import Op

x = T.dvector("x")
n = T.lscalar("n")
a, b = T.dscalars("a", "b")


def spy(ran, name="test_ran", error=None):
    def meaning(value):
        ran.append(name)
        if error:
            raise error
        return value

    return Op(name, arity=1, infer=lambda t: t, meaning=meaning)


def test_f58_only_the_chosen_branch_runs():
    ran = []
    left, right = spy(ran, "test_left"), spy(ran, "test_right", ZeroDivisionError("right"))
    f = tg.function([n, x], tg.ifelse(n > 0, left(x), right(x)))
    assert np.array_equal(f(1, [1.0]), [1.0]) and ran == ["test_left"]
    with pytest.raises(ZeroDivisionError, match="right"):
        f(0, [1.0])


def test_f58_nested_and_several_values():
    ran = []
    bad = spy(ran, "test_bad", ValueError("bad"))
    inner = tg.ifelse(n > 5, [x + 1, x.sum()], [x + 2, bad(x).sum()])
    outer = tg.ifelse(n > 0, inner, [bad(x), bad(x).sum()])
    f = tg.function([n, x], outer)
    first, second = f(9, [1.0, 2.0])
    assert np.array_equal(first, [2, 3]) and second == 3 and ran == []
    assert np.array_equal(tg.function([n, x], outer[0])(3, [1.0]), [3.0]) and ran == []
    with pytest.raises(ValueError, match="bad"):
        f(3, [1.0])


def test_f58_in_updates():
    w = tg.shared(np.ones(2), "w")
    f = tg.function([n], updates=[(w, tg.ifelse(n > 0, w + 1, w))])
    f(1), f(0), f(1)
    assert np.array_equal(w.get_value(), [3, 3])


def test_f58_types():
    assert tg.ifelse(n > 0, T.drow("r"), T.dmatrix("m")).type == T.dmatrix
    assert tg.ifelse(n > 0, a, 1).type == T.dscalar
    assert tg.ifelse(n > 0, [a], [b], name="z")[0].name == "z.0"
    with pytest.raises(TypeError, match=r"value 0 .* one branch"):
        tg.ifelse(n > 0, a, T.fscalar("f"))
    with pytest.raises(TypeError, match="T.switch"):
        tg.ifelse(x > 0, a, b)
    with pytest.raises(TypeError, match="both branches"):
        tg.ifelse(n, [a], b)
    with pytest.raises(ValueError, match="1 and 2 values"):
        tg.ifelse(n, [a], [a, b])


def test_assert_and_check():
    f = tg.function([a], tg.Assert("a must be positive")(a, a > 0, a < 10) * 2)
    assert f(3) == 6
    with pytest.raises(AssertionError, match=r"a must be positive \(condition 1\)") as info:
        f(30)
    assert "test_control.py" in str(info.value).splitlines()[0]
    g = tg.function([x], tg.CheckAndRaise(ArithmeticError, "no")(x, x > 0))
    with pytest.raises(ArithmeticError, match="no"):
        g([1.0, -1.0])
    with pytest.raises(TypeError, match="exception class"):
        tg.CheckAndRaise(ValueError("x"), "m")


def test_failed_assertion_leaves_shared_variables():
    w = tg.shared(1.0)
    f = tg.function([a], tg.Assert("no")(a, a > 0), updates=[(w, w + a)])
    with pytest.raises(AssertionError):
        f(-1)
    assert w.get_value() == 1


def test_print(capsys):
    seen = []
    f = tg.function([x], T.Print("x", attrs=("shape",))(x) + T.Print(global_fn=lambda p, v: seen.append(v.sum()))(x))
    f([1.0, 2.0])
    assert capsys.readouterr().out == "x shape = (2,)\n" and seen == [3.0]


def test_f80_folded_graph():
    w = tg.shared(2.0, "w")
    op = tg.OpFromGraph([a, b], [a * b + w, a - b], name="folded")
    p, q = op(a + 1, b)
    f = tg.function([a, b], [p, q, op(b, b)[1]])
    assert [float(r) for r in f(1, 2)] == [6, 0, 0]
    assert sorted(str(node.op) for node in f.maker.fgraph.toposort()) == ["add", "folded", "folded"]
    assert [node.op.name for node in op.fgraph.toposort()] == ["mul", "add", "sub"]
    w.set_value(10)
    assert f(1, 2)[0] == 14


def test_f80_inline_and_nested():
    square = tg.OpFromGraph([a], [a * a], name="square")
    fourth = tg.OpFromGraph([b], [square(square(b))], name="fourth", inline=True)
    f = tg.function([a], fourth(a))
    assert f(2) == 16
    assert {str(node.op) for node in f.maker.fgraph.toposort()} == {"square"}
    assert "square" not in f.source() and f.source().count("sqr") == 2


def test_f80_equal_graphs_are_one_op():
    c, d = T.dscalars("c", "d")
    assert tg.OpFromGraph([a, b], a * b).op is tg.OpFromGraph([c, d], c * d).op
    assert tg.OpFromGraph([a, b], a * b)(a, b).term is tg.OpFromGraph([c, d], [c * d])(a, b).term


def test_f80_errors():
    with pytest.raises(TypeError, match=r"inputs\[0\]"):
        tg.OpFromGraph([1.0], [a])
    with pytest.raises(TypeError, match="takes 1 inputs, got 2"):
        tg.OpFromGraph([a], [a + 1])(a, b)
    with pytest.raises(TypeError, match="must have type"):
        tg.OpFromGraph([a], [a + 1])(x)
    with pytest.raises(tg.MissingInputError, match="needs the input b"):
        tg.OpFromGraph([a], [a + b])


@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT", tg.Mode("py"), tg.Mode(optimizer="None")])
def test_f58_branches_of_different_lengths(mode):
    c, x, y, s = T.lscalar("c"), T.dvector("x"), T.dvector("y"), tg.shared(np.zeros(2), "s")
    grow = tg.function([c], [], updates=[(s, tg.ifelse(c > 0, T.concatenate([s, s]), s))], mode=mode)
    for k in (1, 0, 1):
        grow(k)
    assert s.get_value().shape == (8,)
    f = tg.function([c, x, y], tg.ifelse(c > 0, T.exp(x), T.sin(y)), mode=mode)
    assert np.allclose(f(1, [0.0, 1.0], [2.0]), np.exp([0.0, 1.0])) and np.allclose(
        f(0, [0.0, 1.0], [2.0]), np.sin([2.0])
    )
    g = tg.function([c, x, y], [*tg.ifelse(c > 0, [x, y], [y, x]), x + y], mode=mode)  # here they must be the same
    assert [r.tolist() for r in g(0, [1.0], [2.0])] == [[2.0], [1.0], [3.0]]
    h = tg.function([c, x, y], tg.grad(tg.ifelse(c > 0, T.exp(x), T.sin(y)).sum(), [x, y]), mode=mode)
    assert np.allclose(h(0, [1.0, 2.0], [3.0])[1], np.cos([3.0])) and h(1, [1.0, 2.0], [3.0])[1].tolist() == [0.0]


@pytest.mark.parametrize("mode", ["FAST_RUN", "None", tg.Mode("py")])
def test_a_fixed_index_counts_where_its_side_is_taken(mode):
    """`x[7]` of a shorter x is an error in the side of a choice that is taken, and in that one only."""
    x, m = T.dvector("x"), T.dmatrix("m")
    rows, _ = tg.scan(lambda a, h: tg.ifelse(a > 5, x[7] * a + h, a + h), sequences=x, outputs_info=0.0)
    choices = [
        tg.ifelse(x.shape[0] > 7, x[7], x[0]), tg.ifelse(x.shape[0] > 7, T.exp(x[7]) + x[-9], x[1]),
        tg.ifelse(x[1] > 5, m[7], m[0]).sum(), tg.ifelse(x[1] > 5, T.set_subtensor(x[7], 0.0), x).sum(), rows[-1],
    ]  # fmt: skip
    f = tg.function([x, m], choices, mode=mode)
    assert [float(v) for v in f([1.0, 2.0], np.ones((2, 2)))] == [1.0, 2.0, 2.0, 3.0, 3.0]
    for choice in choices[2:]:
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 2"):
            tg.function([x, m], choice, mode=mode, on_unused_input="ignore")([1.0, 9.0], np.ones((2, 2)))


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "None", tg.Mode("py")])
def test_an_element_that_two_choices_share_is_read_where_one_of_them_takes_it(mode):
    i, x = T.lscalar("i"), T.dvector("x")
    a = x[i] * 2
    there = i < x.shape[0]
    choices = [tg.ifelse(there, a**2, x.sum()), tg.ifelse(there, T.exp(a), 0.0), tg.ifelse(there, a, 1.0)]
    f = tg.function([x, i], choices, mode=mode)
    assert [float(v) for v in f([1.0, 0.0], 5)] == [1.0, 0.0, 1.0]
    assert [float(v) for v in f([1.0, 0.0], 1)] == [0.0, 1.0, 0.0]
    with pytest.raises(IndexError, match="index -3 is out of bounds"):
        f([1.0, 0.0], -3)


def test_print_calls_the_methods_it_is_given(capsys):
    x = T.dvector("x")
    tg.function([x], T.Print("x", attrs=("shape", "min", "__str__"))(x))([3.0, 1.0])
    assert capsys.readouterr().out == "x shape = (2,)\nx min = 1.0\nx __str__ = [3. 1.]\n"


def test_a_message_among_the_conditions_is_told_where_messages_go():
    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"T\.Assert\('must be positive'\)\(x, condition\)"):
        T.assert_op(x, T.all(x > 0), "must be positive")


def test_effects_on_constants_are_not_folded(capsys):
    f = tg.function([], T.Print("x")(T.constant(1.0)))
    assert "x" not in capsys.readouterr().out
    f(), f()
    assert capsys.readouterr().out.count("x") == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = tg.function([], T.CheckAndRaise(IndexError, "too far")(T.constant(1.0), T.constant(False)))
    with pytest.raises(IndexError, match="too far"):
        g()

"""Exchange with SymPy: every operator of the table both ways, random expressions, rules, and life without SymPy."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules import RuleSet
from termgraph.rules.defined import forget
from termgraph.sympy.table import INWARD, OUTWARD, SAME
from termgraph.terms.errors import RuleError
from termgraph.terms.op import OPS

sympy = pytest.importorskip("sympy")
# Where every function of the table is defined, by operator where the ordinary places will not do.
POINTS = {"arccosh": (1.7,), "polygamma": (2, 1.3), "floor_div": (7.3, 2.2), "mod": (-7.3, 2.2), "fmod": (-7.3, 2.2),
          "trunc": (-2.7,), "cbrt": (-0.3,), "log1mexp": (-0.4,), "gammaln": (-0.4,), "sign": (-0.3,)}  # fmt: skip
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
NARY = {"add": 2, "mul": 2, "maximum": 2, "minimum": 2, "logical_and": 2, "logical_or": 2}


def points(name, n):
    return POINTS.get(name, (0.3, 0.8, 0.6)[:n])


def value(v, inputs, at):
    return np.asarray(v.eval(dict(zip(inputs, at)))) if inputs else v.eval()


@pytest.mark.parametrize("name", sorted({*SAME, *OUTWARD} - {"complex", "real", "imag", "conj", "switch"}))
def test_every_operator_means_the_same_there_and_back(name):
    op = OPS[name]
    at = points(name, NARY.get(name) or op.arity)
    inputs = [T.dscalar(c) for c in "abc"[: len(at)]]
    made = op(*[v > 0.5 for v in inputs]) if name in LOGICAL else op(*inputs)
    symbols = {}
    there = tg.sympy.to_sympy(made, symbols)
    exact = there.subs({s: v for s in symbols for v, i in zip(at, inputs) if symbols[s] is i})
    exact = exact.rewrite(sympy.erfinv) if name == "erfcinv" else exact  # which SymPy evaluates
    exact = exact.evalf() if isinstance(exact, sympy.Expr) else bool(exact)
    back = tg.sympy.from_sympy(there, symbols)
    want = value(made, inputs, at)
    np.testing.assert_allclose(np.asarray(exact, want.dtype), want, rtol=1e-12)
    np.testing.assert_allclose(value(back, inputs, at), want, rtol=1e-10)


@pytest.mark.parametrize("head", sorted(INWARD))
def test_every_function_of_sympy_has_its_value(head):
    name, _, operands = head.rstrip(")").partition("(")
    n = len(operands.split(","))
    at = {"asec": (1.7,), "acsc": (1.7,), "acoth": (1.7,), "asech": (0.4,), "binomial": (4.5, 1.5)}.get(
        name, (0.3, 0.8)
    )
    symbols = sympy.symbols("a b c", positive=True)[:n]
    if name in ("ITE", "Implies", "Equivalent"):
        places = dict(zip(symbols, (True, False, True)))
        conditions = sympy.symbols("p q r")[:n]
        expr = getattr(sympy, name)(*conditions)
        want = bool(expr.subs(dict(zip(conditions, places.values()))))
        got = tg.sympy.from_sympy(expr, {c.name: T.constant(v) for c, v in zip(conditions, places.values())}).eval()
        assert bool(got) == want
        return
    expr = getattr(sympy, name)(*symbols)
    got = tg.sympy.lambdify(symbols, expr)(*at[:n])
    np.testing.assert_allclose(got, float(expr.subs(dict(zip(symbols, at))).evalf()), rtol=1e-12)


# ---------------------------------------------------------------------- random expressions
UNARY = [T.exp, T.sin, T.cos, T.tanh, T.arctan, T.sigmoid, T.softplus, T.sqr, abs, lambda v: -v, T.erf, T.arcsinh,
         lambda v: T.log1p(T.sqr(v)), lambda v: T.sqrt(1 + T.sqr(v)), lambda v: 2.5 * v - v / 3]  # fmt: skip
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (1 + T.sqr(b)), T.maximum,
          T.minimum, lambda a, b: T.switch(a > b, a, T.cos(b)), T.arctan2, T.hypot,
          lambda a, b: T.switch(T.logical_and(a > 0, b <= 1), a * 2, b), lambda a, b: (a < b) * b]  # fmt: skip
PLAIN = tg.Mode(optimizer="None", linker="py")


@st.composite
def expressions(draw):
    x, y = T.dscalars("xy")
    pool = [x, y, T.constant(0.75)]
    for _ in range(draw(st.integers(1, 7))):
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        if draw(st.booleans()):
            pool.append(draw(st.sampled_from(UNARY))(a))
        else:
            pool.append(draw(st.sampled_from(BINARY))(a, b))
    return (x, y), pool[-1]


@settings(max_examples=60, deadline=None)
@given(expressions(), st.floats(-2, 2), st.floats(-2, 2))
def test_random_expressions_keep_their_value(made, p, q):
    (x, y), expr = made
    for evaluate in (True, False):
        symbols = {}
        back = tg.sympy.from_sympy(tg.sympy.to_sympy(expr, symbols, evaluate=evaluate), symbols)
        f, g = (tg.function([x, y], e, mode="None", on_unused_input="ignore") for e in (expr, back))
        want = f(p, q)
        if np.isfinite(want) and abs(want) < 1e6:
            np.testing.assert_allclose(g(p, q), want, rtol=1e-7, atol=1e-7)


def test_symbols_know_what_the_types_say():
    x, n, z, b = T.dscalar("x"), T.lscalar("n"), T.zscalar("z"), T.bscalar("b")
    symbols = {}
    tg.sympy.to_sympy([x, n, z, b, T.assume(T.dscalar("p"), positive=True)], symbols)
    by_name = {s.name: s for s in symbols}
    assert by_name["x"].is_real and by_name["n"].is_integer and by_name["b"].is_integer
    assert by_name["z"].is_real is None and by_name["z"].is_complex


def test_two_variables_of_one_name_stay_two():
    a, b = T.dscalar("x"), T.dscalar("x")
    symbols = {}
    there = tg.sympy.to_sympy(a - b, symbols)
    assert there != 0 and set(symbols.values()) == {a, b}
    assert tg.sympy.from_sympy(there, symbols).eval({a: 5.0, b: 2.0}) == 3.0


def test_what_sympy_cannot_say_stands_as_a_symbol(rng):
    x, w = T.dmatrix("x"), T.dvector("w")
    expr = T.exp(T.log(abs(x @ w))) + x.sum(axis=1) * 2
    with pytest.raises(TypeError, match=r"no counterpart of .*pass a dictionary"):
        tg.sympy.to_sympy(expr)
    symbols = {}
    simple = sympy.simplify(tg.sympy.to_sympy(expr, symbols))
    assert sorted(s.name for s in symbols) == ["dot", "sum"]
    at = {x: rng.normal(size=(4, 3)), w: rng.normal(size=3)}
    np.testing.assert_allclose(tg.sympy.from_sympy(simple, symbols).eval(at), expr.eval(at))


def test_broadcasting_is_understood(rng):
    x, v, s = T.dmatrix("x"), T.dvector("v"), T.dscalar("s")
    column = v.dimshuffle(0, "x")
    symbols = {}
    there = tg.sympy.to_sympy((x + v * 2) * s + column, symbols)
    assert {s.name for s in symbols} == {"x", "v", "s", "dimshuffle"}
    at = {x: rng.normal(size=(3, 3)), v: rng.normal(size=3), s: 0.5}
    np.testing.assert_allclose(tg.sympy.from_sympy(there, symbols).eval(at), ((x + v * 2) * s + column).eval(at))


def test_complex_numbers():
    z = T.zscalar("z")
    expr = T.real(z) + T.imag(z) * 1j + T.conj(z)
    symbols = {}
    back = tg.sympy.from_sympy(tg.sympy.to_sympy(expr, symbols), symbols)
    assert complex(back.eval({z: 2 - 3j})) == complex(expr.eval({z: 2 - 3j}))


def test_a_long_expression_needs_no_recursion():
    x = T.dscalar("x")
    expr = x
    for _ in range(2000):
        expr = T.sqrt(expr + 1)
    there = tg.sympy.to_sympy(expr, evaluate=False)
    assert there.is_Pow


def test_f96_an_expression_simplified_by_sympy():
    x = T.dvector("x")
    symbols = {}
    expr = tg.sympy.to_sympy(T.sin(x) ** 2 * T.exp(x) + T.cos(x) ** 2 * T.exp(x), symbols)
    assert tg.pp(tg.sympy.from_sympy(sympy.simplify(expr), symbols)) == "exp(x)"


def test_lambdify_takes_any_arrays_and_matrices():
    a, b = sympy.symbols("a b")
    f = tg.sympy.lambdify([a, b], [a + b, sympy.Max(a, b, 0)])
    np.testing.assert_array_equal(f(np.array([1.0, -2.0]), -1.0), [[0, -3], [1, 0]])
    np.testing.assert_array_equal(f(np.ones((2, 2)), np.zeros(2))[0], np.ones((2, 2)))
    rotation = tg.sympy.lambdify(a, sympy.Matrix([[sympy.cos(a), -sympy.sin(a)], [sympy.sin(a), sympy.cos(a)]]))
    np.testing.assert_allclose(rotation(0.5) @ rotation(-0.5), np.eye(2), atol=1e-15)


def test_lambdify_says_what_is_missing():
    a, b = sympy.symbols("a b")
    with pytest.raises(ValueError, match="contains b, which"):
        tg.sympy.lambdify([a], a + b)
    with pytest.raises(TypeError, match=r"no counterpart of SymPy's Integral.*\.doit\(\)"):
        tg.sympy.from_sympy(sympy.Integral(sympy.sin(a) / a, a))


def test_piecewise_without_a_last_case_is_nan_outside():
    a = sympy.Symbol("a")
    f = tg.sympy.lambdify([a], sympy.Piecewise((1 / a, a > 0), (a, a < -1)))
    np.testing.assert_array_equal(f(np.array([2.0, -0.5, -3.0])), [0.5, np.nan, -3.0])


# ---------------------------------------------------------------------- rules
@pytest.fixture
def topic():
    yield "from_sympy_test"
    forget([r.name for r in db.rules(tag="test_sympy")])


def test_f96_rules_leave_as_identities_and_hold_there():
    identities = tg.sympy.rules_to_sympy(db.query("+canonicalize", "+stabilize", "+specialize"))
    assert len(identities) > 150
    assert "any number of operands" in identities.left_out["algebra.fold"]
    with pytest.raises(KeyError, match="algebra.fold was left out"):
        identities["algebra.fold"]
    x = sympy.Symbol("x", positive=True)
    assert identities["logs.log_pow"].apply(sympy.log((x + 1) ** x, evaluate=False)) == x * sympy.log(x + 1)
    z = sympy.Symbol("z")  # of unknown sign: unknown means that it does not fire
    assert identities["logs.log_pow"].apply(sympy.log(z**x)) == sympy.log(z**x)


def test_every_identity_holds_at_some_points():
    """Both sides at numbers that fulfil the conditions; what wildcards stand for are real numbers here."""
    checked = 0
    for i in tg.sympy.rules_to_sympy(db.query("+stabilize")):
        wild = sorted(i.lhs.atoms(sympy.Wild), key=str)
        at = dict(zip(wild, (sympy.Rational(3, 10), sympy.Rational(7, 10), sympy.Rational(2, 5))))
        if not all(c.holds(at) for c in i.conditions):
            continue
        try:
            left, right = (complex(side.xreplace(at).evalf()) for side in (i.lhs, i.rhs))
        except TypeError:
            continue  # truth values and what has no number there
        if left == left:
            assert left == pytest.approx(right, rel=1e-9), i
            checked += 1
    assert checked > 40


def test_f96_identities_come_in_as_rules(topic):
    a, b = sympy.symbols("a b")
    p = sympy.Symbol("p", positive=True)
    table = tg.sympy.rules_from_sympy(
        {
            "addition": (sympy.sin(a) * sympy.cos(b) + sympy.cos(a) * sympy.sin(b), sympy.sin(a + b)),
            "root": (sympy.sqrt(a**2, evaluate=False), a, a >= 0),
            "log_of_power": (sympy.log(p**a, evaluate=False), a * sympy.log(p)),
            "pythagoras": sympy.Eq(sympy.sin(a) ** 2 + sympy.cos(a) ** 2, 1),
        },
        topic,
        tags=["test_sympy", "canonicalize"],
    )
    assert [r.name for r in table] == [f"{topic}.{n}" for n in ("addition", "root", "log_of_power", "pythagoras")]
    assert table["root"].where.startswith(__file__)
    assert repr(table["root"]).endswith("if nonnegative(a)")
    assert repr(table["log_of_power"]).endswith("if positive(p)")
    assert tg.rules.prove(RuleSet(table)).ok
    x, y = T.dvectors("xy")
    expr = T.cos(x) * T.sin(y) + T.cos(y) * T.sin(x)
    f = tg.function([x, y], expr, mode="FAST_RUN")
    assert f"{topic}.addition" in [record.rule for record in f.trace]
    np.testing.assert_allclose(f([0.1, 2.0], [0.3, 1.0]), np.sin([0.4, 3.0]))


def test_rules_make_the_round_trip(topic):
    table = tg.sympy.rules_from_sympy(
        {"double": (sympy.sin(sympy.Symbol("a")) * sympy.cos(sympy.Symbol("a")), sympy.sin(2 * sympy.Symbol("a")) / 2)},
        topic,
        tags=["test_sympy"],
    )
    (identity,) = tg.sympy.rules_to_sympy(table)
    u = sympy.Symbol("u")
    assert identity.apply(sympy.sin(u**2) * sympy.cos(u**2)) == sympy.sin(2 * u**2) / 2


def test_bad_identities_are_refused(topic):
    a, b = sympy.symbols("a b")
    with pytest.raises(TypeError, match="dictionary name -> "):
        tg.sympy.rules_from_sympy([(a, b)], topic)
    with pytest.raises(RuleError, match="neither the left side nor a goal binds"):
        tg.sympy.rules_from_sympy({"unbound": (sympy.sin(a), b)}, topic, tags=["test_sympy"])
    with pytest.raises(RuleError, match="already found the equation to be True"):
        tg.sympy.rules_from_sympy({"same": sympy.Eq(a, a)}, topic)
    with pytest.raises(RuleError, match="no comparison with 0"):
        tg.sympy.rules_from_sympy({"odd": (sympy.sin(a), a, a > b)}, topic, tags=["test_sympy"])


def test_without_sympy_the_message_says_what_to_install():
    code = """
import sys
sys.modules["sympy"] = None
import termgraph as tg, termgraph.tensor as T
try:
    tg.sympy.to_sympy(T.dscalar("x"))
except ImportError as err:
    print(err)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'termgraph[sympy]'" in said

"""Rules that take nothing on trust, at zeros of both signs, infinities, NaN and the smallest numbers.

STRICT promises the value of the formula as written there, but where that overflows or cancels on its way: the sign of a
zero is kept, a number does not become NaN or infinite, and a NaN that is given is not lost.
"""

from itertools import product

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules import Float, rule, ruleset
from termgraph.rules.checking.draw import Retry
from termgraph.rules.checking.examples import Examples
from termgraph.rules.compiled import rewrite_in_stages
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.ops.elementwise import exp, expm1, log, sqr
from termgraph.terms.term import Input, mk
from termgraph.terms.traverse import children_first, free_inputs, rebuild
from termgraph.terms.types import TensorType

MANY = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, -1e-310, 1.0, -1.0, 0.5, -0.5, 1e-20, -1e-20, 1.5,
        2.0, -2.0, 40.0, -40.0, 710.0, -710.0, 800.0, -800.0, 1e200, -1e200, 1.7e308, -1.7e308]  # fmt: skip
POINTS = {1: MANY, 2: [*MANY[:7], 1.0, -1.0, 0.5, 800.0, -800.0, 1e200, -1e200], 3: [*MANY[:6], 1.0, -2.0]}
DRAWS = 12


def strict_rules():
    chosen = db.query("+fast_run", "+fast_compile", assume=()).rules
    return [r for r in chosen if r.tags & {"canonicalize", "stabilize", "specialize"}]


def of_numbers(example):
    """Whether both sides compute with float64 and truth values, element by element, of arrays of any length."""
    for t in children_first([example.before, example.after]):
        if t.op is CONST and t.value.ndim:
            return False
        if t.args and t.op.kind != "elementwise":
            return False
        if t.type.dtype not in ("float64", "bool") or t.op.family.name in ("add_rows", "assume", "between"):
            return False
    return True


def drawn(rule):
    maker = Examples(rule, 1, dtypes=("float64",))
    instances = [i for i in rule.instances() if i.main]
    for n in range(DRAWS):
        try:
            found = maker.draw(instances[n % len(instances)]) if instances else []
        except Retry:
            continue
        for example in found[:1]:
            leaves = free_inputs([example.before])
            if of_numbers(example) and 0 < len(leaves) <= 3 and all(x.type.dtype == "float64" for x in leaves):
                yield example, leaves


def at_points(example, leaves):
    """Both sides at all combinations of special points where the facts hold that the rule asks for."""
    points = np.array(list(product(POINTS[len(leaves)], repeat=len(leaves)))).T
    row = TensorType.of("float64", points.shape[1:])
    inputs = {x: Input(x.name, row) for x in leaves}
    terms = [example.before, example.after, *[t for _, t in example.facts]]
    terms = rebuild(terms, lambda t, args: inputs.get(t) or (mk(t.op, args) if args else t))
    with np.errstate(all="ignore"):
        values = evaluate(terms, dict(zip(inputs.values(), points, strict=True)))
    left, right, *asked = (np.broadcast_to(v, row.shape) for v in values)
    holds = np.ones(row.shape, dtype=bool)
    for (fact, _), v in zip(example.facts, asked, strict=True):
        holds &= [bool(fact.of_value(one)) for one in v]
    return points[:, holds], left[holds], right[holds]


def differences(points, left, right):
    """What STRICT does not promise away, by name."""
    both, nan_given = (left == 0) & (right == 0), np.isnan(points).any(axis=0)
    yield "the sign of a zero", both & (np.signbit(left) != np.signbit(right))
    rounded_away = ((points != 0) & (np.abs(points) < 1e-16)).any(axis=0)  # 1 + x is 1: a pole is no longer beside it
    yield "a number becomes NaN", np.isnan(right) & ~np.isnan(left) & ~(np.isinf(left) & rounded_away)
    yield "a NaN is lost", nan_given & np.isnan(left) & ~np.isnan(right)
    yield "a number becomes infinite", np.isinf(right) & np.isfinite(left)
    yield "an infinity changes its sign", np.isinf(right) & np.isinf(left) & (left != right)


def findings(rule):
    for example, leaves in drawn(rule):
        points, left, right = at_points(example, leaves)
        for name, where in differences(points, left.astype(float), right.astype(float)):
            if where.any():
                n = int(np.flatnonzero(where)[0])
                yield f"{rule}: {name}: {example.before} is {left[n]}, {example.after} is {right[n]} at {points[:, n]}"


def test_the_check_sees_a_lost_sign_and_a_lost_nan():
    @ruleset()
    def some(x: Float):
        yield rule("signed", exp(x) - 1, expm1(x))
        yield rule("nan", x * 0, 0)
        yield rule("infinite", log(exp(x)), log(sqr(exp(x))) / 2)

    said = [" ".join(findings(some[name])) for name in ("signed", "nan", "infinite")]
    assert "the sign of a zero" in said[0] and "a NaN is lost" in said[1]
    assert "a number becomes infinite" in said[2]


def test_many_rules_are_looked_at():
    assert sum(any(True for _ in drawn(r)) for r in strict_rules()) > 150


@pytest.mark.parametrize("topic", sorted({r.topic for r in strict_rules()}))
def test_special_points(topic):
    found = [text for r in strict_rules() if r.topic == topic for text in findings(r)]
    assert not found, "\n".join(found)


def test_zeros_that_nobody_sees_are_not_added():
    x = T.dvector("x")
    strict = [db.query("+fast_run", f"&{s}", assume=()) for s in ("stabilize", "canonicalize")]
    for written, expected in (
        (T.exp(x) - 1, T.expm1(x) + 0.0), (T.log(1 - T.exp(x)), T.log1mexp(x) + 0.0), (T.exp(x + 0.0), T.exp(x)),
        (T.log(1 + T.exp(x)), T.softplus(x)), (1 - T.cos(x), 2.0 * T.sqr(T.sin(0.5 * x))), (T.cos(0.0 - x), T.cos(x)),
        (T.assume(x, no_minus_zero=True) + 0.0, T.assume(x, no_minus_zero=True)), (x + 0.0, x + 0.0),
    ):  # fmt: skip
        made = rewrite_in_stages(written, strict)
        assert repr(getattr(made, "term", made)) == repr(expected.term)


WRITTEN = {
    "exp(x) - 1": lambda x: T.exp(x) - 1, "1 - exp(x)": lambda x: 1 - T.exp(x), "log(1 + x)": lambda x: T.log(1 + x),
    "log(1 - x)": lambda x: T.log(1 - x), "exp(x) - exp(-x)": lambda x: T.exp(x) - T.exp(-x),
    "log(exp(x))": lambda x: T.log(T.exp(x)), "sigmoid(x) - 1": lambda x: T.sigmoid(x) - 1,
    "log(sigmoid(x))": lambda x: T.log(T.sigmoid(x)), "erf(x) - 1": lambda x: T.erf(x) - 1,
    "log(1 - exp(x))": lambda x: T.log(1 - T.exp(x)), "1 - cosh(x)": lambda x: 1 - T.cosh(x),
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_a_function_in_strict_mode_keeps_the_sign_of_a_zero(text):
    x = T.dvector("x")
    with np.errstate(all="ignore"):
        kept, written = (tg.function([x], WRITTEN[text](x), mode=mode)(np.array(MANY)) for mode in ("STRICT", "None"))
    zeros = (kept == 0) & (written == 0)
    assert zeros.any() and not (np.signbit(kept) != np.signbit(written))[zeros].any()

"""Rules in functions: errors cite the user's line, dead branches vanish in every mode, `unsafe` drops checks."""

from pathlib import Path

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

MODES = {
    "FAST_RUN": tg.get_mode("FAST_RUN"), "FAST_COMPILE": tg.get_mode("FAST_COMPILE"), "strict": tg.Mode(strict=True),
}  # fmt: skip
WRONG_INDEX = "item = part[k]"


def far_from_home(x, k):
    """An index that is out of bounds, under many things that rules take away."""
    part = x[1:][1:][1:][1:]
    item = part[k]
    return (item * 1 + 0) / 1


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip() == text)


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_an_error_cites_the_users_line_after_many_rules(linker):
    x, k = T.dvector("x"), T.iscalar("k")
    f = tg.function([x, k], far_from_home(x, k), mode=tg.Mode(linker=linker))
    assert len(f.trace) >= 5 and len({r.rule for r in f.trace}) >= 3
    assert f(np.arange(8.0), 2) == 6
    with pytest.raises(IndexError) as info:
        f(np.arange(8.0), 7)
    assert f'test_rules_in_functions.py", line {line_of(WRONG_INDEX)}' in str(info.value)
    assert WRONG_INDEX in str(info.value)


@pytest.mark.parametrize("name", MODES)
def test_branches_that_are_never_taken_vanish(name):
    x, c = T.dvector("x"), T.bscalar("c")
    never = T.linalg.inv(T.outer(x, x))
    chosen = tg.ifelse(T.constant(1), x + 1, T.sum(never, axis=0))
    again = tg.ifelse(c, tg.ifelse(c, x * 2, T.sum(never, axis=0)), chosen)
    f = tg.function([x, c], again, mode=MODES[name])
    assert {"control.true", "control.then_same"} <= {r.rule for r in f.trace}
    assert not any(node.op.name == "inv" for node in f.maker.fgraph.toposort())
    np.testing.assert_allclose(f([1.0, 2.0], 1), [2, 4])
    np.testing.assert_allclose(f([1.0, 2.0], 0), [2, 3])


def test_unsafe_drops_checks_and_nothing_else_does():
    x = T.dvector("x")
    checked = tg.Assert("x must be positive")(x, T.all(x > 0)) * 2
    for mode in MODES.values():
        with pytest.raises(AssertionError, match="x must be positive"):
            tg.function([x], checked, mode=mode)([-1.0, 2.0])
    unsafe = tg.function([x], checked, mode="UNSAFE")
    assert "checks.remove" in {r.rule for r in unsafe.trace} and unsafe([-1.0, 2.0]).tolist() == [-2, 4]
    with tg.config.change_flags(optimizer_including="unsafe"):
        assert tg.function([x], checked)([-1.0, 2.0]).tolist() == [-2, 4]


def test_unsafe_knows_no_more_about_values_than_it_is_told():
    """What an array holds is no matter of trust: that a number is at most one, or above zero, somebody must say."""
    x, k, m = T.dvector("x"), T.lscalar("k"), T.dmatrix("m")
    made = [T.maximum(k, 1), abs(x), T.sign(x), x > 0, T.linalg.det(m), T.linalg.inv(m)]
    f = tg.function([x, k, m], made, mode="UNSAFE")
    given = np.array([-2.0, 3.0]), 7, np.array([[1.0, 2.0], [3.0, 5.0]])
    expected = 7, abs(given[0]), np.sign(given[0]), given[0] > 0, np.linalg.det(given[2]), np.linalg.inv(given[2])
    for got, right in zip(f(*given), expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9)


@pytest.fixture
def idle():
    """A rule with a tag of its own and no stage."""
    from termgraph.rules import rule, ruleset
    from termgraph.rules.defined import forget
    from termgraph.terms.ops.elementwise import cos, sin

    @ruleset("mine")
    def without_stage(a):
        yield rule("shift", sin(cos(a)), a)

    yield without_stage
    forget([r.name for r in without_stage])


def test_rules_that_no_stage_uses_are_mentioned(idle):
    from termgraph.terms.errors import RuleWarning

    x = T.dscalar("x")
    with pytest.warns(RuleWarning, match=r"includes without_stage\.shift, which no stage"):
        f = tg.function([x], T.sin(T.cos(x)), mode=tg.Mode(linker="py").including("mine"))
    assert float(f(0.0)) == np.sin(1.0)


def test_why_knows_the_nodes_of_the_compiled_graph():
    x = T.dvector("x")
    f = tg.function([x], T.log(1 + T.exp(x)) * 3)
    (output,) = f.maker.fgraph.outputs
    assert [r.rule for r in tg.db.why(f, output)][-1] == "logs.log1p_exp"
    assert "logs.log1p_exp" in str(tg.db.why(f, T.softplus(x)))
    assert not tg.db.why(f, x)


def test_profiles_use_the_names_of_inputs():
    a = T.dmatrix("a")
    f = tg.function([a], T.linalg.inv(a) + 1, profile=True, mode=tg.Mode(linker="py"))
    f(np.eye(2))
    assert "inv(a)" in f.profile.table()

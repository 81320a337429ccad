"""The database: queries, loading, relational questions, explanations."""

import warnings

import kanren
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import defined, rule, ruleset
from termgraph.terms.errors import RuleError, RuleWarning
from termgraph.terms.ops.elementwise import add, exp, log, log1p, mul, neg, sin, softplus, true_div

x, y = T.dmatrix("x").term, T.dmatrix("y").term


@pytest.fixture(autouse=True)
def own_rules():
    db.all_rules()
    before = dict(defined.DEFINED)
    yield
    defined.forget(set(defined.DEFINED) - set(before))
    defined.DEFINED.update(before)


def test_queries_select_by_tags_names_and_topics():
    rs = db.query("+fast_run", "-inplace", "&stabilize")
    assert "logs.log1p" in rs and "algebra.fold" not in rs
    assert rs is db.query("+fast_run -inplace &stabilize")
    assert rs is db.query(include=["fast_run"], exclude=["inplace"], require=["stabilize"])
    assert {r.name for r in db.query("logs.log1p")} == {"logs.log1p"}
    assert all(r.topic == "logs" for r in db.query("+logs"))
    assert "logs.log1p" not in db.query("+fast_run", "-logs.log1p")
    assert not db.query("None")
    assert all("fast_compile" in r.tags for r in db.query("+fast_compile"))
    assert "factoring.factor" not in db.query("+fast_compile")


def test_assumptions_admit_rules_and_trust_facts():
    trusting, strict = db.query("+fast_run"), db.query("+fast_run", assume=[])
    t = true_div(mul(x, y), y)
    assert trusting.rewrite(t) is x
    assert strict.rewrite(t) is t
    assert "inverses.inverse" not in strict and "inverses.inverse" in trusting
    v, w = T.dscalar("v"), T.assume(T.dscalar("w"), nonzero=True, finite=True)
    assert strict.rewrite(v * w / v) is not w  # it may round
    assert strict.rewrite(w / w).term.scalar == 1


def test_a_rule_set_is_a_table_and_a_lookup():
    rs = db.query("+stabilize")
    r = rs["logs.log1p"]
    assert (r.before, r.after) == ("log(1 + x)", "log1p(x)")
    assert "logs.log1p" in str(rs) and "->" in str(rs)
    with pytest.raises(KeyError, match=r"did you mean logs\.log1p"):
        rs["logs.log1"]


def test_new_rules_are_seen_by_the_next_query():
    before = db.query("+stabilize")

    @ruleset("stabilize")
    def mine(x):
        yield rule("sin_neg", sin(-x), -sin(x))

    after = db.query("+stabilize")
    assert "mine.sin_neg" in after and "mine.sin_neg" not in before
    assert after.rewrite(sin(neg(x))) is neg(sin(x))


def test_the_result_does_not_depend_on_the_order_of_loading(tmp_path):
    (tmp_path / "a.py").write_text(FILE.format(topic="aaa", left="sin(x)", right="exp(x)"))
    (tmp_path / "b.py").write_text(FILE.format(topic="bbb", left="sin(x)", right="log(x)"))
    results = set()
    for order in (("a", "b"), ("b", "a")):
        for name in order:
            db.load(tmp_path / f"{name}.py")
        results.add(db.query("+mine").rewrite(sin(x)))
    assert results == {exp(x)}


FILE = """
from termgraph.rules import rule, ruleset
from termgraph.terms.ops.elementwise import sin, exp, log

@ruleset("mine")
def {topic}(x):
    yield rule("one", {left}, {right})
"""


def test_a_broken_file_is_reported_with_its_line_and_the_rest_loads(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from termgraph.rules import rule, ruleset\n"
        "from termgraph.terms.ops.elementwise import sin, cos\n"
        "@ruleset('mine')\n"
        "def mixed(x, y):\n"
        "    yield rule('good', sin(x), cos(x))\n"
        "    yield rule('unbound', cos(x), x + y)\n"
        "    yield rule('also_good', -(-x), x)\n"
    )
    with pytest.warns(RuleWarning, match=r"mixed\.unbound' at .*bad\.py:6.*uses y"):
        assert db.load(bad) == ["mixed.also_good", "mixed.good"]
    syntax = tmp_path / "syntax.py"
    syntax.write_text("def broken(:\n")
    with pytest.warns(RuleWarning, match=r"syntax\.py:1: SyntaxError"):
        assert db.load(syntax) == []
    crash = tmp_path / "crash.py"
    crash.write_text("x = 1\nraise RuntimeError('no')\n")
    with pytest.warns(RuleWarning, match=r"crash\.py:2: RuntimeError: no"):
        db.load(crash)
    with pytest.warns(RuleWarning, match="does not exist"):
        db.load(tmp_path / "missing.py")
    assert db.query("+mine").rewrite(sin(x)).op.name == "cos"


def test_loading_again_replaces(tmp_path):
    path = tmp_path / "again.py"
    path.write_text(FILE.format(topic="again", left="sin(x)", right="exp(x)"))
    db.load(path)
    path.write_text(FILE.format(topic="again", left="sin(x)", right="log(x)"))
    db.load(path)
    assert db.query("+mine").rewrite(sin(x)) is log(x)


def test_rules_by_head_tag_and_product():
    assert "logs.log1p" in [r.name for r in db.rules(head=T.log, tag="stabilize")]
    assert {"sigmoids.sigmoid", "sigmoids.sigmoid_exp"} <= {r.name for r in db.makes(T.sigmoid)}


def test_kanren_answers_about_the_database():
    q = kanren.var()
    assert "sigmoids.sigmoid" in kanren.run(0, q, db.makes(q, T.sigmoid))
    assert kanren.run(0, q, db.rewrites(q, log(add(x, 1.0)), log1p(x))) == ("logs.log1p",)
    assert kanren.run(0, q, db.rewrites("logs.log1p", log(add(x, 1.0)), q)) == (log1p(x),)


def test_why_tells_the_rules_in_order():
    rs = db.query("+fast_run")
    new, trace = rs.rewrite_traced(log(add(exp(x), 1.0)))
    assert new is softplus(x)
    assert [r.rule for r in db.why(trace, new)] == ["logs.log1p", "logs.log1p_exp"]
    assert "logs.log1p_exp" in str(db.why(trace, new))
    assert not db.why(trace, x) and "as it was written" in str(db.why(trace, x))


def test_why_not_says_which_part_failed():
    left = db.why_not("logs.log1p", log(add(x, 2.0)))
    assert not left.applies and "no operand of add(x, 2.0) matches 1" in str(left)
    goal = db.why_not("algebra.mul_div", true_div(mul(x, y), y))
    assert "goal nonzero(y) is not known" in str(goal) and "T.assume(..., nonzero=True)" in str(goal)
    assert db.why_not("algebra.mul_div", true_div(mul(x, y), y), assume=["nonzero", "finite"]).applies
    guard = db.why_not("logs.log_sigmoid", log(add(x, y)))
    assert "expected sigmoid" in str(guard)
    assert "has no log" in str(db.why_not("logs.log1p", x))
    with pytest.raises(RuleError, match="did you mean"):
        db.why_not("logs.log1pp", x)


def test_why_not_says_what_others_make_possible():
    v = T.dvector("v")
    later = db.why_not("logs.log1p", T.log(1 + v - T.zeros_like(v)))
    assert not later.applies and "applies after other rules:\n    log(add(1.0, v)) -> log1p(v)" in str(later)
    assert db.why_not("logs.log1p", T.log(1 + v)).applies


def test_a_query_for_what_nobody_is_called():
    with pytest.warns(RuleWarning, match="'stabilise'; did you mean stabilize"):
        assert len(db.query("+stabilise")) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.query("+inplace"), db.query("&stabilize"), db.query("+scan")


def test_graph_passes_are_selected_by_the_same_queries():
    db.register_pass("test_pass", lambda roots: roots, "fuse", order=2)
    try:
        assert [p.name for p in db.query("+fast_run", "&fuse").passes] == ["test_pass"]
        assert not db.query("+fast_run", "&fuse", "-test_pass").passes
        with pytest.raises(RuleError, match="exists"):
            db.register_pass("test_pass", lambda roots: roots)
    finally:
        del db.PASSES["test_pass"]

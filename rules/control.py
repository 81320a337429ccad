"""Lazy choices with a known condition, checks that cannot fail, promises about shapes that are kept anyway."""

from termgraph.rulelib._goals_control import chosen_item, equal_item, failing, kept_promises
from termgraph.rules import Constant, nonzero, param, rule, ruleset, seg
from termgraph.rules.shape_facts import unknown_along
from termgraph.terms.ops.assume import required
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.control import check, ifelse
from termgraph.terms.ops.elementwise import logical_not
from termgraph.terms.ops.shaping import specify_shape, unbroadcast


@ruleset("canonicalize")
def control(c, x, y, z, k: Constant, xs: seg, ys: seg, ns: seg, e: param, m: param, n: param, i: param, w: param,
            a: param):
    # the branch that is not taken vanishes
    yield rule("true",           ifelse(k[nonzero], x, y, n=1),                  x)
    yield rule("false",          ifelse(0, x, y, n=1),                           y)
    yield rule("equal",          ifelse(c, x, x, n=1),                           x)
    yield rule("not",            ifelse(logical_not(c), x, y, n=1),              ifelse(c, y, x, n=1))
    yield rule("then_same",      ifelse(c, ifelse(c, x, y, n=1), z, n=1),        ifelse(c, x, z, n=1))
    yield rule("else_same",      ifelse(c, x, ifelse(c, y, z, n=1), n=1),        ifelse(c, x, z, n=1))
    yield rule("item_chosen",    nth(ifelse(k, *xs, n=n), i=i),                  y,
                                 chosen_item(k, xs, n, i, y))
    yield rule("item_equal",     nth(ifelse(c, *xs, n=n), i=i),                  y,
                                 equal_item(xs, n, i, y))

    # checks
    yield rule("check_true",     check(x, *xs, error=e, message=m),              check(x, *ys, error=e, message=m),
                                 failing(xs, ys))
    yield rule("check_nothing",  check(x, error=e, message=m),                   x)
    yield rule("check_twice",    check(check(x, *xs, error=e, message=m), *xs, error=e, message=m),
                                 check(x, *xs, error=e, message=m))
    yield rule("required_true",  required(x, k[nonzero], message=m),             x)

    # promises about shapes
    yield rule("specify_known",  specify_shape(x, *ns, known=w, told=m),         x,
                                 kept_promises(x, ns, w))
    yield rule("unbroadcast",    unbroadcast(x, axis=a),                         x,
                                 unknown_along(x, a))


@ruleset("canonicalize", "unsafe")
def checks(x, xs: seg, e: param, m: param):
    yield rule("remove",         check(x, *xs, error=e, message=m),              x)

"""Derivatives of ops about running: lazy choice, checks, printing, recomputation."""

from __future__ import annotations

from termgraph.rules import goal, param, rule, ruleset, seg
from termgraph.rules.parts import nothing_for
from termgraph.terms.build import filled_like
from termgraph.terms.ops.barrier import later
from termgraph.terms.ops.control import check, ifelse, print_
from termgraph.terms.ops.derivative import NOTHING, pullback, pushforward, tup
from termgraph.terms.term import mk


@goal("iiio")
def through_choice(c, xs, gs):
    """The cotangents go to the branch that was taken, zeros to the other."""
    one, n = ifelse.bind(n=1), len(gs)
    thens = [mk(one, (c, g, filled_like(x, 0))) for x, g in zip(xs[:n], gs)]
    elses = [mk(one, (c, filled_like(x, 0), g)) for x, g in zip(xs[n:], gs)]
    return (*thens, *elses)


@goal("iiio")
def choice_of_tangents(c, xs, ts):
    """The choice between the tangents of the branches."""
    n = len(xs) // 2
    full = [filled_like(x, 0) if t is NOTHING and x.type.kind in "fc" else t for x, t in zip(xs, ts)]
    out = [NOTHING if a is NOTHING else mk(ifelse.bind(n=1), (c, a, b)) for a, b in zip(full[:n], full[n:])]
    return out[0] if n == 1 else mk(tup, tuple(out))


@ruleset("grad")
def grad_control(x, c, g, r, t, a: param, b: param, e: param, xs: seg, gs: seg, hs: seg, ns: seg):
    yield rule("ifelse",          pullback(ifelse(c, *xs, n=a), *gs),           tup(NOTHING, *hs),
                                  through_choice(c, xs, gs, hs))
    yield rule("check",           pullback(check(x, *ns, error=a, message=b), g), tup(g, *nothing_for(ns)))
    yield rule("print",           pullback(print_(x, message=a, attributes=b, show=e), g),  (g,))
    yield rule("later",           pullback(later(x, *ns), g),                   tup(g, *nothing_for(ns)))
    yield rule("forward_ifelse",  pushforward(ifelse(c, *xs, n=a), r, *gs),     t,
                                  choice_of_tangents(c, xs, gs, t))
    yield rule("forward_check",   pushforward(check(x, *ns, error=a, message=b), t, *hs),  t)
    yield rule("forward_print",   pushforward(print_(x, message=a, attributes=b, show=e), t),  t)
    yield rule("forward_later",   pushforward(later(x, *ns), t, *hs),           t)

"""Derivatives of ops about running: lazy choice, checks, printing, recomputation."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_control import through_choice
from termgraph.rulelib._goals_grad_forward import choice_of_tangents
from termgraph.rules import param, rule, ruleset, seg
from termgraph.rules.parts import nothing_for
from termgraph.terms.ops.barrier import later
from termgraph.terms.ops.control import check, ifelse, print_
from termgraph.terms.ops.derivative import NOTHING, pullback, pushforward, tup


@ruleset("grad")
def grad_control(x, c, g, r, t, a: param, b: param, e: param, xs: seg, gs: seg, hs: seg, ns: seg):
    yield rule("ifelse",          pullback(ifelse(c, *xs, n=a), *gs),
                                  tup(NOTHING, *through_choice(c, xs, gs)))
    yield rule("check",           pullback(check(x, *ns, error=a, message=b), g), tup(g, *nothing_for(ns)))
    yield rule("print",           pullback(print_(x, message=a, attributes=b, show=e), g),  (g,))
    yield rule("later",           pullback(later(x, *ns), g),                   tup(g, *nothing_for(ns)))
    yield rule("forward_ifelse",  pushforward(ifelse(c, *xs, n=a), r, *gs),     t,
                                  choice_of_tangents(c, xs, gs, t))
    yield rule("forward_check",   pushforward(check(x, *ns, error=a, message=b), t, *hs),  t)
    yield rule("forward_print",   pushforward(print_(x, message=a, attributes=b, show=e), t),  t)
    yield rule("forward_later",   pushforward(later(x, *ns), t, *hs),           t)

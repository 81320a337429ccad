"""Conversions: one is enough, and constants are written in the dtype in which they are used."""

from termgraph.rulelib._goals_dtypes import constants_in_loop_dtype
from termgraph.rulelib._goals_shapes import elemwise
from termgraph.rules import exact_in, head, integer, param, rule, ruleset, seg
from termgraph.rules.type_facts import needless
from termgraph.terms.ops.elementwise import cast, ceil, eq, floor, logical_not, neq, round_, switch, trunc
from termgraph.terms.ops.reduce import all_, any_, prod, sum_

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def casts(x, y, z, f: head, g: head[floor, ceil, trunc, round_], xs: seg, ys: seg, a: param, b: param, d: param,
          q: head[any_, all_], e: head[eq, neq], r: head[sum_, prod]):
    yield rule("same",           cast(x, dtype=x.dtype),                         x, tags=AGAIN)
    yield rule("twice",          cast(cast(x, dtype=a), dtype=b),                cast(x, dtype=b),
                                 needless(x, a, b), tags=AGAIN)
    yield rule("constants",      f(*xs),                                         f(*ys),
                                 elemwise(f), constants_in_loop_dtype(f, xs, ys))

    # what only asks whether something is zero does not mind how it is stored
    yield rule("condition",      switch(cast(x, dtype=d), y, z),                 switch(x, y, z),
                                 exact_in(x, d))
    yield rule("logical_not",    logical_not(cast(x, dtype=d)),                  logical_not(x),
                                 exact_in(x, d))
    yield rule("equals_zero",    e(cast(x, dtype=d), 0),                         e(x, 0),
                                 exact_in(x, d))
    yield rule("any_all",        q(cast(x, dtype=d)),                            q(x),
                                 exact_in(x, d))

    # sums and products convert as they go
    yield rule("folded",         r(cast(x, dtype=d), axis=a, dtype=d),           r(x, axis=a, dtype=d),
                                 exact_in(x, d))

    # whole numbers are not rounded
    yield rule("rounding",       g(x[integer]),                                  x)

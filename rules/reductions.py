"""Reductions: fewer axes, fewer passes, and nothing reduced that does not vary."""

from termgraph.rulelib._goals_reduce import (
    chosen_for_all, constant_divisor, constant_factors, reduced_before_order, sum_of_parts, without_short_axes,
)
from termgraph.rules import (
    Bool, Float, Scalar, Uniform, dual, exact_in, head, needed_once, nonzero, param, positive, rule, ruleset, seg, this,
)
from termgraph.rules.length_parts import repeats, repetitions, unrepeated
from termgraph.rules.parts import lengths, merged
from termgraph.rules.shape_facts import along_one, increasing, reduces, single
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast, exp, logical_not, mul, neq, sqr, switch
from termgraph.terms.ops.reduce import (
    all_, any_, argmax, argmin, cummax, cummin, cumprod, cumsum, logsumexp, max_, min_, prod, sum_,
)
from termgraph.terms.ops.shaping import alloc, join
from termgraph.terms.ops.sorting import argsort, sort

ROUNDS = ["reassoc"]

AGAIN = ["specialize"]  # tidies up after the rules of that stage as well


@ruleset("canonicalize")
def reductions(x, y, z, n, w: Float, v: Uniform & Float & Scalar, j: Uniform, p: Bool, f: head, k: head,
               xs: seg, ns: seg, a: param, b: param, d: param, o: param,
               r: head[sum_, prod, max_, min_, any_, all_, logsumexp],
               e: head[max_, min_], l: head[any_, all_], t: head[argmax, argmin],
               s: head[sum_], q: head[max_, min_, any_, all_], g: head[cumsum, cumprod, cummax, cummin, sort],
               h: head[sum_, prod]):
    # nothing to reduce
    yield rule("fold_nothing",   h(x, axis=(), dtype=d),                         cast(x, dtype=d),
                                 assumes=["signed_zero"], tags=AGAIN)
    yield rule("extreme_nothing", e(x, axis=()),                                 x, tags=AGAIN)
    yield rule("truth_nothing",  l(x, axis=()),                                  neq(x, 0), tags=AGAIN)
    yield rule("logsumexp_nothing", logsumexp(w, axis=()),                       w, assumes=["signed_zero"], tags=AGAIN)
    yield rule("short_axes",     r(x),                                           y,
                                 without_short_axes(r, x, y), tags=AGAIN)
    yield rule("running_one",    g(x),                                           x,
                                 along_one(g, x))

    # one reduction instead of two
    yield rule("fold_fold",      h(h(x, axis=a, dtype=d), axis=b, dtype=d),
                                 h(x, axis=merged(x, a, b), dtype=d), assumes=[*ROUNDS, "finite"])
    yield rule("max_max",        max_(max_(x, axis=a), axis=b),                  max_(x, axis=merged(x, a, b)))
    yield rule("min_min",        min_(min_(x, axis=a), axis=b),                  min_(x, axis=merged(x, a, b)),
                                 assumes=["signed_zero"])
    yield rule("truth_twice",    l(l(x, axis=a), axis=b),                        l(x, axis=merged(x, a, b)))
    yield rule("dimshuffle",     r(dimshuffle(x, order=o)),                      y,
                                 reduced_before_order(r, x, o, y), assumes=ROUNDS)

    # what does not vary comes out
    yield rule("sum_scaled",     sum_(mul(*xs), axis=a, dtype=d),                y * sum_(z, axis=a, dtype=d),
                                 constant_factors(this, xs, a, d, y, z), assumes=[*ROUNDS, "finite"])
    yield rule("sum_over",       sum_(x / y[nonzero], axis=a, dtype=d),          sum_(x, axis=a, dtype=d) / z,
                                 constant_divisor(x, y, a, z), assumes=["finite", "nonzero", *ROUNDS])
    yield rule("sum_chosen",     sum_(switch(y, x, j), axis=a, dtype=d),         switch(n, sum_(x, axis=a, dtype=d), z),
                                 chosen_for_all(y, x, j, a, d, n, z), assumes=ROUNDS)
    yield rule("sum_chosen_not", sum_(switch(y, j, x), axis=a, dtype=d),         switch(n, z, sum_(x, axis=a, dtype=d)),
                                 chosen_for_all(y, x, j, a, d, n, z), assumes=ROUNDS)
    yield rule("sum_neg",        sum_(-w, axis=a, dtype=d),                      -sum_(w, axis=a, dtype=d),
                                 assumes=["signed_zero"])
    yield rule("extreme_neg",    e(-w, axis=a),                                  -k(w, axis=a),           dual(e, k))
    # (but where the values are needed too: f may round them differently, and gradients ask which of them is largest)
    yield rule("extreme_increasing", e(f(w)[needed_once], axis=a),               f(e(w, axis=a)), increasing(f),
                                     assumes=["domain", "reassoc"])
    yield rule("extreme_scaled", e((v[positive] * w)[needed_once], axis=a),      v * e(w, axis=a), assumes=["overflow"])
    yield rule("prod_exp",       prod(exp(w)[needed_once], axis=a, dtype=d),     exp(sum_(w, axis=a, dtype=d)),
                                 assumes=["overflow", "reassoc"])
    yield rule("prod_sqr",       prod(sqr(w), axis=a, dtype=d),                  sqr(prod(w, axis=a, dtype=d)),
                                 assumes=["reassoc"])
    yield rule("truth_not",      l(logical_not(x), axis=a),                      logical_not(k(x, axis=a)), dual(l, k))
    yield rule("truth_neq",      l(neq(x, 0), axis=a),                           l(x, axis=a))
    yield rule("max_bool",       max_(p, axis=a),                                any_(p, axis=a),
                                 assumes=["domain"])
    yield rule("min_bool",       min_(p, axis=a),                                all_(p, axis=a),
                                 assumes=["domain"])

    # copies of one value, concatenated arrays, arrays in another order
    yield rule("sum_alloc",      sum_(alloc(x, *ns), axis=a, dtype=d),
                                 cast(unrepeated(x, ns, a), dtype=d) * cast(repetitions(ns, a), dtype=d),
                                 repeats(x, ns, a), assumes=[*ROUNDS, "finite"])
    yield rule("prod_alloc",     prod(alloc(x, *ns), axis=a, dtype=d),
                                 cast(unrepeated(x, ns, a), dtype=d) ** cast(repetitions(ns, a), dtype=d),
                                 repeats(x, ns, a), assumes=ROUNDS)
    yield rule("extreme_alloc",  e(alloc(x, *ns), axis=a),                       unrepeated(x, ns, a),
                                 repeats(x, ns, a), positive(repetitions(ns, a)))
    yield rule("truth_alloc",    l(alloc(x, *ns), axis=a),                       neq(unrepeated(x, ns, a), 0),
                                 repeats(x, ns, a), positive(repetitions(ns, a)))
    yield rule("sum_join",       s(join(*xs, axis=b)),                           y,
                                 sum_of_parts(xs, s, b, y), assumes=ROUNDS)
    yield rule("of_sorted",      q(sort(x, axis=b)),                             q(x),
                                 reduces(q, b), assumes=["signed_zero"])
    yield rule("sum_of_sorted",  h(sort(x, axis=b)),                             h(x),
                                 reduces(h, b), assumes=["finite", "reassoc"])

    # where the largest is
    yield rule("arg_neg",        t(-w, axis=a),                                  k(w, axis=a),            dual(t, k))
    yield rule("arg_increasing", t(f(w), axis=a),                                t(w, axis=a),
                                 increasing(f), assumes=["domain", "finite", "overflow", "reassoc"])
    yield rule("arg_cast",       t(cast(x, dtype=d), axis=a),                    t(x, axis=a),
                                 exact_in(x, d))

    # orders
    yield rule("sort_sort",      sort(sort(x, axis=b), axis=b),                  sort(x, axis=b))
    yield rule("argsort_one",    argsort(x, axis=b),                             alloc(0, *lengths(x)),
                                 single(x, b))

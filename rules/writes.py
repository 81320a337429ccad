"""Writing into arrays: writes that are overwritten, that write nothing, that fill everything, or that meet zeros."""

from termgraph.rulelib._goals_writes import like, summed_places
from termgraph.rules import Inexact, Scalar, head, param, rule, ruleset, same_type, seg, this
from termgraph.rules.constant_guards import Zero, Zeros
from termgraph.rules.index_parts import cut_along, fills
from termgraph.rules.shape_facts import takes
from termgraph.terms.ops.indexing import inc_subtensor, scatter_add, scatter_set, set_subtensor, subtensor
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import alloc, join


@ruleset("canonicalize")
def writes(x, y, z, o: Zeros, q: Zero, w: Inexact, v: Scalar, ks: seg, ns: seg, i: param, j: param,
           a: param, d: param, f: head[set_subtensor, inc_subtensor, scatter_set, scatter_add],
           s: head[set_subtensor, scatter_set], t: head[inc_subtensor, scatter_add]):
    # everything is written
    yield rule("set_all",        set_subtensor(x, y, index=()),                  z,
                                 like(y, x, z))
    yield rule("inc_all",        inc_subtensor(x, y, index=()),                  x + y,
                                 takes(x, y))

    # written twice
    yield rule("set_twice",      s(s(x, y, *ks, index=i), z, *ks, index=i),      s(x, z, *ks, index=i))
    yield rule("set_inc",        set_subtensor(inc_subtensor(x, y, *ks, index=i), z, *ks, index=i),
                                 set_subtensor(x, z, *ks, index=i))
    yield rule("inc_set",        inc_subtensor(set_subtensor(x, y[x.dtype], *ks, index=i), z[x.dtype], *ks, index=i),
                                 set_subtensor(x, y + z, *ks, index=i))
    yield rule("added_twice",    t(t(x, y[x.dtype], *ks, index=i), z[x.dtype], *ks, index=i), t(x, y + z, *ks, index=i),
                                 assumes=["reassoc"])

    # what was there before, or nothing
    yield rule("set_same",       set_subtensor(x, subtensor(x, *ks, index=i), *ks, index=i), x)
    yield rule("inc_zero",       inc_subtensor(x, q, *ks, index=i),              x, assumes=["signed_zero"])
    yield rule("add_zero",       scatter_add(x, q, *ks, index=i),                x,
                                 assumes=["domain", "signed_zero"])
    yield rule("inc_old",        set_subtensor(x, subtensor(x, *ks, index=i) + y, *ks, index=i),
                                 inc_subtensor(x, y, *ks, index=i),
                                 takes(x, y))
    yield rule("inc_zeros",      inc_subtensor(o, y, *ks, index=i),              set_subtensor(o, y, *ks, index=i),
                                 assumes=["signed_zero"])

    # written in two parts that meet: what was cut in two, such as a roll, is put together again
    for first, second, front, back in ((i, j, y, z), (j, i, z, y)):
        side = "front" if first is i else "back"
        yield rule(f"set_{side}",  set_subtensor(set_subtensor(x, y[x.dtype], *ks, index=i), z[x.dtype], *ks, index=j),
                                     join(front, back, axis=cut_along(first, second)), fills(x, y, i), fills(x, z, j),
                                     assumes=["domain"])
        yield rule(f"inc_{side}",  inc_subtensor(inc_subtensor(x, y[x.dtype], *ks, index=i), z[x.dtype], *ks, index=j),
                                     x + join(front, back, axis=cut_along(first, second)), fills(x, y, i),
                                     fills(x, z, j), assumes=["domain"])
        yield rule(f"zeros_{side}", inc_subtensor(set_subtensor(o, y[o.dtype], *ks, index=i), z[o.dtype], *ks, index=j),
                                     join(front, back, axis=cut_along(first, second)), fills(o, y, i), fills(o, z, j),
                                     assumes=["domain", "signed_zero"])

    # one value for all places
    yield rule("alloc",          f(x, alloc(v, *ns), *ks, index=i),              f(x, v, *ks, index=i),
                                 assumes=["domain"])

    # a sum with something written into zeros is written into the other operand
    yield rule("add_set",        set_subtensor(o, y, *ks, index=i) + x,          inc_subtensor(x, y, *ks, index=i),
                                 same_type(o, x), assumes=["reassoc"])
    yield rule("add_scatter",    scatter_add(o, y, *ks, index=i) + x,            scatter_add(x, y, *ks, index=i),
                                 same_type(o, x), assumes=["reassoc"])
    yield rule("scatter_minus",  scatter_add(o, y, *ks, index=i) - w,            scatter_add(-w, y, *ks, index=i),
                                 same_type(o, w), assumes=["reassoc"])
    yield rule("minus_scatter",  w - scatter_add(o, y[w.dtype], *ks, index=i),   scatter_add(w, -y, *ks, index=i),
                                 same_type(o, w), assumes=["reassoc"])

    # the sum along an axis of what was written into zeros: the place along the axis does not matter
    yield rule("sum_scatter",    sum_(scatter_add(o[this.dtype], y, *ks, index=i), axis=a, dtype=d), z,
                                 summed_places(o, y, ks, i, a, z), assumes=["domain", "reassoc"])

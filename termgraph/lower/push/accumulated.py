"""Products of matrices that a library call adds to what is there: c + alpha * a @ b, and sums of several products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.terms.build import in_dtype
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, mul, neg, sub
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import children_first, client_map, rebuild

if TYPE_CHECKING:
    Clients = dict[Any, list[tuple[Any, int]]]  # of each term, the places that use it

# c + alpha * a @ b, which the library adds into the storage of c.
GEMM = Op("gemm", arity=4, infer=lambda c, a, b, alpha: c, meaning=None, kind="linalg")


def accumulated(roots: Sequence[Any]) -> list[Any]:
    """Roots of the form c + alpha * dot(a, b) as one library call that starts from c.

    Not those that something else is computed from, as from a momentum a weight: the product would be made twice.
    """
    clients = client_map(roots)
    sums = {t: each for t in clients if t.op is add and len(t.args) > 2 and (each := _from_zeros(t, clients))}
    if sums:
        roots = _one_after_the_other(roots, sums)
        clients = client_map(roots)
    return [_accumulated(r, clients) if all(t == "output" for t, _ in clients[r]) else r for r in roots]


def _from_zeros(t: AnyTerm, clients: Clients) -> list[AnyTerm]:
    """The products of matrices that t adds up, if it begins with zeros and adds nothing else: a gradient of a loop that
    runs in chunks.
    """
    zeros = [a for a in t.args if a.op is alloc and getattr(a.args[0], "scalar", None) == 0]
    products = [a for a in t.args if a not in zeros]
    alone = all(_scaled_product(a, clients) is not None and a.op is not mul for a in products)
    single = t.type.dtype not in ("float32", "float64") or any(1 in a.type.shape for a in t.args)
    return [zeros[0], *products] if len(zeros) == 1 and len(products) > 1 and alone and not single else []


def _one_after_the_other(roots: Sequence[Any], sums: dict[Any, list[AnyTerm]]) -> list[Any]:
    """Sums of products as calls that add to one array, each as soon as its factors are there."""
    depth: dict[Any, int] = {}
    for t in children_first(roots):
        depth[t] = 1 + max([depth[a] for a in t.args], default=0)

    def change(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        if t not in sums:
            return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)
        new = dict(zip(t.args, args))
        total, *products = sums[t]
        for p in sorted(products, key=depth.__getitem__):
            total = mk(GEMM, (total, *new[p].args, Const(np.ones((), t.type.dtype))))
        return total

    return rebuild(roots, change)


def _accumulated(t: AnyTerm, clients: Clients) -> AnyTerm:
    if t.op not in (add, sub) or len(t.args) != 2 or t.type.dtype not in ("float32", "float64"):
        return t
    for k in (0, 1) if t.op is add else (1,):
        found = _scaled_product(t.args[k], clients)
        c = t.args[1 - k]
        if found is None or c.type.dtype != t.type.dtype or c.type.ndim != 2:
            continue
        alpha, product = found
        kept = c.op is GEMM and len(clients[c]) > 1  # what is added to it is written over it
        if not kept and 1 not in (*c.type.shape, *product.type.shape):
            if t.op is sub:
                alpha = mk(neg, (alpha,))
            return mk(GEMM, (c, *product.args, alpha))
    return t


def _scaled_product(t: AnyTerm, clients: Clients) -> tuple[AnyTerm, AnyTerm] | None:
    """A scalar and the product of two matrices that nobody else uses, if t is their product."""
    factors = list(t.args) if t.op is mul else [t]
    products = [f for f in factors if f.args and f.op.family.name == "dot" and len(clients[f]) == 1]
    others = [_scalar_of(f) for f in factors if f not in products]
    rest = [s for s in others if s is not None]
    if len(clients[t]) != 1 or len(products) != 1 or len(rest) < len(others) or products[0].type.ndim != 2:
        return None
    if any(a.type.dtype != t.type.dtype for a in products[0].args):
        return None
    one = Const(np.ones((), t.type.dtype))
    return in_dtype(mk(mul, tuple(rest)) if len(rest) > 1 else rest[0] if rest else one, t.type.dtype), products[0]


def _scalar_of(t: AnyTerm) -> AnyTerm | None:
    """The 0-d term that t repeats, or None."""
    while t.args and t.op.family is dimshuffle and all(d == "x" for d in t.op.params["order"]):
        t = t.args[0]
    if t.__class__ is Const and t.scalar is not None:
        return Const(np.asarray(t.scalar, t.type.dtype))
    return t if t.type.ndim == 0 else None

"""Gradients as variables: what one backward pass gives, brought to the types and the convention of the user.

Of a warm start nothing here is needed, see `waiting`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from termgraph._collector import paused_gc
from termgraph._lazy import lazy
from termgraph.grad.checks import check_wrt
from termgraph.grad.reverse import Backward, cuts, data_of
from termgraph.grad.stable import backward
from termgraph.tensor.bipartite import DeferredView, ancestors
from termgraph.tensor.origins import note_origins
from termgraph.tensor.testvalues import note_test_value
from termgraph.tensor.trace import placed, user_site
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.build import filled_like
from termgraph.terms.errors import DisconnectedInputError
from termgraph.terms.op import INPUT
from termgraph.terms.ops.elementwise import add, cast, conj, real
from termgraph.terms.ops.sparse import csm, csm_data, csm_indices, csm_indptr, csm_shape
from termgraph.terms.sparse import SparseType
from termgraph.terms.term import mk, mk1
from termgraph.terms.traverse import children_first, region, resolve_bound, subterms, users_first

if TYPE_CHECKING:
    from termgraph.grad import explain, user_defined
    from termgraph.terms.term import AnyTerm
else:
    explain = lazy("termgraph.grad.explain")  # what errors say
    user_defined = lazy("termgraph.grad.user_defined")


class Gap:
    """What stands for a gradient that is not there: `connected` if zero, or why it is null."""

    def __init__(self, why: str) -> None:
        self.why = why


def gradients_of(
    starts: Sequence[tuple[Variable, Any]],
    wrt: Sequence[Variable],
    constant: Sequence[Variable] = (),
    null_gradients: str = "raise",
    known: Sequence[Variable] = (),
    site: tuple | None = None,
) -> list[Any]:
    """The gradients as variables; `Gap("disconnected")` or `Gap("null")` where there is none.

    `starts` are pairs of a variable and the term of its cotangent, in the user's convention for complex numbers.
    To those that are `known` nothing else is added. `site` is the user's line, if that is not the present one.
    """
    for v in wrt:
        check_wrt(v, [root for root, _ in starts])
    terms, targets, blocked = [v.term for v, _ in starts], [v.term for v in wrt], [v.term for v in constant]
    settled = [v.term for v in known]
    order = children_first(terms)
    if any(t.op is INPUT and t.bound is not None for t in (*order, *targets)):
        terms, targets, blocked, settled = map(resolve_bound, (terms, targets, blocked, settled))
        order = children_first(terms)
    seeds: dict[Any, Any] = {}
    for t, (_, g) in zip(terms, starts):
        g = _conj(g)
        seeds[t] = mk(add, (seeds[t], g)) if t in seeds else g
    with paused_gc():
        run = backward(seeds, targets, blocked, order, settled)
    roots = [v for v, _ in starts]
    if run.refused and null_gradients == "raise":
        refusal = next(iter(run.refused.values()))
        raise refusal.kind(explain.refusal_text(refusal, roots, wrt))
    null = _null_targets(run, targets)
    site = user_site() if site is None else site
    view = DeferredView([*roots, *wrt, *constant], _Sites(run.sources, roots, site))
    reachable = functools.cache(lambda: connected(seeds, set(blocked)))
    out = []
    for v, t in zip(wrt, targets):
        if t in null:
            out.append(Gap("null"))
        elif id(t) in run.gradients:
            out.append(view.variable(shaped_like(v.term, _conj(run.gradients[id(t)])), site))
        elif t in reachable():
            out.append(view.variable(zero_like(v.term), site))
        else:
            out.append(Gap("disconnected"))
    made: list[Any] = [v for v in out if not isinstance(v, Gap)]
    note_origins(made, (*roots, *wrt))
    note_test_value(made)
    return out


def connected(seeds: Iterable[Any], blocked: set) -> set:
    """Everything the seeds depend on other than through lengths and what is held constant."""
    return set(users_first(seeds, lambda t: () if t in blocked or cuts(t.op) else t.args))


def _null_targets(run: Backward, targets: Sequence[Any]) -> set:
    """The targets whose gradient would need a derivative that is missing."""
    if not run.refused:
        return set()
    below = set(subterms([r.argument for r in run.refused.values()]))
    return {t for t in targets if t in below}


class _Sites:
    """Where the parts of a gradient come from: the line of the forward op they are the derivative of."""

    def __init__(self, sources: Mapping[Any, Any], roots: Sequence[Variable], default: tuple) -> None:
        self.sources, self.roots, self.default = sources, roots, default
        self.table: dict[Any, tuple] | None = None

    def get(self, t: Any, default: tuple = ()) -> tuple:
        if self.table is None:
            self.table = self._build()
        return self.table.get(t, self.default)

    def _build(self) -> dict[Any, tuple]:
        table: dict[Any, tuple] = {}
        for v in ancestors(self.roots):
            table[v.term] = v.site or table.get(v.term, ())
        for made, source in self.sources.items():  # in the order made: parts of it made before are known by then
            site = table.get(source, ())
            new, _ = region([made], lambda t: t not in table)
            table.update(dict.fromkeys(new, site))
        return table


def _conj(g: AnyTerm) -> Any:
    """Between the user's convention (d/dRe + i d/dIm) and the one inside (dL = Re(g dy))."""
    return mk1(conj, g) if g.type.kind == "c" else g


def fill_gaps(
    found: list[Any], roots: Sequence[Variable], wrt: Sequence[Variable], disconnected: str, returned: str
) -> list[Any]:
    out = []
    for v, g in zip(wrt, found):
        if isinstance(g, Gap) and g.why == "disconnected":
            if disconnected != "ignore":
                text = f"grad: {explain.disconnected_text(v, roots)}"
                if disconnected == "raise":
                    raise DisconnectedInputError(placed(v.site, text))
                warnings.warn(text, stacklevel=3)
            g = _disconnected_value(v, returned)
        out.append(None if isinstance(g, Gap) else g)
    return out


def _disconnected_value(v: Variable, returned: str) -> Any:
    if returned == "none":
        return None
    if returned == "disconnected":
        return user_defined.DisconnectedType()()
    return as_tensor(zero_like(v.term))


def zero_like(t: AnyTerm) -> Any:
    """Zeros in the form of a term: of a sparse matrix, in all places where it stores an element."""
    return shaped_like(t, filled_like(data_of(t), 0))


def shaped_like(t: AnyTerm, g: Any) -> Any:
    """A gradient in the form of the term it belongs to: that of a sparse matrix has the same places."""
    if t.type.__class__ is not SparseType:
        return g
    return mk(csm.bind(format=t.type.format), (g, *[mk1(part, t) for part in (csm_indices, csm_indptr, csm_shape)]))


def checked_cotangent(where: str, v: Variable, g: Any) -> Any:
    """The term of a cotangent for a variable: same number of dimensions, brought to its dtype."""
    check_wrt(v)
    if isinstance(v.type, SparseType):
        g = _stored_elements(where, v, g)
    g = as_tensor(g)
    if g.type.ndim != data_of(v.term).type.ndim:
        raise TypeError(
            f"{where}: the gradient of {explain.label(v)} must have its {v.type.ndim} dimensions, "
            f"got {g.type} ({explain.label(g)})"
        )
    term = resolve_bound([g.term])[0]
    if term.type.dtype == v.type.dtype:
        return term
    if term.type.kind == "c" and v.type.kind != "c":
        term = mk1(real, term)
    return mk1(cast.bind(dtype=v.type.dtype), term)


def _stored_elements(where: str, v: Any, g: AnyTerm) -> Any:
    """The elements of a gradient given for a sparse matrix, which stores them in the places of the matrix."""
    if not isinstance(g, Variable) or g.type.__class__ is not SparseType or g.type.format != v.type.format:
        raise TypeError(
            f"{where}: the gradient of {explain.label(v)} must be a sparse matrix with the same places in format "
            f"{v.type.format!r}, got {explain.label(g) if isinstance(g, Variable) else repr(g)[:60]}"
        )
    return csm_data(g)

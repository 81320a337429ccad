"""grad, Lop and subgraph_grad: gradients as the user asks for them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from termgraph._arguments import named
from termgraph._collector import paused_gc
from termgraph._lazy import lazy
from termgraph.grad.reverse import Backward, can_move, cuts, data_of
from termgraph.grad.stable import backward
from termgraph.tensor.bipartite import DeferredView, ancestors
from termgraph.tensor.origins import note_origins
from termgraph.tensor.testvalues import note_test_value
from termgraph.tensor.trace import placed, user_site
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.build import filled_like, number_like
from termgraph.terms.errors import DisconnectedInputError, NullTypeGradError
from termgraph.terms.op import INPUT
from termgraph.terms.ops.elementwise import add, cast, conj, real
from termgraph.terms.ops.sparse import csm, csm_data, csm_indices, csm_indptr, csm_shape
from termgraph.terms.sparse import SparseType
from termgraph.terms.term import mk, mk1
from termgraph.terms.traverse import children_first, resolve_bound, subterms
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from termgraph.grad import explain, user_defined
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.term import AnyTerm

    class GradOptions(TypedDict, total=False):
        """The arguments of `grad` beside what is differentiated, and by what."""

        consider_constant: Iterable[Variable] | None
        disconnected_inputs: str
        add_names: bool
        known_grads: Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] | None
        return_disconnected: str
        null_gradients: str
else:
    explain = lazy("termgraph.grad.explain")  # what errors say
    user_defined = lazy("termgraph.grad.user_defined")


# ---------------------------------------------------------------------- grad
@overload
def grad(cost: Variable | None, wrt: Variable, **options: Unpack[GradOptions]) -> TensorVariable: ...
@overload
def grad(cost: Variable | None, wrt: Sequence[Variable], **options: Unpack[GradOptions]) -> list[TensorVariable]: ...
@named
def grad(
    cost: Variable | None,
    wrt: Variable | Sequence[Variable] | None = None,
    consider_constant: Iterable[Variable] | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] | None = None,
    return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:
    """The gradient of a scalar `cost` with respect to a variable, or to each of a list of variables.

    `consider_constant`: variables through which nothing flows. `known_grads`: gradients already known for
    intermediate variables, {variable: gradient} or such pairs, instead of what would flow back to them; then `cost` may
    be None. `disconnected_inputs`: what to do about a variable the cost does not depend on, "raise", "warn" or
    "ignore"; what is returned for it is said by `return_disconnected`: "zero", "none" or "disconnected".
    `null_gradients="return"` gives None where a derivative is undefined or not implemented instead of raising. The
    result can be used and differentiated like any variable.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> g = tg.grad((x ** 3).sum(), x)
    >>> tg.function([x], g)([1.0, 2.0])
    array([ 3., 12.])
    """
    if callable(cost) and not isinstance(cost, Variable):
        raise TypeError("grad: the cost must be an expression, got a function; tg.value_and_grad(f) takes functions")
    if wrt is None:
        raise TypeError("grad: say by which variables to differentiate: tg.grad(cost, x), or tg.grad(cost, [x, y])")
    asked, single = listed("grad", "wrt", wrt)
    _check_choice("disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
    _check_choice("return_disconnected", return_disconnected, ("zero", "none", "disconnected"))
    _check_choice("null_gradients", null_gradients, ("raise", "return"))
    known = [(v, _known_gradient(v, g)) for v, g in _pairs(known_grads or {}).items()]
    if cost is None and not known:
        raise ValueError("grad needs a cost, or known_grads to start from")
    starts = list(known)
    if cost is not None:
        start = scalar_start(cost)
        starts += [start] * all(v.term is not start[0].term for v, _ in known)
    constant = variables("consider_constant", consider_constant)
    found = gradients_of(starts, asked, constant, null_gradients, [v for v, _ in known])
    found = fill_gaps(found, [v for v, _ in starts], asked, disconnected_inputs, return_disconnected)
    if add_names and cost is not None and cost.name:
        for v, g in zip(asked, found):
            if v.name and g is not None:
                g.name = f"(d{cost.name}/d{v.name})"
    return found[0] if single else type(wrt)(found) if type(wrt) is tuple else found


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
) -> list[Any]:
    """The gradients as variables; `Gap("disconnected")` or `Gap("null")` where there is none.

    `starts` are pairs of a variable and the term of its cotangent, in the user's convention for complex numbers.
    To those that are `known` nothing else is added.
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
    site = user_site()
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
    seen: set[Any] = set()
    stack = list(seeds)
    while stack:
        t = stack.pop()
        if t not in seen:
            seen.add(t)
            if t not in blocked and not cuts(t.op):
                stack.extend(t.args)
    return seen


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
            stack = [made]
            while stack:
                t = stack.pop()
                if t not in table:
                    table[t] = site
                    stack.extend(t.args)
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


# ---------------------------------------------------------------------- checks
def listed(function: str, what: str, value: object) -> tuple[list, bool]:
    """A list of variables, and whether one was given without a list."""
    if isinstance(value, Variable):
        return [value], True
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{function}: {what} must be a variable or a list of variables, got {value!r:.60}")
    for i, v in enumerate(value):
        if not isinstance(v, Variable):
            raise TypeError(f"{function}: {what}[{i}] must be a variable, got {type(v).__name__} {v!r:.60}")
    return list(value), False


def variables(what: str, value: Any) -> list:
    if value is None:
        return []
    return listed("grad", what, value if isinstance(value, Variable) else list(value))[0]


def _check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value.lower() not in choices:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def scalar_start(cost: Any) -> tuple[Variable, Any]:
    """A cost and its cotangent 1."""
    cost = _checked_cost(cost)
    return cost, number_like(cost.term, 1)


def _checked_cost(cost: TensorVariable) -> Variable:
    if not isinstance(cost, Variable):
        raise TypeError(f"grad: the cost must be a variable, got {type(cost).__name__} {cost!r:.60}")
    if not isinstance(cost.type, TensorType):
        raise TypeError(f"grad: the cost must be a number, {explain.label(cost)} has type {cost.type}")
    if cost.type.ndim:
        raise TypeError(
            f"grad: the cost must be a scalar, {explain.label(cost)} has type {cost.type}. Reduce it (cost.sum(), "
            "cost.mean()), or use jacobian for all derivatives of an array, Lop for their product with a vector"
        )
    kind = cost.type.kind
    if kind == "c":
        raise TypeError(
            f"grad: the cost {explain.label(cost)} is complex; a gradient needs a real number, such as T.real(cost) or "
            "abs(cost)"
        )
    if kind != "f":
        raise TypeError(
            f"grad: the cost {explain.label(cost)} has dtype {cost.type.dtype}: a whole number does not change by "
            "small steps; cast what it is computed from to a float dtype"
        )
    return cost


def check_wrt(v: Variable, roots: Sequence[Variable] = ()) -> None:
    if isinstance(v.type, (TensorType, SparseType)) and not can_move(v.term):
        raise NullTypeGradError(
            f"the gradient with respect to {explain.label(v)} is not defined: it has dtype {v.type.dtype}, and whole "
            "numbers have no neighbours to move to. Make it a float input, or use "
            f"T.cast({explain.label(v)}, 'float64') in the cost and differentiate with respect to that"
            f"{explain.path_text(roots, v)}"
        )
    if not isinstance(v.type, (TensorType, SparseType)):
        raise NullTypeGradError(f"the gradient with respect to {explain.label(v)} is not defined: its type is {v.type}")


def _pairs(known_grads: Mapping[Variable, Any] | Iterable[tuple[Variable, Any]]) -> Mapping[Variable, Any]:
    """Known gradients by variable."""
    try:
        return dict(known_grads)
    except (TypeError, ValueError):
        raise TypeError(f"known_grads: {{variable: gradient}}, or such pairs, got {known_grads!r:.60}") from None


def _known_gradient(v: TensorLike, g: TensorVariable) -> Any:
    """The term of a gradient given for a variable, in the variable's dtype."""
    if not isinstance(v, Variable):
        raise TypeError(f"known_grads: keys must be variables, got {v!r:.60}")
    return checked_cotangent("known_grads", v, g)


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

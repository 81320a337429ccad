"""grad: gradients as the user asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from termgraph._arguments import named
from termgraph._lazy import lazy
from termgraph.config import config
from termgraph.grad import waiting
from termgraph.grad.checks import listed, scalar_start, variables
from termgraph.tensor.origins import note_origins
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import Variable
from termgraph.terms.promises import apply_by

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    from termgraph.grad import formed, made
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

    class GradOptions(TypedDict, total=False):
        """The arguments of `grad` beside what is differentiated, and by what."""

        consider_constant: Iterable[Variable] | None
        disconnected_inputs: str
        add_names: bool
        known_grads: Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] | None
        return_disconnected: str
        null_gradients: str
else:
    formed = lazy("termgraph.grad.formed")  # needed where something is computed from a gradient that waits
    made = lazy("termgraph.grad.made")  # not needed at a warm start

apply_by(lambda op, args: formed.applied(op, args))  # the first time


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
    plain = not known and not constant and config.compute_test_value == "off"
    if plain and cost is not None and waiting.can_wait(cost, asked):
        found = _waiting(cost, asked)
    else:
        found = made.gradients_of(starts, asked, constant, null_gradients, [v for v, _ in known])
        found = made.fill_gaps(found, [v for v, _ in starts], asked, disconnected_inputs, return_disconnected)
    if add_names and cost is not None and cost.name:
        for v, g in zip(asked, found):
            if v.name and g is not None:
                g.name = f"(d{cost.name}/d{v.name})"
    return found[0] if single else type(wrt)(found) if type(wrt) is tuple else found


def _waiting(cost: Variable, wrt: Sequence[Variable]) -> list[Any]:
    """Gradients whose graphs are made when somebody looks at them."""
    found = waiting.Later(cost, wrt, user_site(), _made_later).variables()
    note_origins(found, (cost, *wrt))
    return found


def _made_later(cost: Variable, wrt: Sequence[Variable], site: tuple) -> list[Any]:
    """The gradients of a cost that were promised: all of them are there."""
    return made.gradients_of([scalar_start(cost)], wrt, site=site)


def _check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value.lower() not in choices:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, choices))}, got {value!r}")


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
    return made.checked_cotangent("known_grads", v, g)

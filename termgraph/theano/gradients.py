"""theano.gradient: derivatives with Theano's manners. May import grad and function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

import termgraph.tensor as T
from termgraph.config import config
from termgraph.function.mode import Mode, get_mode
from termgraph.function.verify import GradientError
from termgraph.function.verify import verify_grad as native_verify_grad
from termgraph.grad.api import grad as native_grad
from termgraph.grad.products import Lop as native_Lop
from termgraph.grad.products import Rop as native_Rop
from termgraph.grad.products import hessian as native_hessian
from termgraph.grad.products import jacobian as native_jacobian
from termgraph.grad.products import subgraph_grad as native_subgraph_grad
from termgraph.grad.user_defined import DisconnectedType
from termgraph.tensor.graph import clone
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.origins import note_origins, original_inputs
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.errors import DisconnectedInputError, NullTypeGradError, TypeMismatch
from termgraph.terms.traverse import depends_on
from termgraph.theano.tools import NullType

OneOrMore: TypeAlias = "Variable | Sequence[Any]"
Held: TypeAlias = "Sequence[Variable] | None"  # what is taken for a constant

disconnected_type = DisconnectedType()
grad_time = 0


def format_as(use_list: bool, use_tuple: bool, outputs: Any) -> Any:
    """Results as the caller gave their arguments: a list, a tuple, or the one by itself."""
    if use_list and use_tuple:
        raise AssertionError("format_as: a list or a tuple, not both")
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    if use_list or use_tuple:
        return list(outputs) if use_list else tuple(outputs)
    if len(outputs) != 1:
        raise AssertionError(f"format_as: {len(outputs)} results, where one is expected")
    return outputs[0]


def _formed(like: OneOrMore, outputs: list) -> Any:
    return format_as(isinstance(like, list), isinstance(like, tuple), outputs)


def _list(value: OneOrMore | None) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _noted(found: Sequence | TensorVariable, sources: Sequence[Any]) -> Any:
    """Derivatives, with a note of what they are derivatives of: an input that has dropped out of one is no mistake."""
    made = [v for v in _list(found) if isinstance(v, Variable)]
    note_origins(made, [s for s in sources if isinstance(s, Variable)])
    return found


# ---------------------------------------------------------------------- grad, also of and by whole numbers
def grad(
    cost: Variable | None, wrt: OneOrMore, consider_constant: Held = None, disconnected_inputs: str = "raise",
    add_names: bool = True, known_grads: Mapping[Any, Any] | None = None, return_disconnected: str = "zero",
    null_gradients: str = "raise",
) -> Any:  # fmt: skip
    """The gradient of a number.

    Of a whole number it is zero. By a whole number it is what the formula gives where that number may be any real one.

    >>> i, x = T.iscalar("i"), T.dscalar("x")
    >>> float(grad(i * x, i).eval({i: 2, x: 5.0}))
    5.0
    """
    asked = _list(wrt)
    options: dict[str, Any] = {
        "consider_constant": consider_constant, "disconnected_inputs": disconnected_inputs, "add_names": add_names,
        "return_disconnected": return_disconnected, "null_gradients": null_gradients,
    }  # fmt: skip
    cost = cost if cost is None or isinstance(cost, Variable) else T.as_tensor(cost)
    known, cut = _known(known_grads or {}, null_gradients)
    options["consider_constant"] = [*(consider_constant or ()), *cut]
    if cost is not None and cost.type.kind in "biu" and not cost.ndim and not known:
        held = any(cost is v for v in cut)
        zeros = [_zero(cost, v, held, disconnected_inputs, return_disconnected) for v in asked]
        return _noted(_formed(wrt, zeros), [cost, *asked])
    of_floats = {v: g for v, g in known.items() if not _is_whole(v)} or None
    found: list = [None] * len(asked)
    movable = [i for i, v in enumerate(asked) if not _is_whole(v)]
    if movable or not asked:
        by_floats = native_grad(cost, [asked[i] for i in movable], known_grads=of_floats, **options)
        for i, g in zip(movable, by_floats, strict=True):
            found[i] = g
    for i, v in enumerate(asked):
        if i not in movable:
            found[i] = known[v] if v in known else _by_whole(cost, v, of_floats, options)
    return _noted(_formed(wrt, found), [cost, *asked, *known])


def _is_whole(v: Variable) -> bool:
    return isinstance(v.type, T.TensorType) and v.type.kind in "biu"


def _known(given: Mapping[Any, Any], null_gradients: str) -> tuple[dict[Any, Any], list]:
    """The gradients that are known, and the variables through which nothing flows: theirs are said not to exist."""
    cut = [v for v, g in given.items() if isinstance(getattr(g, "type", None), (NullType, DisconnectedType))]
    for v in cut:
        if isinstance(given[v].type, NullType) and null_gradients == "raise":
            raise NullTypeGradError(
                f"grad: known_grads says that the gradient of {v} does not exist: {given[v].type.why_null}"
            )
    return {v: g for v, g in given.items() if not any(v is w for w in cut)}, cut


def _zero(cost: Variable, v: TensorVariable, held: bool, disconnected: str, returned: str) -> Any:
    """The gradient of a whole number: none, but by itself."""
    if v.term is cost.term:
        return T.ones_like(v, dtype=config.floatX)
    if held or not depends_on(cost.term, v.term):
        if disconnected == "raise":
            raise DisconnectedInputError(f"grad: the cost does not depend on {v}")
        if returned != "zero":
            return None if returned.lower() == "none" else disconnected_type()
    return T.zeros_like(v, dtype=v.dtype if v.type.kind in "fc" else config.floatX)


def _by_whole(cost: Variable | None, v: Variable, known_grads: Mapping[Any, Any] | None, options: dict) -> Any:
    """The gradient by a whole number: its place is taken by a float of the same value."""
    real = T.TensorType(config.floatX, v.type.shape)(v.name)
    try:
        keys = list(known_grads or ())
        moved, *moved_keys = clone([real if cost is None else cost, *keys], replace=[(v, real)], strict=False)
        known: Any = dict(zip(moved_keys, (known_grads or {}).values())) or None
        found = native_grad(None if cost is None else moved, real, known_grads=known, **options)
    except (TypeMismatch, TypeError, ValueError) as err:
        if isinstance(err, DisconnectedInputError):
            raise
        return T.zeros_like(v, dtype=config.floatX)  # it counts or chooses: small steps change nothing
    return found if found is None else clone(found, replace=[(real, T.cast(v, config.floatX))], strict=False)


# ---------------------------------------------------------------------- products and matrices of derivatives
def Rop(
    f: OneOrMore,
    wrt: OneOrMore,
    eval_points: OneOrMore,
    disconnected_outputs: str = "raise",
    return_disconnected: str = "zero",
) -> Any:
    """How f changes when wrt moves by eval_points; a list or tuple like f."""
    given = _list(wrt), _list(eval_points)
    for i, (v, p) in enumerate(zip(*given)):
        if T.as_tensor(v).ndim != T.as_tensor(p).ndim:
            raise ValueError(f"Rop: wrt[{i}] has {v.ndim} dimensions, its eval_point {T.as_tensor(p).ndim}")
    if all(not original_inputs([v]).isdisjoint(given[0]) for v in _list(f)):
        disconnected_outputs = "ignore"  # the derivative of a derivative that no longer needs wrt is zero
    found = native_Rop(_list(f), *given, disconnected_outputs, return_disconnected.lower())
    return _noted(_formed(f, found), [*_list(f), *given[0], *given[1]])


def Lop(
    f: OneOrMore,
    wrt: OneOrMore,
    eval_points: OneOrMore,
    consider_constant: Held = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The product of eval_points with the derivatives of f by wrt; a list or tuple like wrt."""
    found = native_Lop(_list(f), _list(wrt), _list(eval_points), consider_constant, disconnected_inputs)
    return _noted(_formed(wrt, found), [*_list(f), *_list(wrt), *_list(eval_points)])


def jacobian(
    expression: Variable, wrt: OneOrMore, consider_constant: Held = None, disconnected_inputs: str = "raise"
) -> Any:
    """All derivatives of a number or vector; a list or tuple like wrt."""
    if not isinstance(expression, Variable) or expression.ndim > 1:
        raise TypeError(f"jacobian: the expression must be a number or a vector, got {expression}")
    if not expression.ndim:
        return grad(expression, wrt, consider_constant, disconnected_inputs)
    found = native_jacobian(expression, _list(wrt), consider_constant, disconnected_inputs)
    return _noted(_formed(wrt, found), [expression, *_list(wrt)])


def hessian(cost: Variable, wrt: OneOrMore, consider_constant: Held = None, disconnected_inputs: str = "raise") -> Any:
    """All second derivatives of a number by vectors; a list or tuple like wrt."""
    for v in _list(wrt):
        if v.ndim != 1:
            raise TypeError(f"hessian: each of wrt must be a vector, {v} has {v.ndim} dimensions")
    found = native_hessian(cost, _list(wrt), consider_constant, disconnected_inputs)
    return _noted(_formed(wrt, found), [cost, *_list(wrt)])


def subgraph_grad(
    wrt: TensorLike,
    end: Sequence[Variable],
    start: Mapping[Any, Any] | None = None,
    cost: Variable | None = None,
    details: bool = False,
) -> Any:
    """Gradients through a part of a graph, as two lists."""
    return native_subgraph_grad(wrt, end, start, cost, details)


# ---------------------------------------------------------------------- checks
def verify_grad(
    fun: Callable, pt: Sequence[Any], n_tests: int = 2, rng: np.random.RandomState | None = None,
    eps: float | None = None, out_type: str | None = None, abs_tol: float | None = None, rel_tol: float | None = None,
    mode: str | Mode | None = None, cast_to_output_type: bool = False, no_debug_ref: bool = True,
) -> None:  # fmt: skip
    """Compare the gradient of a function of variables with finite differences."""
    if rng is None:
        raise TypeError("verify_grad: rng, a numpy RandomState, is missing")
    native_verify_grad(fun, list(pt), n_tests, rng, eps, abs_tol, rel_tol, mode)


verify_grad.E_grad = GradientError  # type: ignore[attr-defined]


class numeric_grad:
    """The gradient of a Python function of arrays by finite differences, in `gf`."""

    type_eps = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}

    def __init__(self, f: Callable, pt: Any, eps: float | None = None, out_type: str | None = None) -> None:
        single = not isinstance(pt, (list, tuple))
        points = [np.array(p, copy=True) for p in ([pt] if single else pt)]
        self.gf: Any = [self._one(f, points, i, eps) for i in range(len(points))]
        if single:
            self.gf = self.gf[0]

    def _one(self, f: Callable, points: list, i: int, eps: float | None) -> Any:
        x = points[i]
        step = eps or self.type_eps.get(x.dtype.name, 1e-7)
        found = np.zeros(x.shape, x.dtype)
        here = np.asarray(f(*points)).astype("float64")
        for at in np.ndindex(*x.shape):
            moved = x.copy()
            moved[at] += step
            there = np.asarray(f(*points[:i], moved, *points[i + 1 :])).astype("float64")
            found[at] = (there - here) / step
        return found

    @staticmethod
    def abs_rel_err(a: np.ndarray, b: np.ndarray) -> tuple:
        """Absolute and relative differences, element by element."""
        distance = np.abs(a - b)
        return distance, distance / np.maximum(np.abs(a) + np.abs(b), 1e-8)

    def max_err(self, g_pt: Sequence[Any], abs_tol: float, rel_tol: float) -> tuple:
        """The position of the largest error by these tolerances, with both errors there."""
        worst: tuple = (-1.0, 0, 0, 0.0, 0.0)
        for i, (mine, theirs) in enumerate(zip(self.gf if isinstance(self.gf, list) else [self.gf], g_pt)):
            distance, relative = self.abs_rel_err(theirs, mine)
            score = np.minimum(distance / abs_tol, relative / rel_tol)
            at = int(np.argmax(score))
            if score.flat[at] > worst[0]:
                worst = (float(score.flat[at]), i, at, distance.flat[at], relative.flat[at])
        return worst[1:]


def mode_not_slow(mode: str | Mode | None) -> Any:
    """The mode, but FAST_RUN for one that watches every op."""
    found = get_mode(mode)
    return found if type(found).__name__ == "Mode" else get_mode("FAST_RUN")

"""verify_grad: a symbolic gradient against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.function.api import function
from termgraph.function.mode import Mode
from termgraph.grad.api import grad
from termgraph.tensor.elemwise import cast
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.dtypes import HALVES, kind_of
from termgraph.terms.ops.elementwise import conj, real
from termgraph.terms.types import TensorType

TOLERANCES = {"bfloat16": 0.15, "float16": 0.1, "float32": 1e-2, "complex64": 1e-2}
STEPS = {"bfloat16": 0.25, "float16": 0.1, "float32": 2e-2, "complex64": 2e-2}


class GradientError(AssertionError):
    """A symbolic gradient that does not agree with finite differences. `symbolic` and `numeric` hold both."""

    def __init__(self, message: str, symbolic: np.ndarray, numeric: np.ndarray) -> None:
        super().__init__(message)
        self.symbolic, self.numeric = symbolic, numeric


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: np.random.Generator | np.random.RandomState | None = None,
    eps: float | None = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: str | Mode | None = None,
) -> None:
    """Check the gradient of `fun(*variables)` at the point `pt` (a list of arrays) against finite differences.

    The result is projected on a random direction, `n_tests` times, and the gradient of the projection compared in
    every element of every float input. `GradientError` says which input and element differ most. Integer inputs are
    held constant.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> tg.verify_grad(lambda x: T.tanh(x).sum(axis=0), [np.ones((2, 3))])
    """
    if not isinstance(pt, (list, tuple)):
        raise TypeError(f"verify_grad: the point must be a list of arrays, one per input, got {type(pt).__name__}")
    rng = np.random.default_rng(0) if rng is None else rng
    values = [np.asarray(v) for v in pt]
    inputs = [TensorType.of(v.dtype.name, v.shape).make_variable(f"input {i}") for i, v in enumerate(values)]
    output = fun(*inputs)
    if not isinstance(output, Variable):
        raise TypeError(f"verify_grad: fun must return one variable, got {type(output).__name__}")
    wrt = [i for i, v in enumerate(values) if kind_of(v.dtype) in "fc"]
    if not wrt:
        raise TypeError("verify_grad: no input has a float dtype, so there is nothing to differentiate")
    weights = output.type.make_variable("projection")
    cost = _projected(output, weights)
    outputs = [output, *grad(cost, [inputs[i] for i in wrt], disconnected_inputs="ignore")]  # zero is compared, too
    both = function([*inputs, weights], outputs, mode=mode, on_unused_input="ignore")
    shape = tuple([n for n in output.type.shape if n is not None])
    if len(shape) < output.type.ndim:
        shape = np.shape(function(inputs, output, mode=mode, on_unused_input="ignore")(*values))
    for _ in range(n_tests):
        p = _random(rng, shape, output.type.np_dtype)
        for i, s in zip(wrt, both(*values, p)[1:]):
            n = numeric_gradient(lambda *v, p=p: _value(both(*v, p)[0], p), values, i, eps)
            _compare(i, s, n, output.type.dtype, abs_tol, rel_tol)


def _projected(output: Variable, weights: Variable) -> TensorVariable:
    projected: TensorVariable
    if output.type.kind == "c":
        projected = real(conj(weights) * output).sum()
    else:
        wide = "float64" if output.type.dtype in HALVES else output.type.dtype
        projected = (cast(weights, wide) * output).sum()
    return projected


def _value(result: np.ndarray, p: np.ndarray) -> Any:
    wide = np.promote_types(result.dtype, np.float64)
    product = np.conj(p).astype(wide) * result.astype(wide)
    return product.real.sum()


def _random(rng: np.random.Generator | np.random.RandomState, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    p = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    if dtype.kind == "c":
        p = p + 1j * rng.uniform(0.5, 1.5, shape)
    return np.asarray(p, dtype=dtype)


def numeric_gradient(f: Callable[..., Any], values: Sequence[np.ndarray], i: int, eps: float | None = None) -> Any:
    """d f / d values[i] by central differences of two step sizes, extrapolated to step 0."""
    x = values[i]
    step = eps or STEPS.get(x.dtype.name, 1e-3)
    out = np.zeros(x.shape, np.promote_types(x.dtype, np.float64))
    directions = (1, 1j) if kind_of(x.dtype) == "c" else (1,)
    for at in np.ndindex(*x.shape):
        for d in directions:

            def along(h: float, at: tuple[int, ...] = at, d: complex = d) -> Any:
                moved = x.copy()
                moved[at] += h * d
                given = moved[at] if kind_of(x.dtype) == "c" else moved[at].astype(np.float64)
                moved_back = x.copy()
                moved_back[at] -= h * d
                width = abs(given - moved_back[at])  # the step that rounding left
                both = [f(*values[:i], v, *values[i + 1 :]) for v in (moved, moved_back)]
                return (both[0] - both[1]) / width

            scale = step * max(1.0, float(abs(x[at])))
            out[at] += d * (4 * along(scale / 2) - along(scale)) / 3
    return out


def _compare(
    i: int, symbolic: np.ndarray, numeric: np.ndarray, dtype: str, abs_tol: float | None, rel_tol: float | None
) -> None:
    default = max(TOLERANCES.get(symbolic.dtype.name, 1e-6), TOLERANCES.get(dtype, 1e-6))
    abs_tol, rel_tol = default if abs_tol is None else abs_tol, default if rel_tol is None else rel_tol
    if symbolic.shape != numeric.shape:
        raise GradientError(
            f"the gradient of input {i} has shape {symbolic.shape}, its value {numeric.shape}", symbolic, numeric
        )
    error = np.abs(symbolic - numeric)
    allowed = abs_tol + rel_tol * np.maximum(np.abs(symbolic), np.abs(numeric))
    wrong = ~(error <= allowed)
    if wrong.any():
        at = np.unravel_index(np.argmax(np.where(wrong, error - allowed, -np.inf)), error.shape)
        place = f" at {tuple(map(int, at))}" if error.ndim else ""
        raise GradientError(
            f"the gradient of input {i} differs from finite differences{place}: symbolic {symbolic[at]}, numeric "
            f"{numeric[at]}; {int(wrong.sum())} of {wrong.size} elements differ",
            symbolic,
            numeric,
        )

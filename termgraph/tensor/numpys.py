"""NumPy's functions on variables: `np.exp(x)` is `T.exp(x)`, and what the language lacks is refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from termgraph.tensor.elsewhere import FUNCTIONS
from termgraph.tensor.variable import TensorVariable, is_value

_IDENTITY = ("equal", "not_equal")  # `array == x` asks whether they are one object, as `x == y` does
_PLACES = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: TensorVariable | np.ndarray, **options: Any) -> Any:
    """A ufunc of NumPy that got a variable, also through an operator whose left side is an array."""
    name = ufunc.__name__
    if "out" in options:
        raise TypeError(
            f"NumPy's {name} cannot write a symbolic variable into an array; write x = x + y instead of x += y, "
            "and give the variable a value with .eval({...}) or a compiled function"
        )
    if method != "__call__" or options:
        how = f".{method}" if method != "__call__" else f" with {', '.join(options)}="
        raise TypeError(f"NumPy's {name}{how} does not take symbolic variables; use the functions of termgraph.tensor")
    if name in _IDENTITY:
        same = is_value(self, inputs[1] if inputs[0] is self else inputs[0], 2)
        return same is (name == "equal")
    if name == "divmod":
        return _found("floor_divide", "numpy")(*inputs), _found("mod", "numpy")(*inputs)
    return _found(name, "numpy")(*inputs)


def array_function(self: Any, function: Callable, types: Iterable[type], args: tuple, options: Mapping) -> Any:
    """Another function of NumPy that got a variable."""
    return _found(function.__name__, function.__module__)(*args, **options)


def _found(name: str, module: str) -> Callable:
    place = _PLACES.get(module)
    language: Any = import_module("termgraph.tensor")
    home = getattr(language, place) if place else language
    found = getattr(home, name, None) if place is not None else None
    if not callable(found):
        instead = FUNCTIONS.get(name) if place == "" else None
        hint = f"write {instead}, " if instead else ""
        raise TypeError(
            f"NumPy's {name} does not take symbolic variables, and termgraph.tensor has no function of this name; "
            f"{hint}give the variable a value with .eval({{...}}), or wrap the computation with tg.as_op"
        )
    return found


METHODS = {"__array_ufunc__": array_ufunc, "__array_function__": array_function}

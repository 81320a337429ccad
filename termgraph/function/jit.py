"""jit: a Python function on arrays, compiled for the dtypes and ranks it meets. May import this room.

The first call with a kind of arguments is computed at once, without rewriting or a compiler; when it comes again, the
graph is compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.function.api import function
from termgraph.function.mode import Mode
from termgraph.tensor.variable import Variable
from termgraph.terms.types import TensorType


def jit(fun: Callable | None = None, *, mode: Any = None, at_once: bool = True) -> Any:
    """Decorator: `fun` takes and gives variables when it is traced, the result takes and gives arrays.

    It is traced once for each combination of dtypes and ranks; Python's `if` and `for` in it run while tracing, so they
    may depend on shapes' ranks and on plain Python values, not on the numbers in arrays (use `tg.ifelse`, `tg.scan`).
    Arguments that are no arrays or numbers (strings, None, bools, functions) are passed to it as they are. `mode` is as
    in `function`; `at_once=False` compiles at the first call already.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> @tg.jit
    ... def distance(a, b, squared=False):
    ...     d = ((a - b) ** 2).sum()
    ...     return d if squared else T.sqrt(d)
    >>> float(distance(np.zeros(2), np.array([3.0, 4.0])))
    5.0
    >>> float(distance([0.0, 0.0], [3.0, 4.0], squared=True))
    25.0
    """
    if fun is None:
        return functools.partial(jit, mode=mode, at_once=at_once)
    if not callable(fun):
        raise TypeError(f"jit wraps a function, got {fun!r:.60}")
    return Jitted(fun, mode, at_once)


class Jitted:
    """What `jit` makes. `compiled` maps kinds of arguments to functions, `clear()` forgets them."""

    def __init__(self, fun: Callable, mode: Any, at_once: bool) -> None:
        self.fun, self.mode, self.at_once = fun, mode, at_once
        self.compiled: dict[tuple, Any] = {}
        self._seen: dict[tuple, Any] = {}
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        names = [*range(len(args)), *kwargs]
        given = [_value(a) for a in (*args, *kwargs.values())]
        key = (len(args), tuple(kwargs), tuple(map(_kind, given)))
        arrays = [a for a in given if isinstance(a, np.ndarray)]
        f = self.compiled.get(key)
        if f is None:
            f = self._made(key, names, given, len(args))
        return f(*arrays)

    def _made(self, key: tuple, names: list, given: list, n: int) -> Any:
        """The function for this kind of arguments: a plain one the first time, then a compiled one."""
        if self.at_once and key not in self._seen:
            f = self._seen[key] = self._traced(names, given, n, Mode(optimizer="None", linker="py"))
            return f
        self._seen.pop(key, None)
        f = self.compiled[key] = self._traced(names, given, n, self.mode)
        return f

    def _traced(self, names: list, given: list, n: int, mode: Any) -> Any:
        inputs = [
            TensorType.of(a.dtype.name, (None,) * a.ndim).make_variable(_label(self.fun, name))
            if isinstance(a, np.ndarray)
            else a
            for name, a in zip(names, given)
        ]
        outputs = self.fun(*inputs[:n], **dict(zip(names[n:], inputs[n:])))
        listed = list(outputs) if isinstance(outputs, tuple) else outputs
        variables = [v for v in inputs if isinstance(v, Variable)]
        f = function(variables, listed, mode=mode, on_unused_input="ignore", name=self.__name__)  # type: ignore[attr-defined]
        f.trust_input = True
        return f if not isinstance(outputs, tuple) else lambda *arrays: tuple(f(*arrays))

    def clear(self) -> None:
        """Forget all that was compiled, for example after the function changed something it closes over."""
        self.compiled.clear()
        self._seen.clear()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self.__name__}, compiled {len(self.compiled)} times>"  # type: ignore[attr-defined]


def _value(a: Any) -> Any:
    """Arrays and numbers as arrays; bools and all else as they are."""
    if isinstance(a, np.ndarray) or (isinstance(a, (int, float, complex, np.generic)) and not isinstance(a, bool)):
        return np.asarray(a)
    if isinstance(a, (list, tuple)) and a and not isinstance(a[0], str):
        return np.asarray(a)
    return a


def _kind(a: Any) -> Any:
    if isinstance(a, np.ndarray):
        return a.dtype.str, a.ndim
    try:
        hash(a)
    except TypeError:
        raise TypeError(f"jit: an argument that is no array must be hashable, got {type(a).__name__}") from None
    return type(a), a


def _label(fun: Callable, name: Any) -> str | None:
    """The parameter's name, for messages."""
    code = getattr(fun, "__code__", None)
    if isinstance(name, str):
        return name
    return code.co_varnames[name] if code is not None and name < code.co_argcount else None

"""jit: a Python function on arrays, compiled for the dtypes and ranks it meets.

The first call with a kind of arguments is computed at once, without rewriting or a compiler; when it comes again, the
graph is compiled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np

from termgraph.function.api import function
from termgraph.function.mode import Mode
from termgraph.tensor.sharedvar import SharedVariable
from termgraph.tensor.variable import Constant, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.function.compiled import MachineFunction


class JitOptions(TypedDict, total=False):
    """The keyword arguments of `jit`."""

    mode: str | Mode | None
    at_once: bool
    static_argnums: int | Iterable[int]
    static_argnames: str | Iterable[str]


@overload
def jit(fun: Callable[..., Any], **options: Unpack[JitOptions]) -> Jitted: ...
@overload
def jit(fun: None = None, **options: Unpack[JitOptions]) -> Decorator: ...
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    mode: str | Mode | None = None,
    at_once: bool = True,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Any:
    """Decorator: `fun` takes and gives variables when it is traced, the result takes and gives arrays.

    It is traced once for each combination of dtypes and ranks; Python's `if` and `for` in it run while tracing, so they
    may depend on shapes' ranks and on plain Python values, not on the numbers in arrays (use `tg.ifelse`, `tg.scan`).
    Arguments and results may be dictionaries, tuples and lists of arrays, nested as you like (a list of plain numbers
    is an array). Other arguments (strings, None, bools, functions) are passed to it as they are, and so are those that
    `static_argnums` or `static_argnames` name: each value is traced anew. Called with variables, as by another function
    that is traced, it gives variables. `mode` is as in `function`; `at_once=False` compiles at the first call already.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> @tg.jit
    ... def distance(a, b, squared=False):
    ...     d = ((a - b) ** 2).sum()
    ...     return d if squared else T.sqrt(d)
    >>> float(distance(np.zeros(2), np.array([3.0, 4.0])))
    5.0
    >>> float(distance([0.0, 0.0], [3.0, 4.0], squared=True))
    25.0
    >>> @tg.jit
    ... def step(params, x):
    ...     cost = (params["w"] * x + params["b"]).sum()
    ...     return {name: p - 0.1 * tg.grad(cost, p) for name, p in params.items()}
    >>> step({"w": np.ones(2), "b": np.zeros(2)}, np.array([1.0, 2.0]))
    {'w': array([0.9, 0.8]), 'b': array([-0.1, -0.1])}
    """
    if fun is None:
        return functools.partial(
            jit, mode=mode, at_once=at_once, static_argnums=static_argnums, static_argnames=static_argnames
        )
    if not callable(fun):
        raise TypeError(f"jit wraps a function, got {fun!r:.60}")
    return Jitted(fun, mode, at_once, _static(fun, static_argnums, static_argnames))


Decorator = Callable[[Callable[..., Any]], "Jitted"]
Traced = Callable[..., Any]  # of arrays: a compiled function, or one that puts its results in order


class Jitted:
    """What `jit` makes. `compiled` maps kinds of arguments to functions, `clear()` forgets them."""

    def __init__(
        self, fun: Callable[..., Any], mode: str | Mode | None, at_once: bool, static: frozenset[int | str]
    ) -> None:
        self.fun, self.mode, self.at_once, self.static = fun, mode, at_once, static
        self.compiled: dict[tuple[Any, ...], Any] = {}
        self._seen: dict[tuple[Any, ...], Any] = {}
        functools.update_wrapper(self, fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays: list[np.ndarray] = []
        if self.static:
            given = self._with_static(args, kwargs, arrays)
        else:
            given = [flattened(a, arrays) for a in args], {k: flattened(a, arrays) for k, a in kwargs.items()}
        shape = (tuple(given[0]), tuple(given[1]), tuple(given[1].values()))
        key = (shape, tuple([(a.dtype.str, a.ndim) for a in arrays]))
        f = self.compiled.get(key)
        if f is None:
            if _symbolic(shape):
                return self._applied(shape, iter([as_tensor(a) for a in arrays]))
            f = self._made(key, shape, arrays)
        return f(*arrays)

    def _with_static(self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[np.ndarray]) -> Any:
        """The forms of the arguments, of which some are passed on as they are."""
        static = self.static
        return (
            [_Plain(a) if k in static else flattened(a, arrays) for k, a in enumerate(args)],
            {k: _Plain(a) if k in static else flattened(a, arrays) for k, a in kwargs.items()},
        )

    def _applied(self, shape: tuple[Any, ...], leaves: Iterator[Any]) -> Any:
        """What the function gives for arguments of this form."""
        args = [rebuilt(form, leaves) for form in shape[0]]
        return self.fun(*args, **{k: rebuilt(form, leaves) for k, form in zip(*shape[1:])})

    def _made(self, key: tuple[Any, ...], shape: tuple[Any, ...], arrays: list[np.ndarray]) -> Traced:
        """The function for this kind of arguments: a plain one the first time, then a compiled one."""
        if self.at_once and key not in self._seen:
            f = self._seen[key] = self._traced(shape, arrays, Mode(optimizer="None", linker="py"))
            return f
        self._seen.pop(key, None)
        f = self.compiled[key] = self._traced(shape, arrays, self.mode)
        return f

    def _traced(self, shape: tuple[Any, ...], arrays: list[np.ndarray], mode: str | Mode | None) -> Traced:
        inputs = [
            TensorType.of(a.dtype.name, (None,) * a.ndim).make_variable(name)
            for a, name in zip(arrays, _labels(self.fun, shape))
        ]
        results = self._applied(shape, iter(inputs))
        outputs: list[Any] = []
        form = _results(results, outputs)
        single = outputs[0] if form is LEAF else outputs
        f: MachineFunction = function(inputs, single, mode=mode, on_unused_input="ignore", name=self.__name__)  # type: ignore[attr-defined]
        f.trust_input = True
        if form is LEAF or form == ("list", (LEAF,) * len(outputs)):
            return f
        return lambda *given: rebuilt(form, iter(f(*given)))

    def clear(self) -> None:
        """Forget all that was compiled, for example after the function changed something it closes over."""
        self.compiled.clear()
        self._seen.clear()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self.__name__}, compiled {len(self.compiled)} times>"  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- dictionaries, tuples and lists of arrays
LEAF = "*"  # the place of an array in a form


class _Plain:
    """A value that is passed on as it is; values that no function can tell apart make equal forms."""

    __slots__ = ("kept", "value")

    def __init__(self, value: Any) -> None:
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"jit: an argument that is no array must be hashable, got {type(value).__name__}; "
                "arrays may lie in dictionaries, lists, tuples and named tuples"
            ) from None
        self.value, self.kept = value, _told_apart(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Plain) and self.kept == other.kept

    def __hash__(self) -> int:
        return hash(self.kept)


def _told_apart(value: Any) -> tuple[type, Any]:
    """A key that differs where values do: 1, 1.0 and True are equal, and so are zeros of both signs; NaN never are."""
    kind = type(value)
    if kind in (tuple, frozenset) or hasattr(kind, "_fields"):
        return kind, (frozenset if kind is frozenset else tuple)(map(_told_apart, value))
    return kind, repr(value) if isinstance(value, (float, complex, np.inexact)) else value


def flattened(value: object, arrays: list[np.ndarray]) -> Any:
    """The form of a value, hashable, with its arrays and numbers taken out in order."""
    if isinstance(value, np.ndarray) or (_is_number(value) and not isinstance(value, bool)):
        arrays.append(np.asarray(value))
        return LEAF
    if isinstance(value, (list, tuple)):
        if _all_numbers(value):
            arrays.append(np.asarray(value))
            return LEAF
        return (_kind_of(value), tuple([flattened(item, arrays) for item in value]))
    if isinstance(value, dict):
        return ("dict", tuple(value), tuple([flattened(item, arrays) for item in value.values()]))
    return _Plain(value)


def _symbolic(form: Any) -> bool:
    """Whether a form holds an expression; what is shared or constant has a value."""
    if isinstance(form, _Plain):
        return isinstance(form.value, Variable) and not isinstance(form.value, (SharedVariable, Constant))
    return isinstance(form, tuple) and any(_symbolic(item) for item in form)


def rebuilt(form: Any, leaves: Iterator[Any]) -> Any:
    """The value of a form with other leaves in the places of arrays."""
    if form is LEAF:
        return next(leaves)
    if isinstance(form, _Plain):
        return form.value
    if form[0] == "dict":
        return dict(zip(form[1], [rebuilt(item, leaves) for item in form[2]]))
    items = [rebuilt(item, leaves) for item in form[1]]
    return items if form[0] == "list" else tuple(items) if form[0] == "tuple" else form[0](*items)


def _results(value: object, outputs: list[Any]) -> Any:
    """The form of what the traced function returned; everything in it becomes an output."""
    if isinstance(value, dict):
        return ("dict", tuple(value), tuple([_results(item, outputs) for item in value.values()]))
    if isinstance(value, (list, tuple)):
        return (_kind_of(value), tuple([_results(item, outputs) for item in value]))
    if value is None:
        return _Plain(None)
    outputs.append(value if isinstance(value, Variable) else as_tensor(value))
    return LEAF


def _static(fun: Callable[..., Any], nums: int | Iterable[int], names: str | Iterable[str]) -> frozenset[int | str]:
    """Places and names of the arguments that are passed on as they are; each of these has both where it can."""
    places = {nums} if isinstance(nums, int) else set(nums)
    called = {names} if isinstance(names, str) else set(names)
    if not places and not called:
        return frozenset()
    parameters = list(inspect.signature(fun).parameters)
    unknown = called.difference(parameters)
    if unknown or any(not -len(parameters) <= k < len(parameters) for k in places):
        raise ValueError(
            f"jit: static arguments {sorted(places)} {sorted(called)}, but the parameters are {parameters}"
        )
    places = {k % len(parameters) for k in places} | {parameters.index(name) for name in called}
    return frozenset(places | {parameters[k] for k in places})


def _kind_of(value: object) -> Any:
    return type(value) if hasattr(value, "_fields") else "list" if isinstance(value, list) else "tuple"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex, np.generic))


def _all_numbers(value: Any) -> bool:
    """Whether a list is an array written by hand: numbers, or lists of numbers."""
    return bool(value) and all(
        _all_numbers(item) if isinstance(item, (list, tuple)) else _is_number(item) for item in value
    )


def _labels(fun: Callable[..., Any], shape: tuple[Any, ...]) -> Iterator[str | None]:
    """Names of the inputs, for messages: parameters, and what is inside them."""
    code = getattr(fun, "__code__", None)
    for k, form in enumerate(shape[0]):
        name = code.co_varnames[k] if code is not None and k < code.co_argcount else None
        yield from _inside(name, form)
    for name, form in zip(*shape[1:]):
        yield from _inside(name, form)


def _inside(name: str | None, form: Any) -> Iterator[str | None]:
    if form is LEAF:
        yield name
    elif not isinstance(form, _Plain):
        keys = form[1] if form[0] == "dict" else range(len(form[1]))
        for key, item in zip(keys, form[-1]):
            yield from _inside(f"{name}[{key!r}]" if name else None, item)

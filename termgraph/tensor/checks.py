"""Checks and printing while a function runs: `Assert`, `CheckAndRaise`, `Print`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import CheckError
from termgraph.terms.ops.control import check, print_


class CheckAndRaise:
    """`CheckAndRaise(error, message)(x, *conditions)` is `x`; it raises unless all conditions hold everywhere.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> positive = CheckAndRaise(ValueError, "x must be positive")
    >>> f = tg.function([x], T.log(positive(x, x > 0)))
    >>> float(f(1.0))
    0.0
    """

    def __init__(self, error: type[Exception], message: str = "") -> None:
        if not (isinstance(error, type) and issubclass(error, Exception)):
            raise TypeError(f"CheckAndRaise(error, message): error must be an exception class, got {error!r}")
        if not isinstance(message, str):
            raise TypeError(f"CheckAndRaise(error, message): message must be a string, got {message!r:.60}")
        self.op = check.bind(error=error, message=message)

    def __call__(self, value: Any, *conditions: Any) -> Any:
        """`value`, after checking the conditions."""
        for c in conditions:
            if isinstance(c, str):
                raise TypeError(
                    f"a condition is the message {c!r:.60}; give messages before the operand: "
                    f"T.Assert({c!r:.60})(x, condition)"
                )
        return self.op(as_tensor(value), *[as_tensor(c) for c in conditions])


class Assert(CheckAndRaise):
    """`Assert(message)(x, *conditions)` is `x`; it raises an AssertionError unless all conditions hold everywhere.

    Mode UNSAFE leaves these checks out.
    """

    def __init__(self, message: str = "assertion failed") -> None:
        super().__init__(CheckError, message)


assert_op = Assert()


class Print:
    """`Print(message)(x)` is `x`, printed each time it is computed.

    `attrs` names what to print of the array, for example `("shape", "__str__", "min")`: methods are called.
    `global_fn(printer, value)` is called instead of printing.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], Print("x is", attrs=("shape", "__str__"))(x) * 2)
    >>> f([1.0, 2.0])
    x is shape = (2,)
    x is __str__ = [1. 2.]
    array([2., 4.])
    """

    def __init__(
        self, message: str = "", attrs: Sequence[str] = ("__str__",), global_fn: Callable | None = None
    ) -> None:
        self.message, self.attrs, self.global_fn = message, tuple(attrs), global_fn
        show = None if global_fn is None else functools.partial(_call_with, self)
        self.op = print_.bind(message=message, attributes=self.attrs, show=show)

    def __call__(self, value: Any) -> Any:
        """`value`, printed when it is computed."""
        return self.op(as_tensor(value))


def _call_with(printer: Print, message: str, value: np.ndarray) -> None:
    assert printer.global_fn is not None
    printer.global_fn(printer, value)


__all__ = ["Assert", "CheckAndRaise", "Print", "assert_op"]

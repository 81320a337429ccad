"""In and Out: how each input and output of a function is to be treated.

Users write plain variables most of the time; the converters here accept every form that a list of inputs may hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from termgraph.tensor.sharedvar import Container, checked_update, is_shared, label
from termgraph.tensor.variable import Constant, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.ops.transfer import device_number

# What a function may be asked for: a variable or an Out, several of these in a list or by name, or nothing.
Outputs: TypeAlias = "Variable | Out | Sequence[Variable | Out] | Mapping[str, Variable | Out] | None"


class In:
    """An input of a function with its treatment.

    variable: the symbolic input. name: the keyword in calls (the variable's name unless given). value: a default, which
    makes the argument optional. update: an expression that becomes the default after each call. mutable: the function
    may overwrite the array passed. borrow: outputs may share memory with it. strict: accept exactly the type, without
    conversion. allow_downcast: True converts even with loss, False not even Python floats, None Python floats only.
    autoname: take the variable's name. shared: a shared variable, never passed in calls.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> f = tg.function([x, tg.In(y, value=10.0)], x + y)
    >>> float(f(1)), float(f(1, 2))
    (11.0, 3.0)
    """

    def __init__(
        self,
        variable: Variable,
        name: str | None = None,
        value: object = None,
        update: object = None,
        mutable: bool | None = None,
        borrow: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        shared: bool = False,
        implicit: bool | None = None,
    ) -> None:
        if not isinstance(variable, Variable):
            raise TypeError(
                f"In(variable): expected a symbolic variable, got {type(variable).__name__} {variable!r:.60}"
            )
        if name is not None and not isinstance(name, str):
            raise TypeError(f"In({variable}, name): name must be a string, got {name!r}")
        if borrow is False and mutable:
            raise ValueError(
                f"In({variable}): mutable=True needs borrow=True: an array that may be overwritten is borrowed"
            )
        self.variable = variable
        self.name = variable.name if name is None and autoname else name
        self.update = None if update is None else checked_update(variable, update)
        self.mutable = (self.update is not None) if mutable is None else bool(mutable)
        self.borrow = self.mutable if borrow is None else bool(borrow)
        self.strict, self.allow_downcast = bool(strict), allow_downcast
        self.autoname, self.shared = autoname, bool(shared)
        self.implicit = self.shared if implicit is None else bool(implicit)
        if self.update is not None and value is None and not shared:
            raise TypeError(f"In({variable}, update=...) needs value=: the value that the first call starts from")
        self.value = self._checked_default(value)

    def _checked_default(self, value: object) -> Any:
        """The default as a value of the variable's type (a Container is kept: it is memory shared with others)."""
        if value is None or isinstance(value, Container):
            return value
        if isinstance(value, Variable):
            raise TypeError(f"In({self.variable}, value): a default is a value, got the symbolic variable {value}")
        try:
            return self.variable.type.filter(value, allow_downcast=self.allow_downcast)
        except (TypeError, ValueError) as err:
            raise TypeMismatch(f"In({self.variable}, value): {err}") from None

    def __repr__(self) -> str:
        return f"In({self.variable})" if self.update is None else f"In({self.variable} -> {self.update})"


SymbolicInput = In


class Out:
    """An output of a function. `borrow=True` allows the result to share memory with the function's own arrays.

    `target="cuda"` (or "cuda:1", ...): the result stays on the GPU, as a `DeviceArray`, and a call returns before it is
    computed. Functions that run on the CPU take no notice of it.
    """

    def __init__(self, variable: Variable, borrow: bool = False, target: str | None = None) -> None:
        if not isinstance(variable, Variable):
            raise TypeError(
                f"Out(variable): expected a symbolic variable, got {type(variable).__name__} {variable!r:.60}"
            )
        self.variable, self.borrow, self.target = variable, bool(borrow), target
        self.device = None if target is None else device_number(target)

    def __repr__(self) -> str:
        more = ", borrow=True" if self.borrow else ""
        return f"Out({self.variable}{more}{f', target={self.target!r}' if self.target else ''})"


SymbolicOutput = Out


def convert_function_input(item: object, allow_downcast: bool | None = None) -> In:
    """An In for whatever may stand in the list of inputs: a variable, an In, or a pair (variable, default value)."""
    if isinstance(item, In):
        return item
    if isinstance(item, (tuple, list)):
        return _pair_input(item, allow_downcast)
    if isinstance(item, Constant):
        raise TypeError(
            f"a Constant cannot be an input of a function: {item} (its value is known already); "
            "leave it out, or make it a variable such as T.dscalar('x')"
        )
    if is_shared(item):
        raise TypeError(
            f"{label(item)} cannot be an input: functions use shared variables without being given them. Leave it out; "
            "to compute with another value, use givens={shared: variable} or set_value()"
        )
    if isinstance(item, Variable):
        return In(item, allow_downcast=allow_downcast)
    raise TypeError(f"an input must be a symbolic variable or In(...), got {type(item).__name__} {item!r:.60}")


_pfunc_param_to_in = convert_function_input  # the seeds' name


def _pair_input(item: Sequence[Any], allow_downcast: bool | None) -> In:
    if len(item) == 2 and isinstance(item[0], str):
        raise TypeError(f"an input pair is (variable, default value), got a name first: {item!r:.60}")
    if len(item) != 2 or not isinstance(item[0], Variable):
        raise TypeError(f"an input must be a variable, In(...) or a pair (variable, default value), got {item!r:.60}")
    plain = convert_function_input(item[0])
    variable, value = item
    if isinstance(value, Variable):
        raise TypeError(f"the default of input {variable} must be a value, got the symbolic variable {value}")
    return In(plain.variable, value=value, allow_downcast=allow_downcast)


def wrap_in(item: object) -> In:
    """As FunctionMaker takes inputs: an In, or whatever converts to one."""
    return convert_function_input(item)


def wrap_out(item: object) -> Out:
    """An Out for a variable, or for a value that can be made into a constant."""
    if isinstance(item, Out):
        return item
    if isinstance(item, Variable):
        return Out(item)
    try:
        return Out(as_tensor(item))
    except TypeError as err:
        raise TypeError(f"an output must be a symbolic variable, Out(...) or a number: {err}") from None

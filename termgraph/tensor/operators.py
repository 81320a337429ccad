"""Python's operators on tensor variables.

`x + y` on two arrays of equal rank takes a short path: intern the term, make the variable, nothing else.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

from termgraph.config import config
from termgraph.tensor.known import known_number, known_value
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.testvalues import note_test_value
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import apply_op
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import make_vector
from termgraph.terms.term import mk2, untrack

_new = object.__new__


def _binary(op: Op) -> tuple[Callable, Callable]:
    def method(self: Any, other: TensorLike) -> TensorVariable:
        if other.__class__ is TensorVariable and not self.waits:
            a, b = self.term, other.term
            if a.type.ndim == b.type.ndim and not (a.op.family is dimshuffle or b.op.family is dimshuffle):
                v: Any = _new(TensorVariable)
                v.term = mk2(op, a, b)
                v._owner, v._a, v._b = op, self, other
                v.index, v.name, v._tag = 0, None, None
                v.site = user_site()
                untrack(v)  # it points only to older objects; `owner` and `tag` track it again
                if config.compute_test_value != "off":
                    note_test_value([v])
                return v
        elif not _is_operand(other):
            return NotImplemented
        elif other.__class__ is tuple:
            _ask_for_lengths(op, self, other)
        return apply_op(op, (self, other))

    def reflected(self: Any, other: TensorLike) -> TensorVariable:
        if not _is_operand(other):
            return NotImplemented
        if other.__class__ is tuple:
            _ask_for_lengths(op, self, other)
        return apply_op(op, (other, self))

    return method, reflected


def _ask_for_lengths(op: Op, v: Any, other: Any) -> None:
    """`(2,) + x.shape` adds numbers, as in Theano; who writes it mostly means lengths beside each other.

    One number added to several lengths is refused; where there are as many, which may be meant, a warning says it.
    """
    if op is not ew.add or v.type.ndim != 1 or v.type.kind not in "iu" or not _of_lengths(v.term):
        return
    numbers = ", ".join(map(str, other))
    text = (
        f"x.shape is a vector, to which + adds numbers: write (*x.shape, {numbers}) or ({numbers}, *x.shape) for "
        f"lengths beside each other, np.array([{numbers}]) to add"
    )
    if v.type.shape[0] != len(other):
        raise TypeError(text)
    warnings.warn(text, stacklevel=3)


def _of_lengths(term: Any) -> bool:
    while term.op.family is subtensor:
        term = term.args[0]
    return term.op is CONST or term.op.family is make_vector


def _is_operand(other: object) -> bool:
    """Whether an operator should try: a pattern or another library's symbol gets its own chance first."""
    lift = getattr(other, "apply_op", None)
    if lift is not None:
        return lift.rank <= 2 and not getattr(other, "own_operators", False)
    if isinstance(other, (str, bytes, dict, set, type(None))) or (callable(other) and not hasattr(other, "__array__")):
        raise TypeError(
            f"unsupported operand for a tensor variable: {type(other).__name__} {other!r:.40}; "
            "expected a number, an array, a list of numbers or a symbolic variable"
        )
    return True


def _unary(op: Op) -> Callable:
    return lambda self: apply_op(op, (self,))


def _pow(self: Any, other: TensorLike, modulus: TensorLike | None = None) -> TensorVariable:
    if modulus is not None:
        raise TypeError("pow() with a modulus is not supported on tensor variables")
    return _POW[0](self, other)


def _divmod(self: Any, other: object) -> tuple:
    return self // other, self % other


def _rdivmod(self: Any, other: object) -> tuple:
    return other // self, other % self


def _round(self: Any, ndigits: int | None = None) -> Any:
    # keeps its dtype, where a number of Python becomes a whole one
    return self.round(0 if ndigits is None else ndigits)


def _truth(self: Any) -> bool:
    """That of a number that is known. Of a comparison with variables it is a mistake to ask; all else is true, as in
    Theano.
    """
    known = known_number(self) if self.type.ndim == 0 else None
    if known is not None:
        return bool(known)
    if self.type.dtype == "bool" and self.term.args:
        raise TypeError(
            "the truth of a symbolic condition is not known while building the graph; "
            "use T.switch(cond, a, b) or ifelse(cond, a, b) to choose, and & | ~ to combine conditions"
        )
    return True


_POW = _binary(ew.pow_)


def _no_iteration(self: Any) -> Any:
    if self.type.ndim == 0:
        raise TypeError(f"iteration over a 0-d tensor: {self}")
    n = self.type.shape[0]
    if n is None:
        raise TypeError(
            f"cannot iterate over {self}: the length of its first dimension is not known while building the graph; "
            "use scan/map, or declare the length with shape=; Python's sum, max, sorted are x.sum(), x.max(), T.sort(x)"
        )
    return iter([self[i] for i in range(n)])


def _no_len(self: Any) -> int:
    if self.type.ndim == 0 or self.type.shape[0] is None:
        raise TypeError(f"len() of {self}: its length is not known while building the graph; use x.shape[0]")
    return self.type.shape[0]


def _no_format(self: Any, spec: str) -> str:
    if spec:
        raise TypeError(
            f"{self} has no value to be written as {spec!r} while the graph is built; "
            "tg.printing.Print(message)(x) prints the value when it is computed"
        )
    return str(self)


def _membership(self: Any, item: object) -> bool:
    if item is None:
        return False
    known = known_value(self)
    if known is None or isinstance(item, TensorVariable):
        raise TypeError(f"what is in {self} is not known while building the graph; use T.eq({self}, value).any()")
    return item in known


# What to write instead of a conversion that Python or a module of numbers asks for.
_INSTEAD = {
    "int": "T.cast(x, 'int64')",
    "float": "T.cast(x, 'float64'), or the function of T instead of that of math (T.sqrt, T.exp)",
    "complex": "T.cast(x, 'complex128')",
    "an index": "tg.loop(..., length=n) or tg.scan(..., n_steps=n) instead of range(n), or give the input a shape=",
}


def _conversion(kind: str, convert: Callable) -> Callable:
    def converted(self: Any) -> Any:
        known = known_number(self)
        if known is not None:
            return convert(known)
        raise TypeError(
            f"cannot convert the symbolic variable {self} to {kind}: it has no value while the graph is built. In the "
            f"graph write {_INSTEAD[kind]}; .eval({{...}}) computes its value now"
        )

    return converted


def install() -> None:
    """Attach the operators to TensorVariable."""
    pairs = {
        "add": ew.add, "sub": ew.sub, "mul": ew.mul, "truediv": ew.true_div, "floordiv": ew.floor_div, "mod": ew.mod,
        "and": ew.bitwise_and, "or": ew.bitwise_or, "xor": ew.bitwise_xor, "lshift": ew.left_shift,
        "rshift": ew.right_shift,
    }  # fmt: skip
    methods: dict[str, Any] = {}
    for name, op in pairs.items():
        methods[f"__{name}__"], methods[f"__r{name}__"] = _binary(op)
    methods["__pow__"], methods["__rpow__"] = _pow, _POW[1]
    for name, op in {"lt": ew.lt, "le": ew.le, "gt": ew.gt, "ge": ew.ge}.items():
        methods[f"__{name}__"] = _binary(op)[0]
    for name, op in {"neg": ew.neg, "abs": ew.abs_, "invert": ew.invert}.items():
        methods[f"__{name}__"] = _unary(op)
    methods["__pos__"] = lambda self: self
    methods["__divmod__"], methods["__rdivmod__"] = _divmod, _rdivmod
    methods["__bool__"], methods["__round__"] = _truth, _round
    methods["__iter__"], methods["__len__"] = _no_iteration, _no_len
    methods["__format__"], methods["__contains__"] = _no_format, _membership
    methods["__float__"], methods["__int__"] = _conversion("float", float), _conversion("int", int)
    methods["__complex__"] = _conversion("complex", complex)
    methods["__index__"] = _conversion("an index", operator.index)
    for name, function in methods.items():
        setattr(TensorVariable, name, function)


install()

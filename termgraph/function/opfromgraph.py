"""OpFromGraph: a graph made into an op, to be applied many times, shown folded, differentiated in its own way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from termgraph.compile.capture import capture
from termgraph.function.api import collect_shared
from termgraph.function.fgraph import FunctionGraph
from termgraph.tensor.variable import Constant, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.call import call
from termgraph.terms.types import TensorType

Override: TypeAlias = "Callable[..., Any] | Variable | None"  # a gradient's rule, or the gradient; None: the usual one


class OpFromGraph:
    """An op that computes `outputs` from `inputs`.

    Calling it applies it to other variables. The graph stays folded in printouts unless `inline`; compiled code is the
    same either way. `lop_overrides(inputs, outputs, output_grads)` or `grad_overrides(inputs, output_grads)` replaces
    its gradient, `rop_overrides(inputs, eval_points)` its forward derivative. Shared variables are used without being
    listed.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> hypotenuse = OpFromGraph([x, y], [T.sqrt(x * x + y * y)], name="hypotenuse")
    >>> a = T.dscalar("a")
    >>> float(tg.function([a], hypotenuse(a, 4.0))(3.0))
    5.0
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Variable | Sequence[Variable],
        inline: bool = False,
        lop_overrides: Override | Sequence[Override] | None = None,
        grad_overrides: Override | Sequence[Override] | None = None,
        rop_overrides: Override | Sequence[Override] | None = None,
        name: str | None = None,
    ) -> None:
        results: list[Any] = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        for what, variables in (("inputs", inputs), ("outputs", results)):
            if not isinstance(variables, (list, tuple)):
                raise TypeError(f"OpFromGraph: {what} must be a list of variables, got {variables!r:.60}")
            for i, v in enumerate(variables):
                if not isinstance(v, Variable) or (what == "inputs" and isinstance(v, Constant)):
                    raise TypeError(f"OpFromGraph: {what}[{i}] must be a variable (not a constant), got {v!r:.60}")
        if lop_overrides is not None and grad_overrides is not None:
            raise TypeError("OpFromGraph: give lop_overrides or grad_overrides, not both")
        self.inputs, self.outputs = list(inputs), results
        self.shared = collect_shared(results, {}, {}, True, self.inputs)
        captured = capture([*self.inputs, *self.shared], results, {})
        self._sources = captured.sources
        self.op = call.bind(
            body=tuple(captured.roots),
            takes=tuple([a.type for a in captured.args]),
            name=name or type(self).__name__,
            inline=bool(inline),
            lop=_hashable(lop_overrides) if grad_overrides is None else _without_outputs(grad_overrides),
            rop=_hashable(rop_overrides),
        )
        self._args = captured.args

    def __call__(self, *inputs: Any, return_list: bool = False) -> Any:
        """The op applied: one variable, or a list when there are several outputs."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"{self.op} takes {len(self.inputs)} inputs, got {len(inputs)}")
        operands = [_operand(v, own.type) for v, own in zip(inputs, self.inputs)]
        made = self.op(*operands, *self.shared)
        made = made if isinstance(made, list) else [made]
        return made if return_list or len(made) > 1 else made[0]

    def make_node(self, *inputs: Variable) -> Any:
        """The Apply node of this op on some inputs."""
        return self(*inputs, return_list=True)[0].owner

    @property
    def fgraph(self) -> FunctionGraph:
        """The graph inside."""
        known = self._sources.table() if self._sources is not None else {}
        return FunctionGraph.from_terms(self._args, self.op.params["body"], known)

    def __repr__(self) -> str:
        return f"OpFromGraph{{{self.op}, inline={self.op.params['inline']}}}"


def _operand(value: object, type_: TensorType) -> Any:
    if isinstance(value, Variable) or not isinstance(type_, TensorType):
        return value
    return as_tensor(value, dtype=type_.dtype)


class _WithoutOutputs:
    """A rule of `grad_overrides`, called as one of `lop_overrides`."""

    def __init__(self, rule: Callable[..., Any]) -> None:
        self.rule = rule

    def __call__(self, inputs: Sequence[Variable], outputs: object, output_grads: Sequence[Variable]) -> Any:
        return self.rule(inputs, output_grads)


def _without_outputs(overrides: Override | Sequence[Override]) -> Any:
    if isinstance(overrides, (list, tuple)):
        return tuple([_without_outputs(rule) for rule in overrides])
    return _WithoutOutputs(overrides) if callable(overrides) and not isinstance(overrides, Variable) else overrides


def _hashable(overrides: Override | Sequence[Override]) -> Any:
    return tuple(overrides) if isinstance(overrides, list) else overrides

"""What a scan's step function may return, sorted into outputs, updates and a stopping condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from termgraph.loops.carries import function_site, function_text
from termgraph.loops.steps import Until
from termgraph.tensor.sharedvar import checked_updates, is_shared
from termgraph.tensor.trace import placed
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor

FORMS = "outputs, updates, (outputs, updates), or one of these with tg.until(condition) as last item"


def sort_returned(fn: Callable, returned: Any, expected: int | None) -> tuple[list[Any], dict, Until | None]:
    """(outputs, updates, until) out of what `fn` returned; `expected` is how many outputs were announced."""
    stop: Until | None = None
    if isinstance(returned, Until):
        stop, returned = returned, []
    elif isinstance(returned, (list, tuple)) and returned and isinstance(returned[-1], Until):
        stop = returned[-1]
        returned = returned[:-1]
        if len(returned) == 1:
            returned = returned[0]
    outputs: Any = returned
    updates: Any = {}
    if _is_updates(returned):
        outputs, updates = [], returned
    elif isinstance(returned, (list, tuple)) and len(returned) == 2:
        if _is_updates(returned[1]):
            outputs, updates = returned
        elif _is_updates(returned[0]):
            updates, outputs = returned
        elif isinstance(returned[1], (list, tuple)) and not returned[1]:  # no updates
            outputs = returned[0]
    values = _outputs(fn, outputs)
    if expected is not None and len(values) != expected:
        raise ValueError(
            placed(
                function_site(fn),
                f"scan: the step function returned {len(values)} output{'s' * (len(values) != 1)}, but outputs_info "
                f"describes {expected}; return {expected}, or give outputs_info one entry per output (None for those "
                f"that are not fed back)" + _listed(values),
            )
        )
    return values, checked_updates(updates, "scan"), stop


def _listed(values: Sequence[Any]) -> str:
    return "".join(f"\n  output {i}: {v}, {v.type}" for i, v in enumerate(values) if hasattr(v, "type"))


def _is_updates(value: object) -> bool:
    """A dictionary, or a non-empty list of pairs that start with a shared variable."""
    if isinstance(value, Mapping):
        return True
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(p, tuple) and len(p) == 2 and is_shared(p[0]) for p in value)


def _outputs(fn: Callable, outputs: Sequence | TensorVariable) -> list[Any]:
    if outputs is None:
        return []
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    values = []
    for i, value in enumerate(listed):
        try:
            values.append(value if isinstance(value, Variable) else as_tensor(value))
        except TypeError as err:
            raise TypeError(f"scan: output {i} of {function_text(fn)}: {err}. The step may return {FORMS}") from None
    return values

"""Which operations C has code for: why a term cannot be part of a C program, judged by itself."""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.run.numpy_loops import available
from termgraph.backends.c.text.dialect import CDialect
from termgraph.backends.has_text import elementwise_text
from termgraph.lower import lowering  # noqa: F401  its rooms declare what they can do
from termgraph.lower.push.driver import AT
from termgraph.lower.push.expand import EXPANSIONS, IN_PARTS
from termgraph.lower.push.pseudo_inverse import singular_values
from termgraph.lower.push.user_elements import element_op
from termgraph.lower.storage.policy import CUTS
from termgraph.lower.storage.routine_table import LOOPED, SPECS, spec_of
from termgraph.terms.dtypes import HALVES
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import AnyTerm, Term
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

ORDERED = (
    "max", "min", "max_or_lowest", "min_or_highest", "argmax", "argmin", "softmax", "log_softmax", "logsumexp",
)  # fmt: skip


def why_not(t: AnyTerm) -> str | None:
    """Why a term cannot be part of a C program, judged by itself; None if it can."""
    if t.__class__ is not Term:
        return _no_array([t])
    if t.op.family is loop:
        return _why_not_loop(t)
    if t.op.family is nth:
        of = t.args[0]
        return None if of.op.family in (loop, ifelse) else _why_no_routine(of)
    if t.op.family is ifelse:
        return _no_array(t.args)
    if t.op.family.name in SPECS and (t.op.family.name not in LOOPED or spec_of(t) is not None):
        return _why_no_routine(t)
    if t.op.family.name == "pinv" and not t.op.params["hermitian"]:
        return _why_no_routine(singular_values(t.args[0]))
    odd = _no_array((t, *t.args))
    return odd if odd is not None or _has_code(t) else f"there is no C code for {_titled(t)}"


def _has_code(t: AnyTerm) -> bool:
    """Whether lowering knows an op of arrays."""
    element, name = element_op(t), t.op.family.name
    if element is not None:
        halves = any(a.type.dtype in HALVES for a in (t, *t.args))
        return not halves and elementwise_text(CDialect, element, t, constants=False)
    if t.op.kind == "elementwise":
        return elementwise_text(CDialect, t.op, t)
    if name in ORDERED:
        return t.args[0].type.kind != "c"
    return name != "pinv" and any(name in known for known in (AT, CUTS, EXPANSIONS, IN_PARTS))


def _titled(t: AnyTerm) -> str:
    """An op with what it is applied to."""
    return f"{t.op.family.name} of {' and '.join(dict.fromkeys(str(a.type) for a in t.args)) or 'nothing'}"


def _no_array(terms: Any) -> str | None:
    odd = next((a.type for a in terms if not isinstance(a.type, TensorType)), None)
    return None if odd is None else f"{odd} is no array"


def is_routine(t: AnyTerm) -> bool:
    """Whether a term is computed by a routine that can be called here."""
    spec = spec_of(t)
    return spec is not None and available(spec.functions)


def _why_no_routine(t: AnyTerm) -> str | None:
    return None if is_routine(t) else f"no compiled routine can be called for {_titled(t)}"


def _why_not_loop(t: AnyTerm) -> str | None:
    """Why a loop's body cannot be part of a C program."""
    if "why_not_c" not in t.op.cache:
        body = children_first(inline_calls(list(t.op.params["body"])))
        t.op.cache["why_not_c"] = next((f"in its steps, {why}" for b in body if (why := why_not(b))), None)
    return t.op.cache["why_not_c"] or _no_array(t.args)

"""Which operations have kernels: what the rules with the tag `gpu` are told of this backend."""

from __future__ import annotations

from termgraph.backends.cuda.text import axis_kernels, routine_kernels
from termgraph.backends.cuda.text.dialect import CudaDialect
from termgraph.backends.cuda.text.gemm import NUMBERS
from termgraph.backends.cuda.text.user_kernels import brings_a_kernel, why_not_here
from termgraph.backends.has_text import elementwise_text
from termgraph.lower import lowering  # noqa: F401  its rooms declare what they can do
from termgraph.lower.loops.lazy import is_lazy
from termgraph.lower.push.by_sorting import BY_KERNELS
from termgraph.lower.push.driver import AT
from termgraph.lower.push.expand import EXPANSIONS
from termgraph.lower.push.user_elements import element_op
from termgraph.lower.storage.policy import CUTS
from termgraph.lower.storage.routine_table import SPECS
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import loop
from termgraph.terms.ops.sorting import AT_PLACES
from termgraph.terms.term import AnyTerm, Term
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

PRODUCTS = ("dot", "matmul", "gemm")
ORDERED = (
    "max", "min", "max_or_lowest", "min_or_highest", "argmax", "argmin", "sort", "argsort", "argtopk", "searchsorted",
    *AT_PLACES, "softmax", "log_softmax", "logsumexp",
)  # fmt: skip


# ---------------------------------------------------------------------- what CUDA can express
def why_not(t: AnyTerm) -> str | None:
    """Why a term cannot be part of a kernel, judged by itself; None if it can."""
    if t.__class__ is not Term:
        return None if isinstance(t.type, TensorType) else f"its type is {t.type}"
    if t.op.family is loop:
        return _loop_on_cpu(t)
    if t.op.family is nth and t.args[0].op.family is loop:
        return _loop_on_cpu(t.args[0])
    if t.op.family is nth and is_lazy(t.args[0]):
        return None if all(isinstance(a.type, TensorType) for a in t.args[0].args) else "it chooses between no arrays"
    if is_lazy(t):
        return "which side of a choice is computed is for the host to say"
    if brings_a_kernel(t):
        return why_not_here(t)
    types = [t.type, *(a.type for a in t.args)]
    odd = next((x for x in types if not isinstance(x, TensorType)), None)
    if odd is not None:
        return f"{odd} is no array"
    name = t.op.family.name
    if name in ORDERED and any(x.kind == "c" for x in types):
        return "complex numbers have no order in kernels"
    op = element_op(t) or t.op
    if op.kind == "elementwise":
        return None if elementwise_text(CudaDialect, op, t) else f"CUDA has no {name} of {t.args[0].type.dtype}"
    if (
        name in PRODUCTS
        and not {x.dtype for x in types} <= set(NUMBERS)
        and (name == "matmul" or t.type.dtype in NUMBERS)
    ):
        return f"there is no product of matrices of {' and '.join(dict.fromkeys(x.dtype for x in types[1:]))}"
    if name == "searchsorted" and t.args[0].type.dtype != t.args[1].type.dtype:
        return f"kernels search {t.args[0].type.dtype} for {t.args[0].type.dtype} only, not for {t.args[1].type.dtype}"
    if name in routine_kernels.NAMES:
        return routine_kernels.why_not(t)
    return None if has_kernel(name) else f"there is no kernel for {name}"


def has_kernel(name: str) -> bool:
    """Whether ops of a name that are not element-wise become kernels, for the dtypes that kernels have."""
    own = name in axis_kernels.NAMES or name in routine_kernels.NAMES or name in BY_KERNELS or name == "check"
    return own or (name not in SPECS and (name in AT or name in CUTS or name in EXPANSIONS))


def _loop_on_cpu(t: AnyTerm) -> str | None:
    """Why a loop cannot be on the GPU: its body has something that cannot be, or a loop that stops early."""
    if "on_cpu" not in t.op.cache:
        body = children_first(inline_calls(list(t.op.params["body"])))
        lazy = [b for b in body if b.args and is_lazy(b)]  # a choice inside a loop is made by the device
        loops = [b for b in body if b.op.family is loop]
        reasons = [why for b in body if b not in lazy and (why := why_not(b)) is not None]
        if lazy and loops:
            reasons.append("there are a loop and a choice of which one side is computed")
        if any(b.op.stop is not None for b in loops):
            reasons.append("a loop that stops early asks after some steps")
        t.op.cache["on_cpu"] = f"in its body, {reasons[0]}" if reasons else None
    odd = next((a.type for a in t.args if not isinstance(a.type, TensorType)), None)
    return f"{odd} is no array" if odd is not None else t.op.cache["on_cpu"]

"""`transfer`: which device computes what, where there are several."""

from __future__ import annotations

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops.transfer import device_number, to_device


def transfer(x: TensorLike, target: str) -> TensorVariable:
    """The same value, on the device `target`: what is computed from it is computed there.

    Targets are "cuda" (the first device), "cuda:1", "cuda:2", ...; functions that run on the CPU take no notice.

    >>> import termgraph.tensor as T
    >>> T.dvector("x").transfer("cuda:1").owner.op
    to_device{device=1}
    """
    number = device_number(target)
    if number is None:
        raise ValueError("transfer(x, 'cpu'): results come to the CPU by themselves; say where they should be computed")
    return to_device(as_tensor(x), device=number)


METHODS = {"transfer": transfer}
__all__ = ["transfer"]

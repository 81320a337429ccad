"""Where operations run: what a device can compute moves there, copies stand at the borders only and go in pairs.

Not part of any set: the stage `gpu` of functions for a GPU asks for them, `db.query("gpu")` shows them.
"""

from __future__ import annotations

from typing import Any

from termgraph.rules import goal, head, param, rule, ruleset, seg
from termgraph.terms.ops.transfer import gpu_from_gpu, gpu_from_host, host_from_gpu, judge


@goal("ii")
def has_kernel(f: Any, xs: tuple) -> bool:
    """The device at hand can compute `f(*xs)`, which is not on a device yet."""
    return judge().can(f, xs)


@goal("iio")
def there(f: Any, xs: tuple) -> Any:
    """`f(*xs)` on a device, its operands copied to it and its result back."""
    return judge().moved(f, xs)


has_kernel.counts_clients = True  # it depends on the device: what one function left on the host, another may move


@ruleset("gpu")
def placement(x, y, f: head, xs: seg, d: param, e: param):
    yield rule("onto_device",     f(*xs),                                                y,
                                  has_kernel(f, xs), there(f, xs, y))

    # copies that cancel, and the one that need not pass through the host
    yield rule("there_and_back",  gpu_from_host(host_from_gpu(x, device=d), device=d),   x)
    yield rule("back_and_there",  host_from_gpu(gpu_from_host(x, device=d), device=e),   x)
    yield rule("across",          gpu_from_host(host_from_gpu(x, device=e), device=d),
                                  gpu_from_gpu(x, device=d, source=e))
    yield rule("nowhere",         gpu_from_gpu(x, device=d, source=d),                   x)

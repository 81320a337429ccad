"""Whole models with gradients: CPU seconds from the first line of the model to the first result, compilers included.

The rows "step" time the finished function, "peak" is how much memory the process grew by, "text" the C text in kB.
Starts are cold; "MLP 60 warm" is a start that finds what an earlier process kept. `--case '^MLP 60$'` runs one case,
`--case warm` all warm ones; deep_models.py lists the models.
"""

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import jax_arrays
from deep_models import Net, Operations, data, models
from harness import Also, Case, Suite, Target

SHORT = ("MLP 3", "residual MLP 4", "transformer 2", "LSTM 1")


def cases(quick: bool) -> list[Case]:
    also = [Also("step", "us", [Target(0.95)]), Also("peak", "MB", [Target(1.0)]), Also("text", "kB", [])]
    names, ready = SHORT if quick else models(), []
    for n in names:
        ready.append(Case(n, {"name": n}, "s", targets=[Target(0.5, "jax")], caches="cold", rtol=1e-2, also=also))
    for n in names:
        ready.append(Case(f"{n} warm", {"name": n}, "s", targets=[Target(0.15, "jax")], caches="warm", rtol=1e-2))
    return ready


suite = Suite("deep", cases, kind="once", doc=__doc__)


def cpu() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def measured(
    made: Callable[[], Callable], text: Callable[[Any], str] | None = None, sampled: Callable = np.asarray
) -> dict:
    """Make the function, call it once, and time it; `sampled` makes an array of what it gives, to compare."""
    from worker import sample

    started, memory = cpu(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    f = made()
    loss = f()
    ready, times = cpu() - started, []
    for _ in range(20):
        begin = time.process_time()
        f()
        times.append(time.process_time() - begin)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    also = {"step": sorted(times)[10], "peak": grown}
    if text is not None:
        also["text"] = len(text(f)) / 1000
    return {"seconds": ready, "sample": sample(sampled(loss)), "also": also}


def termgraph_operations() -> Operations:
    """Spelled in termgraph."""
    import termgraph as tg
    import termgraph.tensor as T

    def scan(step: Callable, x: Any, start: tuple, consts: tuple) -> Any:
        begin = [T.as_tensor(v) for v in start]
        return tg.scan(step, sequences=x, outputs_info=begin, non_sequences=list(consts))[0][0]

    return Operations(
        T, lambda x: T.maximum(x, 0),
        lambda x, w, s, p: T.nnet.conv2d(x, w, border_mode=(p, p), subsample=(s, s), filter_flip=False),
        lambda x, n, s, p: T.signal.pool_2d(x, (n, n), ignore_border=True, stride=(s, s), pad=(p, p)),
        lambda x, axes, keep: x.mean(axis=axes, keepdims=keep), lambda x: T.softmax(x, axis=-1), scan,
        lambda xs, axis: T.concatenate(xs, axis=axis), lambda x: T.repeat(T.repeat(x, 2, axis=2), 2, axis=3),
    )  # fmt: skip


@suite.side("termgraph")
def termgraph_side(who: str, name: str) -> dict:
    import termgraph as tg
    import termgraph.tensor as T

    ops, model, source = termgraph_operations(), models()[name], []

    def made() -> Callable:
        x, net = T.tensor("x", dtype="float32", shape=model.shape), Net(ops, tg.shared)
        loss = model.build(net, x, **model.sizes)
        f, value = tg.function([x], [loss, *tg.grad(loss, net.weights)]), data(model)
        source.append(f)
        return lambda: f(value)[0]

    return measured(made, lambda _: source[0].source("c"))


def jax_operations() -> Operations:
    """Spelled in JAX."""
    import jax
    import jax.numpy as jnp

    def scan(step: Callable, x: Any, start: tuple, consts: tuple) -> Any:
        def one(carry: Any, x: Any) -> tuple:
            carry = step(x, *carry, *consts)
            return carry, carry[0]

        return jax.lax.scan(one, tuple(jnp.asarray(v) for v in start), x)[1]

    def pool(x: Any, n: int, s: int, p: int) -> Any:
        pad = ((0, 0), (0, 0), (p, p), (p, p))
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, n, n), (1, 1, s, s), pad)

    return Operations(
        jnp, lambda x: jnp.maximum(x, 0), lambda x, w, s, p: jax.lax.conv(x, w, (s, s), "SAME")
        if s == 1 else jax.lax.conv_general_dilated(x, w, (s, s), [(p, p), (p, p)]),
        pool, lambda x, axes, keep: x.mean(axis=axes, keepdims=keep), lambda x: jax.nn.softmax(x, axis=-1), scan,
        lambda xs, axis: jnp.concatenate(xs, axis=axis), lambda x: jnp.repeat(jnp.repeat(x, 2, axis=2), 2, axis=3),
    )  # fmt: skip


@suite.side("jax")
def jax_side(who: str, name: str) -> dict:
    import jax
    import jax.numpy as jnp

    ops, model = jax_operations(), models()[name]

    def made() -> Callable:
        weights: list[np.ndarray] = []

        def own(v: np.ndarray) -> Any:
            weights.append(v)
            return jnp.asarray(v)

        jax.eval_shape(lambda x: model.build(Net(ops, own), x, **model.sizes), data(model))
        x, *given = jax_arrays(data(model), *weights)
        step = jax.jit(jax.value_and_grad(lambda w, x: model.build(Net(ops, jnp.asarray, w), x, **model.sizes)))
        return lambda: jax.block_until_ready(step(given, x))[0]

    return measured(made)


def torch_operations() -> Operations:
    """Spelled in PyTorch."""
    import torch

    nn = torch.nn.functional

    def scan(step: Callable, x: Any, start: tuple, consts: tuple) -> Any:
        state, out = tuple(torch.from_numpy(v) for v in start), []
        for part in x:
            state = step(part, *state, *consts)
            out.append(state[0])
        return torch.stack(out)

    def convolved(x: Any, w: Any, s: int, p: int) -> Any:
        return nn.conv2d(x, w, stride=s, padding=p)

    return Operations(
        torch, torch.relu, convolved, lambda x, n, s, p: nn.max_pool2d(x, n, s, p),
        lambda x, axes, keep: x.mean(dim=axes, keepdim=keep), lambda x: torch.softmax(x, dim=-1), scan,
        lambda xs, axis: torch.cat(xs, dim=axis), lambda x: x.repeat_interleave(2, 2).repeat_interleave(2, 3),
    )  # fmt: skip


def torch_views(x: Any) -> Any:
    """A tensor whose transpose() takes all axes, as in NumPy."""
    import torch

    class Views(torch.Tensor):
        def transpose(self, *axes: int) -> Any:
            return self.permute(*axes)

    return x.as_subclass(Views)


@suite.side("torch")
def torch_side(who: str, name: str) -> dict:
    import torch

    ops, model = torch_operations(), models()[name]

    def made() -> Callable:
        torch.set_grad_enabled(True)
        x = torch_views(torch.from_numpy(data(model)))
        own = lambda v: torch.from_numpy(np.asarray(v)).requires_grad_(True)  # noqa: E731
        net = Net(ops, own)
        model.build(net, x, **model.sizes)
        weights = net.weights

        def step() -> Any:
            loss = model.build(Net(ops, own, weights), x, **model.sizes)
            torch.autograd.grad(loss, weights)
            return loss.detach()

        return step

    return measured(made)


if __name__ == "__main__":
    raise SystemExit(suite.main())

"""Optimizers beside Optax and PyTorch: a hundred steps on the same cost from the same start, every parameter compared.

    python benchmarks/optimizers.py            needs the peers optax and torch of benchmarks/peers.py

Each library runs in its own environment and writes its parameters after each step; all in float64.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import peers

STEPS = 100
# name: ours, PyTorch's, Optax's; None where the library has no such one, or means something else by it
RULES: dict[str, tuple[str, str | None, str | None]] = {
    "sgd": ("sgd(0.05)", "SGD(p, 0.05)", "sgd(0.05)"),
    "momentum": ("momentum(0.02, 0.9)", "SGD(p, 0.02, momentum=0.9)", "sgd(0.02, momentum=0.9)"),
    "nesterov": (
        "nesterov(0.02, 0.9)",
        "SGD(p, 0.02, momentum=0.9, nesterov=True)",
        "sgd(0.02, momentum=0.9, nesterov=True)",
    ),
    "adagrad": ("adagrad(0.1)", "Adagrad(p, 0.1)", None),
    "rmsprop": ("rmsprop(0.01)", "RMSprop(p, 0.01)", None),
    "adadelta": ("adadelta(1.0)", "Adadelta(p, 1.0)", None),
    "adam": ("adam(0.05)", "Adam(p, 0.05)", "adam(0.05)"),
    "nadam": ("nadam(0.05)", None, "nadam(0.05)"),
    "adamw": ("adamw(0.05, weight_decay=0.1)", "AdamW(p, 0.05, weight_decay=0.1)", "adamw(0.05, weight_decay=0.1)"),
    "adamax": ("adamax(0.05)", "Adamax(p, 0.05)", None),
    "lion": ("lion(0.01, weight_decay=0.1)", None, "lion(0.01, weight_decay=0.1)"),
}
START = [1.5, -0.7, 2.2]
SCALES = [1.0, 3.0, 0.2]
TORCH = """
import json, sys, torch
torch.set_default_dtype(torch.float64)
rules, start, scales, steps = json.loads(sys.argv[1])
out = {"version": torch.__version__}
for name, text in rules.items():
    w = torch.tensor(start, requires_grad=True)
    s = torch.tensor(scales)
    optimizer = eval("torch.optim." + text.replace("(p", "([w]"))
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        (s * w**2 + torch.sin(2 * w)).sum().backward()
        optimizer.step()
        path.append(w.detach().tolist())
    out[name] = path
print(json.dumps(out))
"""
OPTAX = """
import json, sys, jax, optax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
rules, start, scales, steps = json.loads(sys.argv[1])
out = {"version": optax.__version__}
s = jnp.array(scales)
slope = jax.jit(jax.grad(lambda w: (s * w**2 + jnp.sin(2 * w)).sum()))
for name, text in rules.items():
    optimizer = eval("optax." + text)
    w = jnp.array(start)
    state, path = optimizer.init(w), []
    for _ in range(steps):
        updates, state = optimizer.update(slope(w), state, w)
        w = optax.apply_updates(w, updates)
        path.append(w.tolist())
    out[name] = path
print(json.dumps(out))
"""


def ours(text: str) -> np.ndarray:
    import termgraph as tg
    import termgraph.tensor as T

    w = tg.shared(np.array(START), name="w")
    cost = (np.array(SCALES) * w**2 + T.sin(2 * w)).sum()
    step = tg.function([], cost, updates=eval("tg.optim." + text)(cost, [w]))
    path = []
    for _ in range(STEPS):
        step()
        path.append(w.get_value())
    return np.array(path)


def theirs(python: str, program: str, rules: dict[str, str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "peer.py")
        script.write_text(program)
        given = json.dumps([rules, START, SCALES, STEPS])
        run = subprocess.run([python, script, given], capture_output=True, text=True, check=False)
    if run.returncode:
        print(run.stderr[-500:], file=sys.stderr)
        return {}
    return json.loads(run.stdout.splitlines()[-1])


def main() -> int:
    found = peers.manifest()["peers"]
    paths = {}
    for column, (peer, program) in enumerate([("torch", TORCH), ("optax", OPTAX)], start=1):
        rules = {name: texts[column] for name, texts in RULES.items() if texts[column]}
        if peer not in found:
            print(f"{peer} is not there: python benchmarks/peers.py {peer}")
        paths[column] = theirs(found[peer]["python"], program, rules) if peer in found else {}
    versions = [paths[column].get("version") for column in (1, 2)]
    print(f"largest difference of a parameter in {STEPS} steps; PyTorch {versions[0]}, Optax {versions[1]}")
    worst = 0.0
    for name, texts in RULES.items():
        path = ours(texts[0])
        cells = []
        for column in (1, 2):
            if name in paths[column]:
                difference = float(abs(path - np.array(paths[column][name])).max())
                worst = max(worst, difference)
                cells.append(f"{difference:12.1e}")
            else:
                cells.append(f"{'-':>12}")
        print(f"{name:10}", *cells)
    return 0 if worst < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())

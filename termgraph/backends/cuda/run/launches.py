"""How kernels are launched: grids, blocks and teams for given lengths. Numbers only, decided once per shape.

What results depend on (the size of a team, the number of partial results) is decided by lengths alone, so results are
the same on every device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from termgraph.backends.cuda.text import gemm
from termgraph.backends.cuda.text.functions import (
    BLOCK,
    HELD,
    HELD_BY_WARP,
    LEAST_ROW,
    LEAST_ROWS,
    PART_OF_ROW,
    PART_ROWS,
    PARTS,
    SLOT,
    SPREAD,
    KernelText,
    Launch,
    Product,
)
from termgraph.backends.cuda.text.transposed import ROWS, SHORT, SIDE
from termgraph.lower.lengths.index import Apply, Poly, Var, evaluate
from termgraph.lower.push.kernel import IVAL, scalars
from termgraph.terms.dtypes import working_dtype
from termgraph.terms.evaluate import evaluate as values_of

FEW_ROWS = 256
WARP_ROW = 1024  # longer rows are done by a whole block
ALONE_ROW = 8  # shorter ones by one thread
GRID = 65535  # blocks in the second and third direction of a grid


def plan_launch(text: KernelText, env: Mapping[str, int], processors: int, parts: int) -> Launch | None:
    """The launch of a kernel; None if there is nothing to do. `parts` is the grid of a fold's first phase."""
    count = evaluate(text.count, env)
    if text.kind == "single":
        return _with_scratch(Launch(text.name, (1, 1, 1), (1, 1, 1), text.params, {}), env)
    if text.kind == "whole":
        if parts == 1:
            return None
        return Launch(text.name, (1, 1, 1), (BLOCK, 1, 1), text.params, {"parts": parts})
    if text.kind == "serial":
        return _with_scratch(Launch(text.name, (1, 1, 1), (BLOCK, 1, 1), text.params, {"team": BLOCK}), env)
    if text.kind == "parts":
        return _parts(text, count, env)
    if count == 0:
        return None
    if text.kind == "columns":
        blocks = -(-count // 32)
        rows = 8 if blocks >= FEW_ROWS or text.most < 1024 else 32
        return Launch(text.name, (min(blocks, processors * 16), 1, 1), (32, rows, 1), text.params, {})
    return _rows(text, count, env, processors) if text.kind == "rows" else _flat(text, count, env, processors)


def plan_phases(text: KernelText, env: Mapping[str, int]) -> list[Launch]:
    """The launches for long columns or rows in parts, with the bytes of partial results; none where there are many.

    How many parts there are is a matter of lengths alone.
    """
    if not text.phases:
        return []
    if text.kind == "rows":
        return _row_parts(text, env)
    columns, rows = [evaluate(n, env) for n in text.phases[0].inner]
    planes = evaluate(text.phases[0].count, env)
    blocks = planes * -(-columns // 32)
    if blocks == 0:
        return []
    parts = min(-(-SPREAD // blocks), rows // PART_ROWS)
    if parts < 2 or rows < LEAST_ROWS:
        return []
    folds = max(k.team for k in text.phases)
    return [
        Launch(
            k.name, (min(blocks, SPREAD), parts if len(k.inner) > 1 else 1, 1), (32, 8, 1), k.params, {"parts": parts},
            SLOT * folds * parts * planes * columns,
        )
        for k in text.phases
    ]  # fmt: skip


def _row_parts(text: KernelText, env: Mapping[str, int]) -> list[Launch]:
    """The launches for few long rows in parts."""
    rows, longest = evaluate(text.count, env), max(evaluate(n, env) for k in text.phases for n in k.inner)
    parts = 0 if rows == 0 or longest < LEAST_ROW else min(-(-SPREAD // rows), longest // PART_OF_ROW)
    if parts < 2:
        return []
    room = SLOT * max(k.team for k in text.phases) * parts * rows
    return [
        Launch(k.name, (rows, parts if k.inner else 1, 1), (BLOCK, 1, 1), k.params, {"parts": parts}, room)
        for k in text.phases
    ]


def _parts(text: KernelText, count: int, env: Mapping[str, int]) -> Launch:
    """How many partial results a fold over everything has: a matter of lengths alone."""
    if not any(kind == "team" for kind, _ in text.params):
        parts = max(1, min(PARTS, -(-count // (BLOCK * 16))))
        return Launch(text.name, (parts, 1, 1), (BLOCK, 1, 1), text.params, {})
    longest = max([evaluate(n, env) for n in text.inner], default=0)
    team = 1 if text.team == 1 or longest <= ALONE_ROW else 32 if longest <= WARP_ROW else BLOCK
    parts = max(1, min(PARTS, -(-count * team // BLOCK)))
    return _with_scratch(Launch(text.name, (parts, 1, 1), (BLOCK, 1, 1), text.params, {"team": team}), env)


def _with_scratch(launch: Launch, env: Mapping[str, int]) -> Launch:
    """Room for the rows that each team keeps."""
    teams = launch.grid[0] * launch.block[0] // launch.numbers.get("team", 1)
    scratch = 0
    for kind, row in launch.params:
        if kind == "row":
            item = working_dtype(row.buf.dtype).itemsize
            scratch += -(-teams * evaluate(row.length, env) * item // 256) * 256
    return launch._replace(scratch=scratch)


def _flat(text: KernelText, count: int, env: Mapping[str, int], processors: int) -> Launch:
    squares = _squares(text.held, env, processors) if text.held is not None else None
    if squares is not None:
        return squares
    v = text.vectors
    inner = None if v is None or v.inner is None else evaluate(v.inner, env)
    vector = v is not None and (inner is None or inner % v.width == 0)
    work = -(-count // v.width) if v is not None and vector else count
    block = BLOCK if work >= BLOCK * processors else 64
    grid = min(-(-work // block), processors * 16 * BLOCK // block)
    return Launch(text.name, (grid, 1, 1), (block, 1, 1), text.params, {"vector": int(vector)})


def _squares(text: KernelText, env: Mapping[str, int], processors: int) -> Launch | None:
    """The launch of the kernel that turns squares; None if they would be mostly empty."""
    sides = [evaluate(n, env) for n in text.inner]
    if min(sides) < SHORT:
        return None
    squares = evaluate(text.count, env) * -(-sides[0] // SIDE) * -(-sides[1] // SIDE)
    return Launch(text.name, (min(squares, processors * 64), 1, 1), (SIDE, ROWS, 1), text.params, {})


def _rows(text: KernelText, count: int, env: Mapping[str, int], processors: int) -> Launch:
    longest = max([evaluate(n, env) for n in text.inner], default=0)
    if text.by_warps is not None and 32 * HELD < longest <= 32 * HELD_BY_WARP and count >= FEW_ROWS:
        text, team = text.by_warps, 32
    elif text.held is not None and ALONE_ROW < longest <= HELD * text.held.most:
        text = text.held
        team = 32 if longest <= HELD * 32 else _power(-(-longest // HELD))
    elif text.team == 1 or longest <= ALONE_ROW:
        team = 1
    else:
        team = 32 if longest <= (WARP_ROW if count >= FEW_ROWS else 64) else BLOCK
    block = team if team > 32 else BLOCK if team == 32 else 64  # a team of more than a warp is a block: it waits as one
    if text.name.endswith("_by_warps"):
        block = BLOCK // 2  # of threads with many registers more small blocks find room than large ones
    grid = min(-(-count * team // block), processors * 32)
    if any(kind == "row" for kind, _ in text.params):
        grid = min(grid, processors * 4)
    return _with_scratch(Launch(text.name, (grid, 1, 1), (block, 1, 1), text.params, {"team": team}), env)


def _power(n: int) -> int:
    return 1 << (n - 1).bit_length()


# ---------------------------------------------------------------------- matrix products
def plan_products(p: Product, env: Mapping[str, int]) -> list[Launch]:
    """The launches of a matrix product; the last dimension of a batch is one launch, if its layers lie evenly."""
    call = p.call
    batch = [(v, step, evaluate(v.extent, env)) for v, step in call.options["batch"]]
    if any(n == 0 for *_, n in batch):
        return []
    operands = [at for _, at, _ in call.operands[:2]]
    even = all(_at_one_distance(at, v) for v, *_ in batch[-1:] for at in operands)
    outer, last = (batch[:-1], batch[-1:]) if even else (batch, [])
    counts = [n for *_, n in outer]
    out = []
    for k in range(int(np.prod(counts, dtype=np.int64))):
        at = dict(zip((v for v, *_ in outer), map(int, np.unravel_index(k, counts)))) if outer else {}
        out += _one_product(p, {**env, **at, **{v: 0 for v, *_ in last}}, at, last)
    return out


def _at_one_distance(place: Poly, var: Var) -> bool:
    """Whether the layers of a batch follow each other evenly: not where each of them is read several times in a row."""
    return not any(a.__class__ is Apply and var in a.fv for m, _ in place.terms for a in m)


def _one_product(p: Product, env: Any, at: dict, last: list) -> list[Launch]:
    call = p.call
    (a, a_at, a_steps), (b, b_at, b_steps), *_ = call.operands
    sizes = [evaluate(n, env) for n in call.sizes]
    var, step, depth = last[0] if last else (None, None, 1)
    start = sum(evaluate(s, env) * at[v] for v, s in call.options["batch"] if v in at)
    jump = lambda q: evaluate(q.coefficient(var), env) if var is not None else 0  # noqa: E731
    numbers: dict[str, Any] = {
        "a": (a, evaluate(a_at, env), [evaluate(s, env) for s in a_steps], jump(a_at)),
        "b": (b, evaluate(b_at, env), [evaluate(s, env) for s in b_steps], jump(b_at)),
        "c": (call.buf, start, evaluate(step, env) if step is not None else 0),
        "sizes": sizes, "depth": depth, "beta": float(call.options["beta"]), "guard": p.guard,
        "alpha": p.alpha if isinstance(p.alpha, tuple) else _factor(p.alpha, env),
        "dtype": str(call.options["dtype"]), "name": call.name, "bias": None, "act": "",
    }  # fmt: skip
    if "epilogue" in call.options:
        bias, numbers["act"] = call.options["epilogue"]
        numbers["bias"] = None if bias is None else (bias[0], evaluate(bias[1], env))
    if 0 in (sizes[:2] if call.name == "gemm" else sizes[:1]):
        return []
    return [_launch_of(gemm.kernel_name(call), part) for part in _within_a_grid(numbers)]


def _factor(alpha: Any, env: Any) -> float:
    """The factor of a product that is known before anything runs: a matter of constants and lengths."""
    if alpha is None:
        return 1.0
    lengths = {t: np.int64(evaluate(t.op.params["index"], env)) for t in scalars([alpha]) if t.op.family is IVAL}
    return float(values_of([alpha], lengths)[0])


def _launch_of(kernel: str, numbers: dict[str, Any]) -> Launch:
    (m, n, *_), depth = numbers["sizes"], numbers["depth"]
    if numbers["name"] == "gemm":
        grid, block = (-(-n // gemm.TILE), -(-m // gemm.TILE), depth), (*gemm.THREADS, 1)
    else:
        numbers["team"] = 32 if numbers["a"][2][1] == 1 else 1
        grid, block = (-(-m * numbers["team"] // BLOCK), 1, depth), (BLOCK, 1, 1)
    return Launch(kernel, grid, block, [], {}, 0, numbers)


def _within_a_grid(numbers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The product, in parts if it has more rows or layers than a grid."""
    (a, a_at, a_steps, a_jump), (b, b_at, b_steps, b_jump), (c, c_at, c_jump) = (numbers[k] for k in "abc")
    m, n = numbers["sizes"][:2]
    most = GRID * gemm.TILE if numbers["name"] == "gemm" else m
    for layer in range(0, numbers["depth"], GRID):
        for row in range(0, m, most):
            yield {
                **numbers,
                "a": (a, a_at + layer * a_jump + row * a_steps[0], a_steps, a_jump),
                "b": (b, b_at + layer * b_jump, b_steps, b_jump),
                "c": (c, c_at + layer * c_jump + row * n, c_jump),
                "sizes": [min(most, m - row), *numbers["sizes"][1:]],
                "depth": min(GRID, numbers["depth"] - layer),
            }

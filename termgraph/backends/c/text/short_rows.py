"""Sums of many short rows: as many rows as a vector has lanes are added up together.

Of a row of three or eight numbers most of the time is adding up what its vectors hold, and waiting for that.
"""

from __future__ import annotations

from typing import Any

from termgraph._lazy import pattern
from termgraph.backends.c.text.dialect import SHORT
from termgraph.backends.c.text.ranges import VECTOR_CALL
from termgraph.lower.loops.tree import Let, Loop, Reduce, Write

FEW = 8  # elements of a short row, as in `vector_folds`
LANES = {"float64": 4, "float32": 8}  # of the widest vectors
SOMETIMES = pattern(r"!\(i\d+ & (\d+)\) && ")  # asked of a row; here of the first one of some


def one_fold(n: Loop) -> Reduce | None:
    """The fold of each row, if it is the first thing that happens in a step and only numbers come after it."""
    fold = n.body[0] if n.body else None
    if not isinstance(fold, Reduce) or not fold.lanes or n.serial or n.var in fold.var.extent.fv:
        return None
    plain = all(isinstance(x, (Let, Write)) for x in n.body[1:])
    added = all(f.op.params["kind"] in ("sum", "prod") for f in fold.folds)
    return fold if plain and added and fold.var.extent.const is None else None


def folded_together(p: Any, n: Loop, fold: Reduce, dtype: str, begin: str, end: str, first: str) -> str:
    """Write the loop over the rows before those that are left over, if they are short; where these begin.

    Rows that fill their vectors have a loop without masks: masked loads take twice the time. Functions of the library
    round otherwise in a vector than alone: a row's result must not depend on how many others there are.
    """
    rows, length, at, line = LANES[dtype], p.poly(fold.var.extent), p.names.new("b"), len(p.lines)
    p.add(f"int64_t {at} = {begin};")
    for test in (f"if ({length} == {FEW})", f"else if ({length} < {FEW})"):
        with p.block(f"{test} for (; {at} + {rows} <= {end}; {at} += {rows})"):
            p.add(*([SOMETIMES.sub(rf"!({at} / {rows} & \1) && ", first)] if first else []))
            _rows(p, n, fold, dtype, at, length if "<" in test else "")
    if any(map(VECTOR_CALL.search, p.lines[line:])):
        del p.lines[line:]
        return begin
    return at


def _rows(p: Any, n: Loop, fold: Reduce, dtype: str, at: str, end: str) -> None:
    """As many rows as a vector has lanes, whose elements end at `end`, if they do not fill their vectors."""
    short, rows, row = SHORT[dtype], LANES[dtype], f"i{n.var.level}"
    nbytes = FEW * 32 // rows
    vectors, each = f"({nbytes} / tg_vector_bytes)", f"for (int64_t u = 0; u < {rows}; u++)"
    accs = {f: p.names.new("a") for f in fold.folds}
    for acc in accs.values():
        p.add(f"tg_vector_{short} {acc}_rows[{rows} * {vectors}];", f"{p.d.ctype(dtype)} {acc}_row[{rows}];")
    p.add("#pragma GCC unroll 8")
    with p.block(each):
        p.add(f"const int64_t {row} = {at} + u;")
        p.add(*[f"tg_vector_{short} *const {acc}_vector = {acc}_rows + u * {vectors};" for acc in accs.values()])
        with p.each_vector(nbytes):
            for f, acc in accs.items():
                p.add(f"{acc}_vector[v] = (tg_vector_{short}){{0}} + {p.d.fold_init(f.op.params['kind'], dtype)};")
            p.add(f"const int64_t i{fold.var.level} = v * (tg_vector_bytes / {32 // rows});")
            if end:
                p.advance(fold, dtype, accs, p.values_below(fold, dtype, end))
            else:
                p.vector_steps(fold, dtype, accs)
    for f, acc in accs.items():
        p.add(f"tg_fold_rows_{f.op.params['kind']}_{short}({acc}_rows, {acc}_row);")
        p.text[f] = f"{acc}_row[u]"
    with p.block(each):
        p.add(f"const int64_t {row} = {at} + u;")
        p.body(n.body[1:])

"""Bits lost by a corpus of expressions as written, in the default mode, in STRICT, and by `tg.accurate`.

python benchmarks/accurate_forms.py             counts: improved, worsened, of how many that can be
python benchmarks/accurate_forms.py --each      a line for each expression
python benchmarks/accurate_forms.py hypot --each     those with a word in their text or topic
"""

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from accurate_corpus import Entry, corpus

import termgraph as tg
from termgraph import db
from termgraph.accuracy.accurate import checked_ranges
from termgraph.accuracy.exact import exact
from termgraph.accuracy.islands import range_of
from termgraph.accuracy.points import lost, sample
from termgraph.db.database import STAGES
from termgraph.rules.compiled import rewrite_in_stages
from termgraph.terms.evaluate import evaluate

COUNT = 400
WORSE, BETTER = 0.5, 1.0  # bits on average that count as worse, and as something that can be won


class Line(NamedTuple):
    """Bits lost on average: as written, and by what became of it."""

    entry: Entry
    written: float
    default: float
    strict: float
    accurate: float
    seconds: float


def strict(expr: Any) -> Any:
    """What the mode STRICT makes of an expression."""
    return rewrite_in_stages(expr, [db.query("+fast_run", f"&{s}", assume=()) for s in STAGES])


def measure(entry: Entry, seed: int = 12345) -> Line:
    """One expression, at points that the search has not seen."""
    ranges = checked_ranges(entry.ranges, [entry.expr.term])
    start = time.process_time()
    accurate = strict(tg.accurate(entry.expr, entry.ranges))
    seconds = time.process_time() - start
    forms = [entry.expr, tg.rewrite(entry.expr), strict(entry.expr), accurate]
    points, truth = drawn(entry, ranges, np.random.default_rng(seed))
    with np.errstate(all="ignore"):
        values = evaluate(forms, points)
    means = [float(lost(np.broadcast_to(v, truth.shape).astype(truth.dtype), truth).mean()) for v in values]
    return Line(entry, means[0], means[1], means[2], means[3], seconds)


def drawn(entry: Entry, ranges: dict, rng: np.random.Generator) -> tuple[dict, np.ndarray]:
    """Points with the exact values of the expression as written."""
    inputs = [v.term for v in entry.inputs.values()]
    limits = [range_of(t, ranges) for t in inputs]
    at, truths = [], []
    plain = db.rewrite(entry.expr, "+fast_run", "&canonicalize", assume=()).term
    for _ in range(6):
        columns = sample(limits, COUNT, [t.type.dtype for t in inputs], rng)
        truth = exact(plain, dict(zip(inputs, columns, strict=True)))
        good = np.isfinite(truth)
        at.append([c[good] for c in columns])
        truths.append(truth[good])
        if sum(map(len, truths)) >= COUNT:
            break
    joined = [np.concatenate([a[i] for a in at])[:COUNT] for i in range(len(inputs))]
    return dict(zip(inputs, joined, strict=True)), np.concatenate(truths)[:COUNT]


def summary(lines: list[Line]) -> str:
    """How many expressions got better and worse."""
    can = [r for r in lines if r.written > BETTER]
    out = [f"{len(lines)} expressions, {len(can)} lose more than {BETTER:g} bit on average as written"]
    for name in ("default", "strict", "accurate"):
        better = [r for r in can if getattr(r, name) < r.written - BETTER]
        worse = [r for r in lines if getattr(r, name) > r.written + WORSE]
        mean = np.mean([getattr(r, name) for r in lines])
        out.append(
            f"{name:9} improves {len(better):3} of them ({len(better) / max(1, len(can)):.0%}), worsens {len(worse)}; "
            f"{mean:.2f} bits lost on average, {np.mean([r.written for r in lines]):.2f} as written"
        )
    seconds = [r.seconds for r in lines]
    out.append(f"seconds of CPU for one search: median {np.median(seconds):.2f}, most {max(seconds):.1f}")
    return "\n".join(out)


def main() -> None:
    """The table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("words", nargs="*", help="only expressions with one of these in their text or topic")
    words.add_argument("--from", dest="first", type=int, default=0, help="leave out the first so many")
    words.add_argument("--each", action="store_true", help="a line for each expression")
    given = words.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for entry in corpus()[given.first :]:
        if given.words and not any(w in entry.text or w in entry.topic for w in given.words):
            continue
        line = measure(entry)
        lines.append(line)
        if given.each:
            marks = "".join([
                m for m, bad in (("D", line.default > line.written + WORSE), ("S", line.strict > line.written + WORSE),
                                 ("A", line.accurate > line.written + WORSE)) if bad
            ])  # fmt: skip
            print(
                f"{line.written:5.1f} {line.default:5.1f} {line.strict:5.1f} {line.accurate:5.1f} "
                f"{line.seconds:5.1f} s {marks:3} {entry.text}",
                flush=True,
            )
    print(summary(lines))


if __name__ == "__main__":
    main()

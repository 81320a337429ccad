"""The table of speeds: each public function has a row, and each row computes what NumPy computes. Nothing is timed."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import sparse
from tests.matrix.public import WITHOUT_A_ROW, public

FOLDER = str(Path(__file__).resolve().parent.parent / "benchmarks")
sys.path.insert(0, FOLDER)
try:
    import dialects
    import op_limits
    import op_report
    import worker
    from op_rows import ROWS
    from op_rows.derived import derived, of_op
    from op_rows.operations import OPERATIONS, UNCOUNTED
    from report import close
finally:
    sys.path.remove(FOLDER)

DERIVED = derived()
SPACES = {"": T, "linalg.": T.linalg, "fft.": T.fft, "nnet.": T.nnet, "signal.": T.signal, "sparse.": sparse,
          "ndimage.": T.ndimage, "stats.": T.stats}  # fmt: skip


def without_a_row() -> list[str]:
    """Public functions that no row is about; names for the same function share one."""
    named = {name.partition(" (")[0] for name in ROWS | DERIVED}
    known = {id(getattr(space, n)) for prefix, space in SPACES.items() for n in dir(space) if prefix + n in named}
    gone = [
        prefix + name
        for prefix, space in SPACES.items()
        for name, found in public(space)
        if callable(found) and id(found) not in known and name not in WITHOUT_A_ROW
    ]
    draws = [n for n in dir(T.random.RandomStream) if n[0] != "_" and n not in ("seed", "state_updates", "updates")]
    return gone + [f"random.{n}" for n in draws if f"random.{n}" not in named]


def test_every_public_function_has_a_row():
    assert without_a_row() == []


def test_a_function_without_a_row_is_noticed(monkeypatch):
    monkeypatch.delitem(ROWS, "searchsorted")
    assert without_a_row() == ["searchsorted"]


def test_an_element_wise_op_needs_no_row():
    assert {"log", "xlogy"} <= set(DERIVED)
    assert DERIVED["xlogy"] == of_op("xlogy", 2, grad=True)
    assert (DERIVED["xlogy"].text, DERIVED["xlogy"].peers) == ("T.xlogy(x, y)", {})


def sample(who: str, name: str) -> list:
    row = (ROWS | DERIVED)[name]
    statement = dialects.STATEMENTS[who](row, "small", row.dtypes[0], False)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return worker.sample(eval(statement.text, dict(statement.names)))


@pytest.mark.parametrize("part", range(4))
def test_rows_compute_what_numpy_computes(part):
    wrong, compared = [], 0
    with tg.config.change_flags(linker="py"):
        for name in list(ROWS | DERIVED)[part::4]:
            ours = sample("termgraph", name)
            try:
                theirs = sample("numpy", name)
            except NotImplementedError:
                continue
            row = (ROWS | DERIVED)[name]
            if not row.unchecked:
                compared += 1
                if not close(theirs, ours, 1e-6 if row.dtypes[0] != "float32" else 1e-4):
                    wrong.append(name)
    assert not wrong
    assert compared > 80


def test_operands_are_the_same_in_every_process():
    row = ROWS["index (rows)"]
    assert all(np.array_equal(a, b) for a, b in zip(row.values("small", "float64"), row.values("small", "float64")))
    assert row.values("small", "float32")[0].dtype == "float32"


def test_counts_of_operations_are_of_rows_and_grow_with_them():
    assert set(OPERATIONS) <= {name for name, row in ROWS.items() if not row.flops}
    for name in OPERATIONS:
        counts = [op_limits.operations(ROWS[name], size) for size in ("small", "middle", "large")]
        assert 0 < counts[0] < counts[1] < counts[2], name
    assert op_limits.operations(ROWS["linalg.cholesky"], "large") == 400**3 / 3
    assert op_limits.operations(ROWS["fft.fft (one)"], "large") == 5 * 1024 * 10


def test_what_is_no_matter_of_bytes_or_products_has_no_limit():
    for name in ("random.normal", "sort (columns)", "gammainc", "stats.t (logpdf)", "unique_counts", "hyp2f1"):
        assert UNCOUNTED.match(name), name
    for name in ("exp", "tanh", "hypot", "logaddexp", "cumsum", "nnet.softmax", "linalg.lu", "jvp", "erosion"):
        assert not UNCOUNTED.match(name), name


def test_medians_of_distances_are_of_rows_with_a_limit():
    rows = [op_report.judged(known_row(counted=False, limit=1e-9)), op_report.judged(known_row(counted=True))]
    assert op_report.distances(rows, "middle") == ", median distance to the limit 3.00 of 1 rows (of all 1501.50)"
    assert "x bytes" in op_report.line(rows[0]) and "x limit" in op_report.line(rows[1])


def known_row(**more):
    times = {"numpy": 2e-6, "jax": 4e-6, "termgraph": 3e-6}
    return {
        "case": "<f> | middle float64",
        "size": "middle",
        "times": times,
        "wrong": [],
        "errors": {},
        "limit": 1e-6,
    } | more


def test_a_row_is_judged_by_the_best_peer_that_is_right():
    assert op_report.judged(known_row())["ratio"] == pytest.approx(1.5)
    assert op_report.judged(known_row(wrong=["numpy"]))["best"] == "jax"
    assert op_report.judged(known_row(wrong=["termgraph"]))["ratio"] is None
    assert op_report.judged(known_row())["distance"] == pytest.approx(3)


def test_the_page_and_the_table():
    rows = [
        op_report.judged(known_row()),
        op_report.judged(known_row(times={"numpy": 1e-6}, errors={"termgraph": "no"})),
    ]
    text = op_report.table(rows, 5)
    assert "above 1.15 of the best: 100.0%" in text and "not run" in text
    page = op_report.page({"rows": rows, "machine": "m", "threads": 1})
    assert "&lt;f&gt;" in page and "class='lost'" in page

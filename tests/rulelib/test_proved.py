"""The prover finds nothing that a rule of these topics does not declare."""

import pytest

from termgraph.rules import prove
from tests.rulelib.support import topic

TOPICS = (
    "algebra", "alloc", "axes", "bounds", "casts", "comparisons", "complexes", "control", "half_powers", "indexing",
    "joins", "logic", "negation", "powers", "reductions", "reshape", "shapes", "switch", "writes",
)  # fmt: skip
NO_EXAMPLES = {  # several results, lengths of 0, all elements of one vector: see test_arrays
    "control.item_chosen", "control.item_equal", "control.item", "joins.nothing", "joins.of_items", "joins.of_slices",
    "writes.scatter_minus", "writes.minus_scatter", "writes.sum_scatter",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOPICS)
def test_every_rule_declares_what_it_changes(name):
    report = prove([r for r in topic(name) if r.name not in NO_EXAMPLES], samples=6)
    assert report.ok, str(report)

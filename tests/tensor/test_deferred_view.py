"""Variables made late stand for terms of every kind, comparisons included."""

import termgraph as tg
import termgraph.tensor as T


def test_a_rewritten_graph_with_a_comparison_shows_its_owners():
    x, y = T.dvectors("xy")
    new = tg.rewrite(T.switch(x > y, x, y * y) * 1)
    chosen = new.owner.inputs[0]
    assert chosen.term.op.name == "gt" and [v.name for v in chosen.owner.inputs] == ["x", "y"]


def test_a_comparison_of_the_user_is_found_again():
    x, y = T.dvectors("xy")
    larger = x > y
    new = tg.rewrite(T.switch(larger, x, y * y) * 1)
    assert new.owner.inputs[0] is larger

"""`timeline`: what rewriting did to a graph, step by step, as a page."""

from __future__ import annotations

from pathlib import Path

from termgraph.function.compiled import Function
from termgraph.tensor.variable import Variable
from termgraph.viz.page import Page, page, written
from termgraph.viz.timeline_data import timeline_data

_BODY = """<header><h1>{title}</h1>
<span><button id="first" title="Home">|&lt;</button><button id="back" title="the step before (left arrow)">&lt;</button>
<button id="forth" title="the next step (right arrow)">&gt;</button><button id="last" title="End">&gt;|</button></span>
<input id="slide" type="range" min="0" value="0" aria-label="step"><span id="count" class="note" role="status"></span>
<input id="search" type="search" placeholder="filter: a rule, a stage, part of an expression ( / )" aria-label="filter">
<select id="rules" aria-label="only one rule"></select><button id="node" hidden></button></header>
<main><nav id="steps" tabindex="0" aria-label="steps"></nav>
<article><section id="rule"></section>
<section><h2>before</h2><div id="before" class="graph"></div></section>
<section><h2>after</h2><div id="after" class="graph"></div></section>
<p class="note">The changed part is marked. What is far from it is folded: a click opens it. A click on a name or an
operator shows only the steps that had to do with this part.</p></article></main>"""


def timeline(traced: Function, outfile: str | Path = "rewrites.html", prove: float = 5.0) -> Page:
    """Write an HTML page that steps through the rewrites of a compiled function (or of a trace), rule by rule.

    Each step shows the whole graph before and after it with the changed part marked, the rule with its line, its file
    and what the prover says of it. Arrow keys, Home and End step, `/` filters by words, the list by rule, a click on a
    part of an expression by that part. The prover tries rules for at most `prove` seconds. Works offline; in a notebook
    the result shows itself.

    >>> import pathlib, tempfile, termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], T.log(T.exp(x).sum()))
    >>> path = tg.viz.timeline(f, pathlib.Path(tempfile.mkdtemp()) / "rewrites.html", prove=0)
    >>> "logsumexp.log_sum_exp" in path.read_text(encoding="utf-8")
    True
    """
    if isinstance(traced, Variable):
        raise TypeError(
            f"timeline shows how a compiled function was rewritten, got the expression {traced}; compile it first: "
            "tg.viz.timeline(tg.function(inputs, expression))"
        )
    data = timeline_data(traced, prove)
    count = sum(len(stage["steps"]) for stage in data["stages"])
    title = f"{count} rewrite{'s' * (count != 1)}"
    return written(outfile, page(title, _BODY.format(title=title), "timeline", ("timeline_graph", "timeline"), data))

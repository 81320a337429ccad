"""Pictures and timelines: what is drawn and said, that files need nothing from elsewhere, that boxes do not overlap."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.viz.node_positions import GAP_Y, routed
from termgraph.viz.scene import scenes_of

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg):
    """(class, label) of every node of a picture."""
    groups = [g for g in ET.fromstring(svg).iter(f"{SVG}g") if "node" in g.get("class", "")]
    return [(g.get("class").split()[1], g.find(f"{SVG}text").text) for g in groups]


def page_data(text):
    """What the script of a page is given."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text).group(1))


def facts_of(text):
    """(what, value) of all boxes of a graph's page."""
    data = page_data(text)
    texts = data["texts"]
    return {(texts[a], texts[b]) for s in data["scenes"] for f in s["facts"] for a, b in zip(f[::2], f[1::2])}


def strokes(svg):
    return sorted(p.get("stroke") for p in ET.fromstring(svg).iter(f"{SVG}path") if "edge" in p.get("class", ""))


def test_a_graph_and_what_is_left_of_it():
    a = T.dvector("a")
    b = a + a**10
    f = tg.function([a], b)
    before, after = boxes(tg.viz.to_svg(b)), boxes(tg.viz.to_svg(f))
    assert ("input", "a") in before and ("constant", "10") in before and ("op", "pow") in before
    assert ("op", "pow") not in after and ("output", "output") in after
    names = [("op", node.op.name) for node in f.maker.fgraph.toposort()]
    assert sorted(box for box in after if box[0] == "op") == sorted(names)


def test_views_and_overwritten_operands_are_coloured():
    x = T.dmatrix("x")
    assert strokes(tg.viz.to_svg(x.T * 2)).count("#2b5fd9") >= 1

    class Overwrites(tg.Op):
        __props__ = ()
        itypes = otypes = [T.dmatrix]
        destroy_map = {0: [0]}

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0]

    assert "#d92b2b" in strokes(tg.viz.to_svg(Overwrites()(x)))
    assert strokes(tg.viz.to_svg(T.exp(x))) == ["#888888"] * 2


def test_f79_the_page_is_complete(tmp_path):
    x, w = T.dmatrix("x"), T.dmatrix("w")
    step = tg.OpFromGraph([x], [T.tanh(x) * 2])
    cost = step(T.dot(x, w)).sum()
    cost.name = "<cost>"
    text = tg.viz.d3viz(cost, tmp_path / "graph.html").read_text(encoding="utf-8")
    markup = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL)
    assert not re.findall(r"(?:src|href)\s*=", markup) and "http" not in text and "url(" not in text
    assert "<cost>" not in text
    data, said = page_data(text), facts_of(text)
    assert "<cost>" in data["texts"] and len(data["scenes"]) == 2
    (inner,) = data["scenes"][0]["inner"].values()
    assert inner == 1 and data["scenes"][1]["inlets"] == {"0": 0}
    assert ("type", "TensorType(float64, (?, ?))") in said
    assert any(what == "line" and "test_picture.py:" in value for what, value in said)
    labels = {data["texts"][label] for label in data["scenes"][1]["label"]}
    assert {"operand 0", "tanh", "mul", "2", "output"} <= labels


def test_the_page_of_a_function_shows_how_it_was_compiled(tmp_path):
    x = T.dvector("x")
    f = tg.function([x], T.log(1 + T.exp(x)).sum())
    text = tg.viz.d3viz(f, tmp_path / "function.html").read_text(encoding="utf-8")
    table = re.search(r"<section class='stages'>.*?</section>", text, re.DOTALL).group(0)
    assert re.findall(r"<code>(\w+)</code>", table)[0] == "capture"
    assert all(f"<code>{row.stage}</code>" in table for row in f.stages)
    assert "how it was compiled" not in tg.viz.d3viz(x * 2, tmp_path / "graph.html").read_text(encoding="utf-8")


def test_loops_are_drawn_with_their_bodies():
    x = T.dvector("x")
    total, _ = tg.scan(lambda v, sofar: sofar + v, sequences=x, outputs_info=T.constant(0.0))
    outer, body = scenes_of(total[-1])
    assert [n.inner for n in outer.nodes if n.inner] == [1]
    assert "add" in [n.label for n in body.nodes] and [n.kind for n in body.nodes].count("output") == 2


def test_shared_variables_and_several_outputs():
    w = tg.shared(np.ones(3), name="w")
    kinds = boxes(tg.viz.to_svg([w * 2, T.exp(w)]))
    assert ("shared", "w") in kinds and ("output", "output 1") in kinds


@pytest.mark.parametrize("seed", range(5))
def test_boxes_do_not_overlap_and_edges_point_down(seed):
    rng = np.random.default_rng(seed)
    widths = rng.uniform(40, 160, 60)
    edges = [(int(rng.integers(0, b)), b) for b in range(1, 60) for _ in range(int(rng.integers(0, 4)))]
    places, _ = routed(widths, edges)
    assert all(places[b][1] >= places[a][1] + GAP_Y for a, b in edges)
    for row in {y for _, y in places}:
        inside = sorted((x - w / 2, x + w / 2) for (x, y), w in zip(places, widths) if y == row)
        assert all(right <= left for (_, right), (left, _) in zip(inside, inside[1:]))


def test_a_graph_too_large_for_a_picture_says_so():
    y = T.dscalar("x")
    for _ in range(3000):
        y = T.sin(y)
    with pytest.raises(ValueError, match="more than 2000 nodes"):
        tg.viz.to_svg(y)


def test_the_command_draws(tmp_path, capsys, monkeypatch):
    from termgraph.cli import main

    monkeypatch.chdir(tmp_path)
    assert main(["viz", "log(1 + exp(x))"]) == 0
    assert capsys.readouterr().out == "wrote graph.html\n"
    assert main(["viz", "log(1 + exp(x))", "left.svg", "--compiled", "--type", "x=fmatrix"]) == 0
    assert ("op", "softplus") in boxes((tmp_path / "left.svg").read_text())
    assert main(["viz", "log(1 + exp(x))", "--timeline", "--json"]) == 0
    assert "logs.log1p_exp" in (tmp_path / "rewrites.html").read_text()
    x = T.dvector("x")
    tg.save(tg.function([x], T.exp(x)), tmp_path / "f.tg")
    assert main(["viz", "f.tg", "f.svg"]) == 0 and ("op", "exp") in boxes((tmp_path / "f.svg").read_text())
    assert main(["viz", "log(1 +"]) == 2 and "is not an expression" in capsys.readouterr().err


def test_the_timeline_has_every_rewrite(tmp_path):
    x = T.dvector("x")
    f = tg.function([x], T.log(T.exp(x).sum()) * 1)
    text = tg.viz.timeline(f, tmp_path / "rewrites.html").read_text(encoding="utf-8")
    data = page_data(text)
    steps = [(s["stage"], data["rules"][step[0]]["name"]) for s in data["stages"] for step in s["steps"]]
    assert steps == [(r.stage, r.rule) for r in f.trace] and steps
    about = next(rule for rule in data["rules"] if rule["name"] == "logsumexp.log_sum_exp")
    assert "logsumexp.py:" in about["where"] and "rule(" in about["line"] and "tried on" in about["proof"]
    assert "http" not in text


def fills(svg):
    """The colour of each box by its label."""
    groups = [g for g in ET.fromstring(svg).iter(f"{SVG}g") if "node" in g.get("class", "")]
    return {g.find(f"{SVG}text").text: g.find(f"{SVG}rect").get("fill") for g in groups}


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_f79_profiled_operations_have_the_colour_of_their_time(linker, tmp_path):
    x = T.dmatrix("x")
    f = tg.function([x], T.tanh(T.dot(x, x)).sum(), profile=True, mode=tg.Mode(linker=linker))
    assert fills(tg.viz.to_svg(f))["dot"] == "#fff6dd"  # not called yet
    f(np.ones((60, 60)))
    colours = fills(tg.viz.to_svg(f))
    assert "#e23c30" in colours.values()
    assert colours["x"] == "#d5e8f7"
    text = tg.viz.d3viz(f, tmp_path / "graph.html").read_text(encoding="utf-8")
    shares = {value: float(re.search(r"([0-9.]+) %", v).group(1)) for what, v in facts_of(text) if what == "time"
              for value in [v.partition(":")[2]]}  # fmt: skip
    assert sum(shares.values()) <= 100.5 and "The redder" in text


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_steps_of_loops_have_colours_too(linker):
    x = T.dmatrix("x")
    out, _ = tg.scan(lambda v, s: T.tanh(T.dot(x, s)) + v, sequences=x, outputs_info=T.zeros(30))
    f = tg.function([x], out[-1], profile=True, mode=tg.Mode(linker=linker))
    f(np.ones((30, 30)))
    outer, *_, body = scenes_of(f)
    assert outer.timed
    if linker == "auto":  # it is not known which operations of the body a part of a compiled loop computes
        return
    assert body.timed and max(n.heat or 0 for n in body.nodes) == 1.0
    assert any(what == "time" and "%" in value for n in body.nodes for what, value in n.facts)


def test_what_is_read_is_written_in_the_box():
    x = T.dmatrix("x")
    assert ("op", "[1:, 0]") in boxes(tg.viz.to_svg(x[1:, 0]))


@pytest.mark.parametrize("linker", ["py", "auto"])
def test_f79_what_the_memory_plan_overwrites_is_red(linker):
    w, x = tg.shared(np.ones(4), name="w"), T.dvector("x")
    f = tg.function([x], [x.sum()], updates=[(w, w * x.sum() + 1)], mode=tg.Mode(linker=linker))
    svg = tg.viz.to_svg(f)
    assert strokes(svg).count("#d92b2b") == 1
    assert ("shared", "w") in boxes(svg) and ("output", "new w") in boxes(svg)
    kept = tg.function([x], [x.sum()], updates=[(w, w * x.sum() + 1)], mode=tg.Mode(linker="py").excluding("inplace"))
    assert "#d92b2b" not in strokes(tg.viz.to_svg(kept))


def test_long_edges_lead_around_boxes():
    x = T.dvector("x")
    y = x
    for _ in range(6):
        y = T.sin(y)
    svg = tg.viz.to_svg(y + x)
    (long,) = [p for p in ET.fromstring(svg).iter(f"{SVG}path") if (p.get("data-via") or "").count(",") >= 5]
    passed = [tuple(map(float, point.split(","))) for point in long.get("data-via").split()]
    for g in ET.fromstring(svg).iter(f"{SVG}g"):
        cx, cy = map(float, re.findall(r"-?[0-9.]+", g.get("transform")))
        half = float(g.find(f"{SVG}rect").get("width")) / 2
        assert all(abs(px - cx) > half for px, py in passed if py == cy)


def test_f15_the_parts_of_a_graph(tmp_path, capsys):
    x, y = T.dmatrices("xy")
    text = tg.printing.pydotprint(T.dot(x, y) + x, tmp_path / "parts.dot", style="structure").read_text()
    capsys.readouterr()
    colour = dict(re.findall(r'label="(.*?)", fillcolor="(.*?)"', text))
    assert colour["Apply"] == "#b9d4f5" and colour["x"] == colour["add.0"] == "#f7b9b9"  # blue, red
    assert colour["dot"] == "#c3e8b9" and colour["TensorType(float64, (?, ?))"] == "#dcc3f2"  # green, purple
    assert text.count("shape=ellipse") == 2
    tg.printing.pydotprint(T.exp(x), tmp_path / "parts.svg", style="structure")
    with pytest.raises(ValueError, match="'graph' or 'structure'"):
        tg.printing.pydotprint(x, tmp_path / "parts.svg", style="round")


def test_f15_names_alone_or_with_types(tmp_path):
    x = T.dmatrix("x")
    labels = [boxes(tg.printing.pydotprint(T.exp(x), tmp_path / "g.svg", var_with_name_simple=simple).read_text())
              for simple in (True, False)]  # fmt: skip
    assert ("input", "x") in labels[0] and ("input", "x: TensorType(float64, (?, ?))") in labels[1]


def test_notebooks_show_pictures_and_tables():
    x, w = T.dmatrix("x"), tg.shared(np.ones((3, 3)), name="w")
    y = T.dot(x, w)
    f = tg.function([x], y.sum(), profile=True)
    f(np.ones((2, 3)))
    assert x._repr_html_() == "<code>x: TensorType(float64, (?, ?))</code>"
    for shown in (y, y.term, y.owner, f, f.maker.fgraph):
        assert "<svg" in shown._repr_html_() and ET.fromstring(shown._repr_svg_()).tag == f"{SVG}svg"
    assert "x @ w" in y._repr_html_() and "The redder" in f._repr_html_()
    assert "<table" in f.profile._repr_html_() and "canonicalize" in f.profile._repr_html_()
    rules = tg.db.query("+stabilize")
    assert "log1p" in rules["logs.log1p"]._repr_html_() and "more" in rules._repr_html_()
    for _ in range(80):
        y = T.sin(y)
    assert y._repr_svg_() is None and "<pre>sin" in y._repr_html_()


def test_pydotprint(tmp_path, capsys, monkeypatch):
    x = T.dvector("x")
    for ending, start in (("svg", "<svg"), ("html", "<!DOCTYPE html>"), ("dot", "digraph {")):
        path = tmp_path / f"graph.{ending}"
        tg.printing.pydotprint(T.exp(x), outfile=path)
        assert capsys.readouterr().out == f"The output file is available at {path}\n"
        assert path.read_text(encoding="utf-8").startswith(start)
    assert "n0 -> n1" in (tmp_path / "graph.dot").read_text()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="need the program `dot`"):
        tg.printing.pydotprint(T.exp(x), outfile=tmp_path / "graph.png")
    with pytest.raises(TypeError, match="cannot print int"):
        tg.viz.to_svg(3)

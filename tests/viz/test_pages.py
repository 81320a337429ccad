"""The pages in a browser: opening boxes in place, pointing, searching, stepping; skipped where there is no browser."""

import numpy as np
import pytest
from browser import Browser, program

import termgraph as tg
import termgraph.tensor as T

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium or Chrome on this machine")


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture
def opened(browser, tmp_path):
    pages = []

    def open_page(write, *args, width=1000, height=700, dark=False):
        page = browser.open(write(*args, tmp_path / "page.html"), width, height, dark)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert page.errors() == []
        assert [a for a in page.asked_for() if not a.startswith(("file:", "about:"))] == []
        page.close()


def test_f79_boxes_open_in_place_and_edges_lead_inside(opened):
    x = T.dvector("x")
    step = tg.OpFromGraph([x], [T.tanh(x) * 2])
    page = opened(tg.viz.d3viz, step(T.exp(x)) + 1)
    before = page.run("picture.boxes().length")
    page.click(*page.run("picture.where('call')"))
    inside = {b["label"]: b for b in page.run("picture.boxes().map(b => ({...b}))")}
    around, tanh, operand = inside["call"], inside["tanh"], inside["operand 0"]
    assert around["isOpen"] and page.run("picture.boxes().length") > before
    for box in (tanh, operand, inside["mul"]):
        assert abs(box["x"] - around["x"]) + box["w"] / 2 <= around["w"] / 2
        assert around["y"] < box["y"] and box["y"] + box["h"] < around["y"] + around["h"]
    led = page.run(
        "layout.edges.map(e => [drawing.labelOf(e.from), drawing.labelOf(e.to)]).filter(([a]) => a === 'exp')"
    )
    assert led == [["exp", "operand 0"]]
    assert (
        page.run("layout.edges.filter(e => drawing.labelOf(e.to) === 'add').map(e => drawing.labelOf(e.from))")[0]
        == "output"
    )
    page.click(*page.run("picture.where('call')"))
    assert page.run("picture.boxes().length") == before


def test_open_boxes_do_not_cover_others(opened):
    x, i = T.dvector("x"), T.iscalar("i")
    total, _ = tg.scan(lambda v, s: T.tanh(s) + v * T.exp(s), sequences=x, outputs_info=T.zeros(()))
    page = opened(tg.viz.d3viz, tg.ifelse(i > 0, T.sin(x) * 2 + total[-1], T.log(x) - 1))
    page.run("picture.openAll(true)")
    page.frame()
    boxes = page.run("picture.boxes()")
    assert sum(b["isOpen"] for b in boxes) == 3
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            if a["scene"] == b["scene"]:
                apart = (
                    abs(a["x"] - b["x"]) >= (a["w"] + b["w"]) / 2
                    or a["y"] >= b["y"] + b["h"]
                    or b["y"] >= a["y"] + a["h"]
                )
                assert apart, (a, b)
    page.press("c")
    assert not any(b["isOpen"] for b in page.run("picture.boxes()"))


def test_pointing_tells_rules_time_and_place(opened):
    x = T.dmatrix("x")
    f = tg.function([x], T.log(1 + T.exp(T.dot(x, x))).sum(), profile=True, mode=tg.Mode(linker="py"))
    f(np.ones((30, 30)))
    page = opened(tg.viz.d3viz, f)
    page.hover(*page.run("picture.where('softplus')"))
    tip = page.run("document.getElementById('tip').innerText")
    assert "logs.log1p_exp" in tip and "logs.py:" in tip and " ms, " in tip and "test_pages.py:" in tip
    assert page.run("document.getElementById('tip').hidden") is False
    page.hover(3, 690)
    assert page.run("document.getElementById('tip').hidden")


def test_searching_finds_in_closed_boxes(opened):
    x, n = T.dvector("data"), T.iscalar("n")
    step = tg.OpFromGraph([x], [T.tanh(x) * 2], name="cell")
    page = opened(tg.viz.d3viz, [step(T.exp(x)), n + 1])
    page.press("/")
    page.type("tanh")
    assert page.run("[hits.length, drawing.labelOf(drawing.chosen), layout.open.size]") == [1, "tanh", 1]
    left, top = page.run("drawing.toScreen(drawing.chosen.x, drawing.chosen.y)")
    assert abs(left - page.run("drawing.width") / 2) < 2 and 0 < top < page.run("drawing.height")
    assert "1 of 1" in page.run("document.getElementById('count').textContent")
    assert page.run("picture.search('data')") == 1 and page.run("picture.search('int32')") >= 2
    assert page.run("picture.search('no such thing')") == 0


def test_dragging_zooming_and_keys(opened):
    x = T.dvector("x")
    page = opened(tg.viz.d3viz, T.exp(x) + T.sin(x))
    at = page.run("picture.where('exp')")
    page.drag(*at, at[0] - 60, at[1] + 10)
    moved = page.run("picture.where('exp')")
    assert abs(moved[0] - at[0]) > 20
    scale = page.run("view.scale")
    page.press("+")
    assert page.run("view.scale") == pytest.approx(1.25 * scale)
    page.press("0")
    assert page.run("view.scale") <= 1.2
    page.mouse("mouseWheel", 300, 300, deltaX=0, deltaY=-100)
    page.frame()
    assert page.run("view.scale") > 1.2


def test_names_are_text_and_nothing_runs(opened):
    bad = '<img src=x onerror="window.ran=1"></script><script>window.ran=1</script>'
    x = T.dvector(bad)
    y = T.exp(x) * 2
    y.name = bad
    f = tg.function([x], y + 1, name=bad)
    page = opened(tg.viz.d3viz, f)
    page.run("picture.search('img')")
    page.hover(*page.run("picture.where(drawing.labelOf(drawing.chosen))"))
    assert page.run("window.ran") is None and page.run("document.querySelectorAll('img').length") == 0
    page = opened(tg.viz.timeline, tg.function([x], T.log(1 + T.exp(x)) * 1, name=bad))
    assert page.run("window.ran") is None and "<img" in page.run("document.getElementById('before').innerText")


def test_other_letters_and_wide_ones(opened):
    names = ["Größe", "θ̂", "数据", "🙂", "a\u202eb"]
    xs = [T.dscalar(n) for n in names]
    page = opened(tg.viz.d3viz, sum(xs[1:], xs[0]))
    assert set(names) <= {b["label"] for b in page.run("picture.boxes()")}


def test_f79_ten_thousand_boxes_can_be_used_at_once(opened):
    rng = np.random.default_rng(0)
    parts = [T.dvector(f"v{k}") for k in range(50)]
    while len(parts) < 9_950:
        a, b = (parts[int(k)] for k in rng.integers(max(0, len(parts) - 400), len(parts), 2))
        parts.append(T.exp(a) if rng.random() < 0.4 else a + b)
    page = opened(tg.viz.d3viz, parts[-500:])
    assert page.run("picture.boxes().length") > 5_000
    assert page.run("picture.search('exp')") > 1_000
    page.press("n")
    assert "2 of" in page.run("document.getElementById('count').textContent")


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_narrow_and_dark_pages_fit(opened, width, dark):
    x = T.dvector("x")
    f = tg.function([x], T.log(1 + T.exp(x)).sum())
    for write in (tg.viz.d3viz, tg.viz.timeline):
        page = opened(write, f, width=width, dark=dark)
        assert page.run("document.documentElement.scrollWidth") <= width
        assert (page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)") is not dark


@pytest.mark.parametrize("width, dark", [(1280, False), (390, True)])
def test_notebooks_can_read_profiles_and_memory(opened, width, dark):
    x, w = T.dmatrix("x"), tg.shared(np.ones((30, 30)), name="w")
    f = tg.function([x], T.tanh(T.tanh(x @ w) @ w), profile=True, mode=tg.Mode(linker="c"))
    f(np.ones((4, 30)))

    def write(f, path):
        body = f.profile._repr_html_() + f.memory(np.ones((4, 30)))._repr_html_()
        head = "<meta name='color-scheme' content='light dark'><meta name='viewport' content='width=device-width'>"
        path.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{head}{body}", encoding="utf-8")
        return path

    page = opened(write, f, width=width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    colors = page.run("[...document.querySelectorAll('div, th, td, pre')].map(e => getComputedStyle(e).color)")
    assert set(colors) == {"rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)"}
    apart = """[...document.querySelectorAll('tr')].flatMap(row => [...row.cells].slice(1).map((cell, i) =>
        cell.getBoundingClientRect().left + parseFloat(getComputedStyle(cell).paddingLeft)
        - row.cells[i].getBoundingClientRect().right + parseFloat(getComputedStyle(row.cells[i]).paddingRight)))"""
    assert min(page.run(apart)) >= 8


def test_the_timeline_steps_and_marks(opened):
    x = T.dvector("x")
    f = tg.function([x], T.log(T.exp(x).sum()) * 1 + 0)
    page = opened(tg.viz.timeline, f)
    records = list(f.trace)
    marked = "[...document.querySelectorAll('#before .old')].map(e => e.textContent)"
    for k, record in enumerate(records):
        assert page.run("[timeline.at(), timeline.rule()]") == [k, record.rule]
        assert page.run("document.querySelectorAll('#after .new').length") >= 1 and page.run(marked)
        rule = page.run("document.getElementById('rule').innerText")
        assert record.rule in rule and f":{record.where.rpartition(':')[2]}" in rule and "proof" in rule
        page.press("ArrowRight")
    page.press("Home")
    assert page.run("timeline.at()") == 0
    page.press("End")
    assert page.run("timeline.at()") == len(records) - 1
    assert "..." not in page.run("document.getElementById('after').innerText")


def test_the_timeline_filters(opened):
    x = T.dvector("x")
    f = tg.function([x], [T.log(T.exp(x).sum()) * 1 + 0, T.sin(x) * 1])
    page = opened(tg.viz.timeline, f)
    count = page.run("timeline.shown().length")
    page.press("/")
    page.type("logsumexp")
    shown = page.run("timeline.shown()")
    assert 0 < len(shown) < count and page.run("timeline.rule()").startswith("logsumexp")
    assert page.run("timeline.filter('')") == count
    name = page.run("DATA.rules[0].name")
    page.run("by('rules').value = 0; by('rules').dispatchEvent(new Event('change'))")
    assert page.run("timeline.rule()") == name and len(page.run("timeline.shown()")) < count
    page.run("by('rules').value = -1; by('rules').dispatchEvent(new Event('change'))")
    page.run("timeline.go(timeline.shown().at(-1)); document.querySelector('#after .piece').click()")
    assert 0 < page.run("timeline.shown().length") <= count and page.run("by('node').hidden") is False
    page.press("Escape")
    assert page.run("timeline.shown().length") == count


def test_what_is_far_from_a_change_is_folded_and_opens(opened):
    x = T.dvector("x")
    far = x
    for k in range(30):
        far = T.sin(far) + T.cos(far) * (k + 2)
    near = x
    for _ in range(60):
        near = T.exp(near)
    page = opened(tg.viz.timeline, tg.function([x], [far + T.log(1 + x), T.log(1 + near)]))
    folds = "document.querySelectorAll('#before .fold').length"
    page.run("timeline.go(timeline.shown().find(k => DATA.rules[steps[k].rule].name === 'logs.log1p'))")
    assert page.run(folds) >= 1
    text = page.run("document.getElementById('before').innerText")
    page.run("document.querySelector('#before .fold').click()")
    assert len(page.run("document.getElementById('before').innerText")) > len(text) and "..." not in text


def test_the_profile_shows_bars_inside_bars(opened):
    x = T.dmatrix("x")
    out, _ = tg.scan(lambda v, s: T.tanh(T.dot(v, s)) + v, sequences=x, outputs_info=T.zeros(30))
    f = tg.function([x], T.log(1 + T.exp(out[-1])).sum(), profile=True, mode=tg.Mode(linker="py"))
    f(np.ones((30, 30)))
    page = opened(tg.viz.profile, f)
    assert page.run("flame.shown()") == "running"
    loop = page.run("every(whole).findIndex(b => b.depth === 2 && b.parent.name === 'running' && b.parts.length)")
    page.run(f"show(every(whole)[{loop}])")
    assert any("tanh" in name for name in page.run("shown.parts.map(b => b.name)"))
    page.press("Escape")
    assert page.run("flame.shown()") == "running"
    widths = page.run("[...place.children].slice(1).map(b => parseFloat(b.style.width))")
    assert sum(widths) > 0 and max(widths) <= 100
    page.run("flame.show('canonicalize')")
    assert "logs.log1p" in page.run("shown.parts.map(b => b.name).join(' ')") or page.run("shown.parts.length") > 0
    page.press("/")
    page.type("fold")
    assert "marked" in page.run("document.getElementById('count').textContent")


def test_the_profile_of_a_function_that_was_not_timed(opened):
    x = T.dvector("x")
    page = opened(tg.viz.profile, tg.function([x], T.exp(x)))
    assert page.run("flame.shown()") == "compiling" and "profile=True" in page.run("document.body.innerText")


def test_f15_pictures_as_png_and_pdf_without_graphviz(tmp_path, monkeypatch):
    found = program()
    monkeypatch.setattr("termgraph.viz.picture.shutil.which", lambda name: found if name == "chromium" else None)
    x = T.dvector("x")
    png = tg.printing.pydotprint(T.exp(x) + 1, tmp_path / "graph.png", say=False).read_bytes()
    width, height = (int.from_bytes(png[k : k + 4]) for k in (16, 20))
    assert png.startswith(b"\x89PNG") and 100 < width < 400 and 150 < height < 400
    assert tg.printing.pydotprint(x * 2, tmp_path / "graph.pdf", say=False).read_bytes().startswith(b"%PDF")


def test_nothing_to_rewrite(opened):
    x = T.dvector("x")
    page = opened(tg.viz.timeline, tg.function([x], T.sin(x)))
    assert "no rule was applied" in page.run("document.body.innerText")


def test_a_function_in_a_notebook_has_boxes_to_open(browser, tmp_path):
    x = T.dvector("x")
    shown = tg.OpFromGraph([x], [T.tanh(x) * 2])(x)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><body>{shown}</body>", encoding="utf-8")
    page = browser.open(tmp_path / "notebook.html")
    inside = "document.querySelector('iframe').contentWindow.eval"
    page.run(f"{inside}('picture.toggle(\"call\")')")
    assert "tanh" in page.run(f"{inside}('picture.boxes().map(b => b.label)')")
    page.close()


def test_a_notebook_shows_the_page(browser, tmp_path):
    x = T.dvector("x")
    shown = tg.viz.timeline(tg.function([x], T.log(1 + x)), tmp_path / "rewrites.html")._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><body>{shown}</body>", encoding="utf-8")
    page = browser.open(tmp_path / "notebook.html")
    assert page.run(
        "document.querySelector('iframe').contentWindow.eval('timeline.rule()')"
    ) == "algebra.fold" or "log1p" in (page.run("document.querySelector('iframe').contentDocument.body.innerText"))
    page.close()


def test_a_timeline_of_an_expression_says_what_to_write():
    with pytest.raises(TypeError, match=r"compile it first: tg.viz.timeline\(tg.function"):
        tg.viz.timeline(T.dvector("x") + 1)

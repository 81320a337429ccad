// The page of a graph: moving and zooming, opening boxes in place, what is known of a box, searching.
// `picture` is there for tests and for the console: picture.boxes(), picture.toggle("loop"), picture.search("exp").
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("graph"), panel = document.getElementById("facts");
const tip = document.getElementById("tip"), field = document.getElementById("search"), count = document.getElementById("count");
const layout = new Layout(DATA.scenes), drawing = new Drawing(canvas, layout, DATA), view = drawing.view;

// ---------------------------------------------------------------- the view
function zoom(by, x = drawing.width / 2, y = drawing.height / 2) {
  const scale = Math.min(4, Math.max(0.0005, view.scale * by)), [gx, gy] = drawing.toGraph(x, y);
  Object.assign(view, {scale, x: gx - x / scale, y: gy - y / scale});
  hideTip(); drawing.soon();
}

function fit(least = 0.0005) {
  const scale = Math.max(least, Math.min(1.2, (drawing.width - 40) / (layout.width || 1), (drawing.height - 40) / (layout.height || 1)));
  const top = layout.height * scale < drawing.height ? (drawing.height - layout.height * scale) / 2 : 20;
  Object.assign(view, {scale, x: layout.width / 2 - drawing.width / 2 / scale, y: -top / scale});
  drawing.soon();
}

function centre(box) {
  if (view.scale < 0.6) view.scale = 0.9;
  view.x = box.x - drawing.width / 2 / view.scale; view.y = box.y + Math.min(box.h, 80) / 2 - drawing.height / 2 / view.scale;
  drawing.soon();
}

// ---------------------------------------------------------------- opening and closing
function boxOf(s, n) { return layout.at[s] && layout.at[s][n]; }

/** Place all again; the box that was clicked stays under the pointer. */
function relayout(kept) {
  const before = kept && [kept.x - kept.w / 2, kept.y], chosen = drawing.chosen;
  layout.update();
  const now = kept && boxOf(kept.scene, kept.node);
  if (now) { view.x += now.x - now.w / 2 - before[0]; view.y += now.y - before[1]; }
  drawing.chosen = chosen && boxOf(chosen.scene, chosen.node);
  drawing.hovered = null;
  drawing.soon();
}

function toggle(box, wanted = !box.isOpen) {
  if (box.inner === null || wanted === box.isOpen) return;
  wanted ? layout.open.add(box.inner) : layout.open.delete(box.inner);
  relayout(box);
}

function openAll(wanted) {
  layout.open = new Set(wanted ? DATA.scenes.keys() : []);
  layout.open.delete(0);
  relayout(null); fit(0.3);
}

/** Open all boxes around a scene. */
function reveal(s) {
  let changed = false;
  for (let at = s; layout.parent[at]; at = layout.parent[at][0]) {
    changed = changed || !layout.open.has(at);
    layout.open.add(at);
  }
  if (changed) relayout(null);
}

// ---------------------------------------------------------------- what is known of a box
function element(tag, text, name = "") {
  const made = document.createElement(tag);
  made.textContent = text; made.className = name;
  return made;
}

/** The rules that made a box, the last one first. */
function history(box) {
  const made = [];
  for (let r = DATA.scenes[box.scene].rule[box.node]; r >= 0; r = DATA.rules[r][3]) made.push(DATA.rules[r]);
  return made;
}

function described(box) {
  const facts = DATA.scenes[box.scene].facts[box.node], T = DATA.texts, parts = [element("b", drawing.labelOf(box))];
  for (let i = 0; i < facts.length; i += 2) parts.push(fact(T[facts[i]], T[facts[i + 1]]));
  for (const [rule, where, stage] of history(box)) parts.push(fact("rule", `${T[rule]}  (${T[stage]}, ${T[where]})`));
  return parts;
}

function fact(what, value) {
  const line = element("div", "");
  line.append(element("span", what, "what"), element("span", value));
  return line;
}

function choose(box) {
  drawing.chosen = box;
  panel.replaceChildren(...(box ? described(box) : [element("span", "click a box to see what is known of it", "note")]));
  drawing.soon();
}

function showTip(box, x, y) {
  tip.replaceChildren(...described(box));
  tip.hidden = false;
  tip.style.left = Math.max(0, Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > window.innerHeight ? Math.max(0, y - tip.offsetHeight - 10) : y + 18) + "px";
}

function hideTip() { tip.hidden = true; }

function rename(box) {
  const label = prompt("label", drawing.labelOf(box));
  if (label) { drawing.labels.set(box.scene + ":" + box.node, label); choose(box); }
}

// ---------------------------------------------------------------- searching
let hits = [], current = -1;

function search(text) {
  const wanted = text.trim().toLowerCase();
  hits = []; current = -1; drawing.found.clear();
  if (wanted) {
    const fits = DATA.texts.map(t => t.toLowerCase().includes(wanted));
    DATA.scenes.forEach((scene, s) => scene.label.forEach((label, n) => {
      const rule = scene.rule[n];
      if (fits[label] || scene.facts[n].some((t, i) => i % 2 && fits[t]) || (rule >= 0 && fits[DATA.rules[rule][0]])) hits.push([s, n]);
    }));
    hits.forEach(([s, n]) => drawing.found.add(s + ":" + n));
  }
  if (hits.length) step(1); else { count.textContent = wanted ? "nothing found" : ""; drawing.soon(); }
  return hits.length;
}

function step(by) {
  if (!hits.length) return;
  current = (current + by + hits.length) % hits.length;
  const [s, n] = hits[current];
  reveal(s);
  choose(boxOf(s, n)); centre(boxOf(s, n));
  count.textContent = `${current + 1} of ${hits.length}`;
}

// ---------------------------------------------------------------- pointer and keys
const pointers = new Map();
let held = null, moved = false, spread = 0;

canvas.addEventListener("pointerdown", e => {
  canvas.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, [e.offsetX, e.offsetY]);
  if (pointers.size > 1) { held = null; spread = 0; return; }
  const box = drawing.boxAt(...drawing.toGraph(e.offsetX, e.offsetY));
  held = box && !(box.isOpen && !inHead(box, e)) ? box : "view"; moved = false;
});
canvas.addEventListener("pointermove", e => {
  const last = pointers.get(e.pointerId);
  if (!last) return hover(e);
  const dx = e.offsetX - last[0], dy = e.offsetY - last[1];
  if (!moved && Math.abs(dx) + Math.abs(dy) < 4) return;
  moved = true; hideTip();
  pointers.set(e.pointerId, [e.offsetX, e.offsetY]);
  if (pointers.size > 1) return pinch();
  if (held === "view") { view.x -= dx / view.scale; view.y -= dy / view.scale; return drawing.soon(); }
  const key = held.scene + ":" + held.node, by = layout.moved.get(key) || [0, 0];
  layout.moved.set(key, [by[0] + dx / view.scale, by[1] + dy / view.scale]);
  const before = held;
  relayout(null);
  held = boxOf(before.scene, before.node);
});
canvas.addEventListener("pointerup", e => {
  pointers.delete(e.pointerId);
  if (held && !moved) held === "view" ? choose(null) : press(held);
  held = null;
});
canvas.addEventListener("pointercancel", e => { pointers.delete(e.pointerId); held = null; });
canvas.addEventListener("pointerleave", hideTip);
canvas.addEventListener("dblclick", e => {
  const box = drawing.boxAt(...drawing.toGraph(e.offsetX, e.offsetY));
  if (box && box.inner === null) rename(box);
});
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  zoom(Math.exp(-Math.max(-60, Math.min(60, e.deltaY)) / 250), e.offsetX, e.offsetY);
}, {passive: false});

/** Whether the pointer is on the head of an open box, which closes it. */
function inHead(box, e) { return drawing.toGraph(e.offsetX, e.offsetY)[1] < box.y + HEAD; }

function press(box) { choose(box); toggle(box); }

function hover(e) {
  const box = drawing.boxAt(...drawing.toGraph(e.offsetX, e.offsetY));
  if (box !== drawing.hovered) { drawing.hovered = box; drawing.soon(); }
  canvas.style.cursor = box && !(box.isOpen && !inHead(box, e)) ? "pointer" : "grab";
  if (box && !(box.isOpen && !inHead(box, e))) showTip(box, e.clientX, e.clientY); else hideTip();
}

function pinch() {
  const [a, b] = [...pointers.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
  if (spread) zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
  spread = now;
}

const KEYS = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": () => fit(),
  "/": () => { field.focus(); field.select(); }, o: () => openAll(true), c: () => openAll(false),
  n: () => step(1), p: () => step(-1), Enter: () => drawing.chosen && toggle(drawing.chosen), Escape: () => choose(null),
  ArrowLeft: () => shift(-80, 0), ArrowRight: () => shift(80, 0), ArrowUp: () => shift(0, -80), ArrowDown: () => shift(0, 80),
};
function shift(dx, dy) { view.x += dx / view.scale; view.y += dy / view.scale; drawing.soon(); }

document.addEventListener("keydown", e => {
  if (e.target === field || e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key]) return;
  e.preventDefault(); KEYS[e.key]();
});
field.addEventListener("input", () => search(field.value));
field.addEventListener("keydown", e => {
  if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
  if (e.key === "Escape") { field.value = ""; search(""); field.blur(); canvas.focus(); }
});
const BUTTONS = {next: () => step(1), fit: () => fit(), open: () => openAll(true), close: () => openAll(false)};
for (const id in BUTTONS) document.getElementById(id).addEventListener("click", BUTTONS[id]);
new ResizeObserver(() => drawing.soon()).observe(canvas);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawing.readColours(); drawing.soon(); });

// ---------------------------------------------------------------- begin
drawing.readColours();
if (DATA.scenes.length === 1) for (const id of ["open", "close"]) document.getElementById(id).hidden = true;
fit(0.35);
choose(null);
drawing.draw();

const named = name => layout.boxes.find(b => drawing.labelOf(b) === name || drawing.labelOf(b).startsWith(name + " "));
const picture = {
  layout, drawing, search, fit, openAll,
  boxes: () => layout.boxes.map(b => ({...b, label: drawing.labelOf(b), kind: DATA.kinds[b.kind]})),
  toggle: name => toggle(named(name)),
  where: name => { const b = named(name), r = canvas.getBoundingClientRect(), [x, y] = drawing.toScreen(b.x, b.y + HEIGHT / 2); return [x + r.left, y + r.top]; },
  ready: performance.now(),  // milliseconds from the start of the page until it can be used
};

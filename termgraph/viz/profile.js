// The page of a profile: bars as wide as the time they took, those inside them below. A click shows a bar alone.
// `flame` is there for tests and for the console: flame.show("running"), flame.bars().
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("flame"), about = document.getElementById("about"), ROW = 24;
const whole = {name: "all", about: "", parts: DATA.parts, seconds: DATA.parts.reduce((sum, p) => sum + p.seconds, 0)};
let shown = whole, slowestFirst = false, wanted = "";

(function number(bar, parent, depth) {
  Object.assign(bar, {parent, depth});
  bar.parts.forEach(part => number(part, bar, depth + 1));
})(whole, null, 0);

const every = bar => [bar, ...bar.parts.flatMap(every)];
const time = s => s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toFixed(2)} ms` : `${(s * 1e6).toFixed(1)} \u00b5s`;
const share = bar => bar.seconds / (bar.parent ? bar.parent.seconds || 1 : bar.seconds || 1);

function draw() {
  const bars = [];
  const put = (bar, left, width, row) => {
    bars.push([bar, left, width, row]);
    const inside = bar.parts.reduce((sum, p) => sum + p.seconds, 0), all = Math.max(inside, bar.seconds) || 1;
    let at = left;
    for (const part of slowestFirst ? [...bar.parts].sort((a, b) => b.seconds - a.seconds) : bar.parts) {
      const w = width * part.seconds / all;
      if (w > 0.02) put(part, at, w, row + 1);
      at += w;
    }
  };
  put(shown, 0, 100, 0);
  place.style.height = ROW * (1 + Math.max(...bars.map(b => b[3]))) + "px";
  let found = 0;
  place.replaceChildren(...bars.map(([bar, left, width, row]) => {
    const made = document.createElement("div"), heat = bar.parent ? Math.sqrt(share(bar)) : 0;
    made.textContent = width > 1.5 ? `${bar.name}  ${time(bar.seconds)}` : "";
    Object.assign(made.style, {left: left + "%", width: width + "%", top: row * ROW + "px",
      background: `color-mix(in srgb, var(--hot) ${Math.round(80 * heat)}%, var(--cold))`});
    made.classList.toggle("hot", heat > 0.75);
    const fits = wanted && bar.name.toLowerCase().includes(wanted);
    made.classList.toggle("found", Boolean(fits)); found += fits ? 1 : 0;
    made.onclick = () => show(bar === shown && bar.parent ? bar.parent : bar);
    made.onpointerenter = () => tell(bar);
    return made;
  }));
  document.getElementById("count").textContent = wanted ? `${found} marked` : "";
  table();
}

function tell(bar) {
  const names = [];
  for (let b = bar; b && b.parent; b = b.parent) names.unshift(b.name);
  const of = bar.parent && bar.parent.parent ? `, ${(100 * share(bar)).toFixed(1)} % of ${bar.parent.name}` : "";
  about.textContent = `${names.join(" \u203a ") || "all"}: ${time(bar.seconds)}${of}${bar.about ? " \u2014 " + bar.about : ""}`;
}

/** The slowest parts that have none inside, of what is shown. */
function table() {
  const rows = every(shown).filter(b => !b.parts.length && b.seconds > 0).sort((a, b) => b.seconds - a.seconds).slice(0, 30);
  document.getElementById("slowest").replaceChildren(...rows.map(bar => {
    const row = document.createElement("tr"), cell = text => { const c = document.createElement("td"); c.textContent = text; row.append(c); return c; };
    const line = document.createElement("span");
    line.className = "bar"; line.style.width = Math.round(80 * bar.seconds / rows[0].seconds) + "px";
    cell("").append(line);
    cell(time(bar.seconds)); cell(`${(100 * bar.seconds / (shown.seconds || 1)).toFixed(1)} %`); cell(bar.name);
    row.onclick = () => show(bar); row.onpointerenter = () => tell(bar);
    return row;
  }));
}

function show(bar) {
  shown = typeof bar === "string" ? every(whole).find(b => b.name === bar) : bar;
  draw(); tell(shown);
}

const field = document.getElementById("search"), order = document.getElementById("order");
field.addEventListener("input", () => { wanted = field.value.trim().toLowerCase(); draw(); });
order.addEventListener("click", () => {
  slowestFirst = !slowestFirst; order.textContent = slowestFirst ? "as it runs" : "slowest first"; draw();
});
document.getElementById("out").addEventListener("click", () => show(whole));
document.addEventListener("keydown", e => {
  if (e.key === "Escape") { field.blur(); show(shown.parent || whole); }
  if (e.key === "/" && e.target !== field) { e.preventDefault(); field.focus(); }
});
show(DATA.parts[DATA.parts.length - 1]);  // running, if that was timed
if (DATA.note) about.textContent = DATA.note;

const flame = {show, bars: () => [...place.children].map(b => b.textContent), shown: () => shown.name, ready: performance.now()};

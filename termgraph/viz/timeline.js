// The page of a timeline: which step is shown, the list of steps, the rule beside it, filters, the keyboard.
// `timeline` is there for tests and for the console: timeline.go(3), timeline.filter("logs"), timeline.shown().
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const graph = new Graph(DATA.nodes, DATA.forms), by = id => document.getElementById(id);
const steps = DATA.stages.flatMap((stage, s) => stage.steps.map(([rule, before, after], k) => ({stage, s, k, rule, before, after})));
steps.forEach((step, i) => { step.number = i; });
let at = 0, wanted = "", onlyRule = -1, onlyNode = null, visible = steps;

function element(tag, text, name = "") {
  const made = document.createElement(tag);
  made.textContent = text; made.className = name;
  return made;
}

// ---------------------------------------------------------------- one step
/** What steps of the stage of a step have replaced, up to it. */
function replacements(step, with_it) {
  const map = new Map();
  for (const [, before, after] of step.stage.steps.slice(0, step.k + (with_it ? 1 : 0))) map.set(before, after);
  return map;
}

function show(step, into, after) {
  const map = replacements(step, after), marked = graph.replaced([after ? step.after : step.before], map)[0];
  const writer = () => new Writer(graph, marked, after ? "new" : "old", filterByNode);
  const roots = graph.replaced(step.stage.roots, map);
  if (roots.length && writer().write(roots, into)) return;
  writer().write([after ? step.after : step.before], into);  // a record without its graph, or of a part that is gone
  if (roots.length) into.append(element("p", "this part is not in the graph at this step", "note"));
}

function go(number) {
  if (!steps.length) return;
  at = Math.max(0, Math.min(steps.length - 1, number));
  const step = steps[at];
  show(step, by("before"), false);
  show(step, by("after"), true);
  by("rule").replaceChildren(...aboutRule(step));
  by("slide").value = at;
  by("count").textContent = `step ${at + 1} of ${steps.length}` + (visible.length < steps.length ? `, ${visible.length} chosen` : "");
  document.querySelectorAll("#steps .now").forEach(row => row.classList.remove("now"));
  const row = by("steps").querySelector(`[data-number="${at}"]`);
  if (row) { row.classList.add("now"); row.scrollIntoView({block: "nearest"}); }
}

function aboutRule(step) {
  const rule = DATA.rules[step.rule], parts = [element("h2", rule.name)];
  const line = (what, text, tag = "span") => {
    if (!text || !text.length) return;
    const made = element("div", "");
    made.append(element("span", what, "what"), element(tag, text));
    parts.push(made);
  };
  line("says", rule.says, "code");
  line("if", rule.if.join(", "), "code");
  line("trusts", rule.assumes.join(", "));
  line("about", rule.doc);
  line("stage", step.stage.stage + (step.stage.inside ? `, ${step.stage.inside}` : ""));
  line("proof", rule.proof);
  line("place", rule.where, "code");
  line("line", rule.line, "code");
  return parts;
}

// ---------------------------------------------------------------- filters
let makers = null;

/** For each node the first step that made it. */
function madeBy(t) {
  if (!makers) {
    makers = new Map();
    const seen = new Set(), see = (root, note) => {
      const stack = [root];
      while (stack.length) {
        const u = stack.pop();
        if (seen.has(u)) continue;
        seen.add(u); note(u); stack.push(...graph.nodes[u].slice(1));
      }
    };
    DATA.stages.forEach(stage => stage.roots.forEach(root => stage === DATA.stages[0] && see(root, () => {})));
    steps.forEach(step => { see(step.before, () => {}); see(step.after, u => makers.set(u, step.number)); });
  }
  return makers.get(t);
}

/** The numbers of the steps that made a node or took it as an operand. */
function stepsOf(node) {
  const found = new Set(), seen = new Set(), stack = [node];
  while (stack.length) {
    const t = stack.pop();
    if (seen.has(t)) continue;
    seen.add(t);
    const number = madeBy(t);
    if (number !== undefined) { found.add(number); stack.push(steps[number].before); }
    else if (t >= graph.given) stack.push(...graph.nodes[t].slice(1));
  }
  for (const step of steps) if (step.before === node || graph.nodes[step.before].slice(1).includes(node)) found.add(step.number);
  return found;
}

function filterByNode(node) {
  onlyNode = node === null ? null : stepsOf(node);
  by("node").hidden = node === null;
  if (node !== null) {
    const [, ...pieces] = graph.forms[graph.nodes[node][0]];
    by("node").textContent = `\u2715 only steps about ${pieces.map(p => typeof p === "string" ? p : "\u25a1").join("")}`;
  }
  list();
}

let texts = null;

/** The words a step is found by: stage, rule, and what its two sides are made of. */
function textOf(step) {
  texts ??= new Map();
  if (!texts.has(step.number)) {
    const pieces = graph.below([step.before, step.after]).slice(-200).flatMap(t => graph.forms[graph.nodes[t][0]].slice(1));
    texts.set(step.number, [step.stage.stage, DATA.rules[step.rule].name, ...pieces.filter(p => typeof p === "string")].join(" ").toLowerCase());
  }
  return texts.get(step.number);
}

/** Write the list of the steps that pass the filters, and go to the nearest of them. */
function list() {
  visible = steps.filter(step => (onlyRule < 0 || step.rule === onlyRule) && (!onlyNode || onlyNode.has(step.number))
                                 && (!wanted || textOf(step).includes(wanted)));
  let stage = null;
  by("steps").replaceChildren(...visible.flatMap(step => {
    const row = element("div", `${step.number + 1}  ${DATA.rules[step.rule].name}`, "row");
    row.dataset.number = step.number;
    row.onclick = () => go(step.number);
    if (step.stage === stage) return [row];
    stage = step.stage;
    return [element("h3", stage.stage + (stage.inside ? `, ${stage.inside}` : "")), row];
  }));
  if (!visible.length) by("steps").append(element("p", "no step passes the filters", "note"));
  go(visible.length && !visible.some(step => step.number === at) ? (visible.find(step => step.number > at) || visible[visible.length - 1]).number : at);
}

/** The next or previous visible step. */
function move(by_) {
  const place = visible.findIndex(step => step.number >= at), here = place < 0 ? visible.length : place;
  const next = visible[Math.max(0, Math.min(visible.length - 1, here + by_))];
  if (next) go(next.number);
}

// ---------------------------------------------------------------- begin
const KEYS = {
  ArrowRight: () => move(1), ArrowDown: () => move(1), ArrowLeft: () => move(-1), ArrowUp: () => move(-1),
  PageDown: () => move(10), PageUp: () => move(-10), Home: () => move(-1e9), End: () => move(1e9),
  "/": () => { by("search").focus(); by("search").select(); }, Escape: () => filterByNode(null),
};
document.addEventListener("keydown", e => {
  if (e.target.tagName === "INPUT" && e.target.type === "search" || e.target.tagName === "SELECT") {
    if (e.key === "Escape" || e.key === "Enter") e.target.blur();
    if (e.key !== "Escape") return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key]) return;
  e.preventDefault(); KEYS[e.key]();
});
function filter(text) { wanted = text.trim().toLowerCase(); list(); return visible.length; }
by("search").addEventListener("input", e => filter(e.target.value));
by("slide").addEventListener("input", e => go(+e.target.value));
by("node").addEventListener("click", () => filterByNode(null));
by("rules").append(new Option(`all rules (${steps.length} steps)`, -1),
  ...DATA.rules.map((rule, i) => [rule, i]).sort((a, b) => b[0].times - a[0].times).map(([rule, i]) => new Option(`${rule.name} (${rule.times})`, i)));
by("rules").addEventListener("change", e => { onlyRule = +e.target.value; list(); });
const BUTTONS = {first: () => move(-1e9), back: () => move(-1), forth: () => move(1), last: () => move(1e9)};
for (const id in BUTTONS) by(id).addEventListener("click", BUTTONS[id]);
by("slide").max = Math.max(0, steps.length - 1);
if (!steps.length) document.querySelector("main").replaceChildren(element("p", "no rule was applied", "note"));
else list();

const timeline = {
  go, filter, filterByNode, at: () => at, shown: () => visible.map(step => step.number),
  rule: () => DATA.rules[steps[at].rule].name, ready: performance.now(),
};

// The graph at any step, and how it is written. A graph is made of numbered nodes [form, operands ...], each there once.
// The state before a step is the graph at the start of the stage under the replacements of all steps before it.
"use strict";

const FOLD = 16;   // a part of more nodes than this is folded, unless the change is inside it
const ABOVE = 24;  // so many levels above the change are shown; a click shows more

class Graph {
  constructor(nodes, forms) {
    this.nodes = nodes; this.forms = forms;
    this.given = nodes.length;  // what has a higher number was rebuilt here, since an operand of it changed
    this.known = new Map(nodes.map((node, i) => [node.join(), i]));
    this.sizes = [];
  }

  /** The number of a node, which is new if there was none like it. */
  made(node) {
    const key = node.join();
    if (!this.known.has(key)) { this.known.set(key, this.nodes.length); this.nodes.push(node); }
    return this.known.get(key);
  }

  /** The roots with all replacements made in them, also in what replacements bring in. */
  replaced(roots, by) {
    const done = new Map(), begun = new Set(), stack = roots.slice();
    const value = t => done.has(t) ? done.get(t) : t;
    const waits = list => {
      const open = list.filter(t => !done.has(t) && !begun.has(t));
      stack.push(...open);
      return open.length > 0;
    };
    while (stack.length) {
      const t = stack[stack.length - 1];
      if (done.has(t)) { stack.pop(); continue; }
      begun.add(t);
      if (by.has(t)) {
        if (!waits([by.get(t)])) done.set(t, value(by.get(t)));
        continue;
      }
      const [form, ...operands] = this.nodes[t];
      if (waits(operands)) continue;
      const now = this.made([form, ...operands.map(value)]);
      if (now !== t && by.has(now) && waits([now])) continue;
      done.set(t, now === t ? t : value(now));
    }
    return roots.map(value);
  }

  /** All nodes below some, operands first. */
  below(roots) {
    const order = [], seen = new Set(), stack = roots.map(t => [t, false]);
    while (stack.length) {
      const [t, ready] = stack.pop();
      if (ready) { order.push(t); continue; }
      if (seen.has(t)) continue;
      seen.add(t); stack.push([t, true]);
      for (const a of this.nodes[t].slice(1)) if (!seen.has(a)) stack.push([a, false]);
    }
    return order;
  }

  /** How many nodes it takes to write a part; what is shared is written each time. */
  size(root) {
    if (this.sizes[root] === undefined)
      for (const t of this.below([root]))
        this.sizes[t] ??= Math.min(1e9, this.nodes[t].slice(1).reduce((sum, a) => sum + this.sizes[a], 1));
    return this.sizes[root];
  }
}

/** Writes a graph into an element: the marked node is marked, what is far from it is folded. */
class Writer {
  constructor(graph, marked, mark, chosen) {
    Object.assign(this, {graph, marked, mark, chosen});
    this.written = new Set();
  }

  /** The nodes that contain the marked one, itself among them. */
  around(roots) {
    const found = new Set();
    for (const t of this.graph.below(roots))
      if (t === this.marked || this.graph.nodes[t].slice(1).some(a => found.has(a))) found.add(t);
    return found;
  }

  /** All roots, one below the other. False if the marked node is in none of them. */
  write(roots, into) {
    this.path = this.around(roots);
    into.replaceChildren(...roots.map((root, k) => {
      const line = document.createElement("div");
      if (roots.length > 1) line.append(Object.assign(document.createElement("span"), {className: "what", textContent: `output ${k}`}));
      line.append(this.fromNear(root));
      return line;
    }));
    return this.path.has(this.marked);
  }

  /** A root, begun where its changed part is not too deep; a button shows what is above. */
  fromNear(root) {
    const levels = [];
    for (let t = root; t !== this.marked && this.path.has(t);) {
      levels.push(t);
      t = this.graph.nodes[t].slice(1).find(a => this.path.has(a));
    }
    if (levels.length <= ABOVE) return this.part(root, 0);
    const place = document.createElement("span");
    const show = from => {
      const button = document.createElement("button");
      button.className = "fold"; button.textContent = `\u2912 ${from} levels above`;
      button.onclick = () => { this.written.clear(); show(Math.max(0, from - ABOVE)); };
      place.replaceChildren(...(from ? [button, " "] : []), this.part(levels[from], 0));
    };
    show(levels.length - ABOVE);
    return place;
  }

  /** A part of the graph; `outer` is how strongly what is around it binds. */
  part(t, outer, opened = false) {
    const open = opened || t === this.marked || this.graph.size(t) <= FOLD || (this.path.has(t) && !this.written.has(t));
    if (!open) return this.folded(t, outer);
    this.written.add(t);
    const [form, ...operands] = this.graph.nodes[t], [strength, ...pieces] = this.graph.forms[form];
    const span = document.createElement("span");
    if (t === this.marked) span.className = this.mark;
    const text = piece => {
      const made = document.createElement("span");
      made.textContent = piece; made.className = "piece";
      made.onclick = () => this.chosen(t);
      return made;
    };
    if (strength < outer) span.append("(");
    for (const piece of pieces) span.append(typeof piece === "string" ? text(piece) : this.part(operands[piece[0]], piece[1]));
    if (strength < outer) span.append(")");
    return span;
  }

  /** A button instead of a part, which puts the part in its place. */
  folded(t, outer) {
    const button = document.createElement("button"), [, ...pieces] = this.graph.forms[this.graph.nodes[t][0]];
    const name = pieces.filter(p => typeof p === "string").map(p => p.replace(/[(),]/g, "").trim()).find(p => p) || "part";
    button.className = "fold";
    button.textContent = `\u229e ${name} \u00b7 ${this.graph.size(t) < 1e9 ? this.graph.size(t) : "very many"} nodes`;
    button.onclick = () => button.replaceWith(this.part(t, outer, true));
    return button;
  }
}

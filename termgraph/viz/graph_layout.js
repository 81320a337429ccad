// Where everything goes, given which boxes are open. Python has placed the boxes of each graph in rows; here an open box
// takes the size of the graph inside it, moves its row apart and the rows below down. Nothing else changes its place.
"use strict";

const HEIGHT = 26, GAP = 30, PAD = 16, HEAD = 28;

/** Edges of a scene, which the data has in one list of numbers. */
function unpacked(numbers) {
  const edges = [];
  for (let i = 0; i < numbers.length;) {
    const [start, end, role, result, operand, n] = numbers.slice(i, i + 6);
    edges.push({start, end, role, result, operand, via: numbers.slice(i + 6, i + 6 + n)});
    i += 6 + n;
  }
  return edges;
}

class Layout {
  constructor(scenes) {
    this.scenes = scenes;
    this.open = new Set();   // numbers of scenes that are shown inside their box
    this.moved = new Map();  // "scene:box" -> how far it was dragged
    this.parent = scenes.map(() => null);  // of each scene: [scene, box] that it is the inside of
    scenes.forEach((scene, s) => {
      scene.edges = unpacked(scene.edges);
      scene.rows = 1 + scene.row.reduce((a, b) => Math.max(a, b), -1);
      for (const n in scene.inner) this.parent[scene.inner[n]] = [s, +n];
    });
    this.update();
  }

  /** Place everything again: `boxes`, `edges`, and the size of it all. */
  update() {
    this.boxes = []; this.edges = []; this.at = this.scenes.map(() => null);
    const whole = this.measured(0);
    this.width = whole.width; this.height = whole.height;
    this.put(0, whole, 0, 0);
  }

  /** Sizes and places of the boxes of a scene: x of their middles, y of their upper sides, from its upper left corner. */
  measured(s) {
    const scene = this.scenes[s], inside = {}, n = scene.label.length;
    const x = scene.x.slice(), w = scene.width.slice(), h = new Array(n).fill(HEIGHT);
    const tall = new Array(scene.rows).fill(HEIGHT), via = scene.edges.map(e => e.via);
    for (const k in scene.inner) {
      if (!this.open.has(scene.inner[k])) continue;
      inside[k] = this.measured(scene.inner[k]);
      w[k] = Math.max(w[k], inside[k].width + 2 * PAD);
      h[k] = inside[k].height + HEAD + PAD;
      tall[scene.row[k]] = Math.max(tall[scene.row[k]], h[k]);
    }
    for (const row of new Set(Object.keys(inside).map(k => scene.row[k]))) moveApart(scene, row, x, w, via);
    const top = [0];
    tall.forEach((t, r) => top.push(top[r] + t + GAP));
    const y = scene.row.map((r, k) => top[r] + (tall[r] - h[k]) / 2);
    let left = Infinity, right = -Infinity;
    const see = (a, b) => { left = Math.min(left, a); right = Math.max(right, b); };
    for (let k = 0; k < n; k++) {
      see(x[k] - w[k] / 2, x[k] + w[k] / 2);  // before it was dragged: what is beside it stays where it is
      const by = this.moved.get(s + ":" + k);
      if (by) { x[k] += by[0]; y[k] += by[1]; }
    }
    via.forEach(xs => xs.forEach(v => see(v, v)));
    if (left > right) left = right = 0;
    const height = Math.max(0, top[scene.rows] - GAP);
    return {x, y, w, h, via, inside, top, tall, left, width: right - left, height};
  }

  /** Add the boxes and edges of a measured scene, whose upper left corner is at (x0, y0). */
  put(s, m, x0, y0) {
    const scene = this.scenes[s], boxes = this.at[s] = [];
    for (let k = 0; k < scene.label.length; k++) {
      const inner = scene.inner[k] ?? null, box = {
        scene: s, node: k, inner, isOpen: k in m.inside, kind: scene.kind[k], heat: scene.heat[k],
        x: x0 + m.x[k] - m.left, y: y0 + m.y[k], w: m.w[k], h: m.h[k],
      };
      boxes.push(box); this.boxes.push(box);
      if (box.isOpen) {
        const inside = m.inside[k];
        this.put(inner, inside, box.x - inside.width / 2, box.y + HEAD);
      }
    }
    const upper = r => y0 + m.top[r], lower = r => y0 + m.top[r] + m.tall[r];
    scene.edges.forEach((e, i) => {
      const from = this.leaves(s, e.start, e.result), to = this.enters(s, e.end, e.operand);
      const first = scene.row[e.start], last = scene.row[e.end], out = from.y + from.h;
      // for each row it touches: x, where it enters, where it leaves; between rows it bends
      const points = [from.x, out, Math.max(out, lower(first))];
      m.via[i].forEach((x, j) => points.push(x0 + x - m.left, upper(first + 1 + j), lower(first + 1 + j)));
      points.push(to.x, Math.min(to.y, upper(last)), to.y);
      this.edges.push({points, role: e.role, from, to});
    });
  }

  /** The box that result number `result` of a box leaves from: the box itself, or one inside it. */
  leaves(s, node, result) {
    const box = this.at[s][node];
    if (!box.isOpen) return box;
    const out = this.scenes[box.inner].outlets[result];
    return out === undefined ? box : this.leaves(box.inner, out, 0);
  }

  /** The box that operand number `operand` of a box enters. */
  enters(s, node, operand) {
    const box = this.at[s][node];
    const inlet = box.isOpen ? this.scenes[box.inner].inlets[operand] : undefined;
    return inlet === undefined ? box : this.at[box.inner][inlet];
  }
}

/** Make room in a row for boxes that have grown: what stands left and right of them moves outwards. */
function moveApart(scene, row, x, w, via) {
  const things = [];
  scene.row.forEach((r, k) => { if (r === row) things.push({at: x[k], more: w[k] - scene.width[k], set: v => { x[k] = v; }}); });
  scene.edges.forEach((e, i) => {
    const j = row - scene.row[e.start] - 1;
    if (j < 0 || j >= e.via.length) return;
    if (via[i] === e.via) via[i] = e.via.slice();
    things.push({at: e.via[j], more: 0, set: v => { via[i][j] = v; }});
  });
  things.sort((a, b) => a.at - b.at);
  let shift = -things.reduce((sum, t) => sum + t.more, 0) / 2;
  for (const t of things) {
    t.set(t.at + shift + t.more / 2);
    shift += t.more;
  }
}

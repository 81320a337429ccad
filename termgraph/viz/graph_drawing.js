// Draws boxes and edges of a layout on a canvas: only what is in sight, and far away without labels, so that tens of
// thousands of boxes move smoothly. Colours come from the style sheet, which knows of light and dark.
"use strict";

const FAR = 0.3;  // below this scale labels could not be read

class Drawing {
  constructor(canvas, layout, data) {
    Object.assign(this, {canvas, layout, data});
    this.context = canvas.getContext("2d");
    this.view = {x: 0, y: 0, scale: 1};  // what is at the upper left corner, and pixels per unit
    this.found = new Set();              // boxes that the search found, as "scene:box"
    this.chosen = null; this.hovered = null;
    this.labels = new Map();             // changed by the user
  }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }

  /** Take the colours of the page, once and when it changes between light and dark. */
  readColours() {
    const style = getComputedStyle(this.canvas), colour = name => style.getPropertyValue("--" + name).trim();
    this.fills = this.data.kinds.map(colour);
    this.strokes = ["edge", "view", "destroyed"].map(colour);
    this.foundColour = colour("found");
    for (const name of ["ink", "line", "accent", "inside", "cold", "hot", "on-hot"]) this[name] = colour(name);
  }

  toScreen(x, y) { return [(x - this.view.x) * this.view.scale, (y - this.view.y) * this.view.scale]; }
  toGraph(x, y) { return [x / this.view.scale + this.view.x, y / this.view.scale + this.view.y]; }

  /** Draw soon; several requests are one. */
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    const g = this.context, ratio = window.devicePixelRatio || 1, {x, y, scale} = this.view;
    const w = Math.round(this.width * ratio), h = Math.round(this.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, w, h);
    g.setTransform(ratio * scale, 0, 0, ratio * scale, -x * scale * ratio, -y * scale * ratio);
    this.sight = {left: x, top: y, right: x + this.width / scale, bottom: y + this.height / scale};
    const seen = this.layout.boxes.filter(b => this.inSight(b));
    seen.filter(b => b.isOpen).forEach(b => this.drawBox(b));
    this.drawEdges();
    seen.filter(b => !b.isOpen).forEach(b => this.drawBox(b));
  }

  inSight(b) {
    const s = this.sight;
    return b.x + b.w / 2 >= s.left && b.x - b.w / 2 <= s.right && b.y + b.h >= s.top && b.y <= s.bottom;
  }

  drawEdges() {
    const near = this.view.scale >= FAR, marked = [];
    for (let role = 0; role < this.strokes.length; role++) {
      const g = this.context, heads = [];
      g.beginPath();
      for (const e of this.layout.edges) {
        if (e.role !== role || !this.edgeInSight(e)) continue;
        if (this.chosen && (e.from === this.chosen || e.to === this.chosen)) { marked.push(e); continue; }
        near ? trace(g, e.points) : straight(g, e.points);
        if (near) heads.push(e);
      }
      this.stroke(this.strokes[role], near ? 1.2 : 1 / this.view.scale, heads);
    }
    this.context.beginPath();
    marked.forEach(e => trace(this.context, e.points));
    this.stroke(this.accent, Math.max(2.2, 1.5 / this.view.scale), marked);
  }

  stroke(colour, width, heads) {
    const g = this.context;
    g.strokeStyle = g.fillStyle = colour; g.lineWidth = width;
    g.stroke();
    g.beginPath();
    for (const e of heads) {
      const [x, , y] = e.points.slice(-3);
      g.moveTo(x, y); g.lineTo(x - 3.5, y - 7); g.lineTo(x + 3.5, y - 7); g.closePath();
    }
    g.fill();
  }

  edgeInSight(e) {
    const p = e.points, s = this.sight;
    if (Math.max(p[1], p[p.length - 1]) < s.top || Math.min(p[1], p[p.length - 1]) > s.bottom) return false;
    let left = p[0], right = p[0];
    for (let i = 3; i < p.length; i += 3) { left = Math.min(left, p[i]); right = Math.max(right, p[i]); }
    return right >= s.left && left <= s.right;
  }

  drawBox(b) {
    const g = this.context, left = b.x - b.w / 2, key = b.scene + ":" + b.node, near = this.view.scale >= FAR;
    const found = this.found.has(key), chosen = b === this.chosen;
    g.fillStyle = b.isOpen ? this.inside : b.heat === undefined ? this.fills[b.kind] : this.warm(b.heat);
    if (found && !b.isOpen) g.fillStyle = this.foundColour;
    if (!near) {
      g.fillRect(left, b.y, b.w, b.h);
      if (b.isOpen || chosen) { g.lineWidth = 1 / this.view.scale; g.strokeStyle = this.line; g.strokeRect(left, b.y, b.w, b.h); }
      return;
    }
    g.beginPath(); g.roundRect(left, b.y, b.w, b.h, 5); g.fill();
    g.setLineDash(b.inner !== null && !b.isOpen ? [4, 2] : []);
    g.lineWidth = chosen ? 2.5 : b === this.hovered ? 1.8 : 1;
    g.strokeStyle = chosen ? this.accent : this.line;
    g.stroke(); g.setLineDash([]);
    g.fillStyle = !b.isOpen && !found && b.heat > 0.5 ? this["on-hot"] : this.ink;
    const label = this.labelOf(b), sign = b.inner === null ? "" : b.isOpen ? "\u229f " : "\u229e ";
    g.font = "12px monospace"; g.textBaseline = "middle"; g.textAlign = b.isOpen ? "left" : "center";
    g.fillText(sign + label, b.isOpen ? left + 8 : b.x, b.y + HEIGHT / 2 + 0.5);
  }

  labelOf(b) {
    const key = b.scene + ":" + b.node;
    return this.labels.get(key) ?? this.data.texts[this.layout.scenes[b.scene].label[b.node]];
  }

  /** The colour of a share of the time. */
  warm(heat) { return `color-mix(in srgb, ${this.hot} ${Math.round(100 * heat)}%, ${this.cold})`; }

  /** The innermost box at a point of the graph. */
  boxAt(x, y) {
    let best = null;
    for (const b of this.layout.boxes) {
      if (Math.abs(x - b.x) <= b.w / 2 && y >= b.y && y <= b.y + b.h && !(best && best.h <= b.h && !best.isOpen)) best = b;
    }
    return best;
  }
}

/** An edge as a curve: straight down beside the boxes of a row, from side to side between rows. */
function trace(g, p) {
  g.moveTo(p[0], p[1]);
  g.lineTo(p[0], p[2]);
  for (let i = 3; i < p.length; i += 3) {
    const bend = Math.abs(p[i + 1] - p[i - 1]) / 2 + 4;
    g.bezierCurveTo(p[i - 3], p[i - 1] + bend, p[i], p[i + 1] - bend, p[i], p[i + 1]);
    g.lineTo(p[i], p[i + 2]);
  }
}

function straight(g, p) {
  g.moveTo(p[0], p[1]);
  for (let i = 3; i < p.length; i += 3) g.lineTo(p[i], p[i + 1]);
}

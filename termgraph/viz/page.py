"""The frame of the pages that are written: style, and the scripts that let one move about. Imports nothing."""

from __future__ import annotations

from html import escape

STYLE = """
body { font-family: sans-serif; margin: 1.5em; color: #222; }
h1 { font-size: 1.3em; } h2 { font-size: 1.05em; }
.note { color: #666; font-size: .85em; }
section { margin-bottom: 2em; }
svg { border: 1px solid #ccc; max-width: 100%; max-height: 85vh; background: #fff; cursor: grab; }
svg .node { cursor: pointer; } svg .chosen rect { stroke-width: 2.5; }
.facts { background: #f6f6f6; padding: .6em; min-height: 1.2em; white-space: pre-wrap; }
table { border-collapse: collapse; font-size: .9em; }
td, th { padding: .25em .7em; text-align: left; vertical-align: top; }
tr:nth-child(even) { background: #f6f6f6; } td.term { font-family: monospace; white-space: pre-wrap; max-width: 34em; }
.bar { background: #7aa6d8; height: .8em; display: inline-block; }
input { font-size: 1em; padding: .2em .5em; margin: .5em 0; width: 20em; }
"""

# Pan by dragging the background, zoom by the wheel, move boxes, choose them for their facts, change labels.
GRAPH_SCRIPT = """
document.querySelectorAll('section').forEach(section => {
  const svg = section.querySelector('svg'), facts = JSON.parse(section.querySelector('script').textContent);
  const shown = section.querySelector('.facts');
  const view = svg.viewBox.baseVal, place = {};
  svg.querySelectorAll('.node').forEach(g => {
    const [x, y] = g.getAttribute('transform').match(/-?[0-9.]+/g).map(Number);
    place[g.dataset.node] = {x, y, g};
  });
  const here = e => { const m = svg.getScreenCTM(); return {x: (e.clientX - m.e) / m.a, y: (e.clientY - m.f) / m.d}; };
  const route = () => svg.querySelectorAll('.edge').forEach(p => {
    const a = place[p.dataset.from], b = place[p.dataset.to];
    const via = (p.dataset.via.match(/[^ ]+/g) || []).map(t => t.split(',').map(Number));
    let x = a.x, y = a.y + 13, d = `M${x},${y}`;
    [...via, [b.x, b.y]].forEach(([to, row], k) => {
      d += ` C${x},${y + 28} ${to},${row - 41} ${to},${row - 13}` + (k < via.length ? ` V${row + 13}` : '');
      x = to; y = row + 13;
    });
    p.setAttribute('d', d);
  });
  let held = null, from = null, moved = false;
  svg.addEventListener('pointerdown', e => {
    const g = e.target.closest('.node');
    held = g ? place[g.dataset.node] : svg; from = here(e); moved = false; svg.setPointerCapture(e.pointerId);
  });
  svg.addEventListener('pointermove', e => {
    if (!held) return;
    const to = here(e), dx = to.x - from.x, dy = to.y - from.y;
    if (Math.abs(dx) + Math.abs(dy) > 2) moved = true;
    if (held === svg) { view.x -= dx; view.y -= dy; return; }
    held.x += dx; held.y += dy; from = to;
    held.g.setAttribute('transform', `translate(${held.x},${held.y})`); route();
  });
  svg.addEventListener('pointerup', () => {
    if (held && held !== svg && !moved) {
      svg.querySelectorAll('.chosen').forEach(g => g.classList.remove('chosen'));
      held.g.classList.add('chosen');
      shown.textContent = facts[held.g.dataset.node].map(f => f[0] + ': ' + f[1]).join('\\n');
      const inner = held.g.dataset.inner;
      if (inner) document.getElementById('graph' + inner).scrollIntoView({behavior: 'smooth'});
    }
    held = null;
  });
  svg.addEventListener('dblclick', e => {
    const g = e.target.closest('.node'), text = g && g.querySelector('text');
    const label = text && prompt('label', text.textContent);
    if (label) text.textContent = label;
  });
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    const at = here(e), by = e.deltaY > 0 ? 1.15 : 1 / 1.15;
    view.x = at.x - (at.x - view.x) * by; view.y = at.y - (at.y - view.y) * by;
    view.width *= by; view.height *= by;
  }, {passive: false});
});
"""

FILTER_SCRIPT = """
const field = document.querySelector('input');
field.addEventListener('input', () => document.querySelectorAll('tr.step').forEach(row => {
  row.hidden = !row.textContent.toLowerCase().includes(field.value.toLowerCase());
}));
"""


def page(title: str, body: str, script: str) -> str:
    """An HTML page that needs nothing from elsewhere."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n{body}\n<script>{script}</script></body></html>\n"
    )


__all__ = ["FILTER_SCRIPT", "GRAPH_SCRIPT", "page"]

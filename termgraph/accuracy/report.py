"""What was found, part by part: bits lost before and after, by region, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from termgraph.accuracy.points import MOST, from_ordinal, ordinal
from termgraph.terms.term import AnyTerm


class RegionLost(NamedTuple):
    """A region: where it is, which form is used there, and the bits lost there before and after."""

    where: str
    form: Any
    before: float
    after: float


class Part(NamedTuple):
    """One element-wise part of the graph: the old and the new term, bits lost on average, regions, points looked at."""

    old: Any
    new: Any
    before: float
    after: float
    regions: tuple[RegionLost, ...]
    rules: tuple[str, ...]
    axes: dict[str, np.ndarray]  # values of each operand at the points that were looked at last
    lost_before: np.ndarray
    lost_after: np.ndarray


class Report:
    """What `accurate` did: `before` and `after` are the bits lost on average, `parts` says more.

    `print(report)` is a table; `report.svg()` a picture, bits lost over the operand that decides, which notebooks show.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)

    @property
    def before(self) -> float:
        """Bits lost on average as written: the mean over the parts."""
        return float(np.mean([p.before for p in self.parts])) if self.parts else 0.0

    @property
    def after(self) -> float:
        """Bits lost on average in the form found."""
        return float(np.mean([p.after for p in self.parts])) if self.parts else 0.0

    def __repr__(self) -> str:
        if not self.parts:
            return "<nothing that could be looked at element by element>"
        lines = []
        for p in self.parts:
            lines.append(f"{p.old!r}: {p.before:.1f} bits lost on average, now {p.after:.1f}")
            if p.new is p.old:
                lines.append("  left as it is")
                continue
            lines += [f"  {r.where:28} {r.before:5.1f} -> {r.after:4.1f}   {r.form!r}" for r in p.regions]
        return "\n".join(lines)

    def svg(self) -> str:
        """A picture of each part: bits lost before (grey) and after (blue) over an operand."""
        height = _HEIGHT * max(1, len(self.parts))
        panels = "".join([_panel(p, i * _HEIGHT) for i, p in enumerate(self.parts)])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="11">'
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>{panels}</svg>'
        )

    _repr_svg_ = svg

    def save(self, path: Any) -> None:
        """Write the picture to a file."""
        Path(path).write_text(self.svg(), encoding="utf-8")


# ---------------------------------------------------------------------- the picture
_WIDTH, _HEIGHT = 640, 260
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 44, 16, 40
_BEFORE, _AFTER = "#b0b0b0", "#1f6fb4"


def _panel(p: Part, y: int) -> str:
    """Points over the operand along which the old form's loss varies most."""
    name, values = max(p.axes.items(), key=lambda item: _spread(item[1], p.lost_before))
    places = ordinal(values).astype(float)
    low, high = float(places.min()), float(places.max())
    most = MOST[values.dtype.name]
    inner_w, inner_h = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x_at(place: float) -> float:
        return _LEFT + inner_w * ((place - low) / (high - low) if high > low else 0.5)

    def y_at(bits: float) -> float:
        return _TOP + inner_h * (1 - bits / most)

    out = [f'<g transform="translate(0 {y})">', f'<text x="{_LEFT}" y="16">{escape(_short(p.old))}</text>']
    out.append(
        f'<text x="{_LEFT}" y="32"><tspan fill="#808080">before: {p.before:.1f} bits lost</tspan>'
        f'<tspan dx="14" fill="{_AFTER}">after: {p.after:.1f}</tspan></text>'
    )
    for bits in range(0, int(most) + 1, 16):
        out.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y_at(bits):.1f}" y2="{y_at(bits):.1f}" stroke="#e4e4e4"/>'
            f'<text x="{_LEFT - 6}" y="{y_at(bits) + 4:.1f}" text-anchor="end">{bits}</text>'
        )
    for place, text in _ticks(values, places):
        out.append(f'<text x="{x_at(place):.1f}" y="{_HEIGHT - 22}" text-anchor="middle">{text}</text>')
    out.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(name)}</text>')
    for losses, color in ((p.lost_before, _BEFORE), (p.lost_after, _AFTER)):
        dots = [f'<circle cx="{x_at(a):.1f}" cy="{y_at(b):.1f}" r="2"/>' for a, b in zip(places, losses, strict=True)]
        out.append(f'<g fill="{color}" fill-opacity="0.7">{"".join(dots)}</g>')
    return "".join([*out, "</g>"])


def _spread(values: np.ndarray, losses: np.ndarray) -> float:
    """How much of the loss is explained by the value: means of slices of the points, apart from each other."""
    slices = np.array_split(losses[np.argsort(values)], 10)
    return float(np.std([s.mean() for s in slices if len(s)]))


def _ticks(values: np.ndarray, places: np.ndarray) -> list[tuple[float, str]]:
    """Five places at the same distance, and the numbers there."""
    at = np.linspace(places.min(), places.max(), 5)
    numbers = from_ordinal(at.astype(np.int64), values.dtype.name)
    return [(float(p), f"{v:.0e}" if v else "0") for p, v in zip(at, numbers, strict=True)]


def _short(t: AnyTerm, most: int = 90) -> str:
    text = repr(t)
    return text if len(text) <= most else text[: most - 1] + "…"

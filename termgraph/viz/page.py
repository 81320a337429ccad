"""The frame of the pages that are written: one HTML file with its style, its scripts and its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any


class Page(type(Path())):  # type: ignore[misc]
    """The path of a page that was written. A notebook shows the page itself."""

    def _repr_html_(self) -> str:
        return framed(self.read_text(encoding="utf-8"))


def framed(text: str, height: int = 640) -> str:
    """A page inside another, such as a notebook; neither sees the style of the other."""
    return f'<iframe srcdoc="{escape(text)}" style="width:100%;height:{height}px;border:1px solid #8888"></iframe>'


def written(outfile: str | Path, text: str) -> Page:
    """Write a page."""
    path = Page(outfile)
    path.write_text(text, encoding="utf-8")
    return path


def page(title: str, body: str, name: str, scripts: Sequence[str], data: Any) -> str:
    """An HTML page: `name`.css and the named scripts of this folder, and `data` for the scripts."""
    style = _asset("page.css") + _asset(f"{name}.css")
    script = "\n".join(_asset(f"{s}.js") for s in scripts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{style}</style></head>\n<body>\n{body}\n"
        f'<script type="application/json" id="data">{as_json(data)}</script>\n'
        f"<script>\n{script}</script></body></html>\n"
    )


def as_json(data: Any) -> str:
    """Data inside a page: no text in it can end the element that holds it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _asset(name: str) -> str:
    return files("termgraph.viz").joinpath(name).read_text(encoding="utf-8")

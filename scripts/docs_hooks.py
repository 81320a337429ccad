"""What MkDocs does besides: pages made from code (rules, names, the program from nothing), colours of prompts."""

import re
import sys
from pathlib import Path

from mkdocs.structure.files import File, Files

from termgraph.db.catalogue import pages
from termgraph.db.checking import processors

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from reference.pages import pages as reference_pages  # noqa: E402


def on_files(files: Files, config: object) -> Files:
    """Add the pages that exist nowhere else."""
    program = literate((ROOT / "examples/from_nothing.py").read_text(encoding="utf-8"))
    made = {"tutorials/from-nothing.md": program, **reference_pages(), **pages(jobs=processors())}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def literate(program: str) -> str:
    """A program whose comments at the margin are the text of a page, and all else its code."""
    parts: list[tuple[bool, list[str]]] = []
    for line in program.splitlines():
        if line.startswith(("# ruff:", "# fmt:")):
            continue
        prose = line == "#" or line.startswith("# ")
        if not parts or parts[-1][0] != prose:
            parts.append((prose, []))
        parts[-1][1].append(line[2:] if prose else line)
    texts = [(prose, "\n".join(lines).strip("\n")) for prose, lines in parts]
    return "\n\n".join(text if prose else f"```python\n{text}\n```" for prose, text in texts if text) + "\n"


def on_page_markdown(markdown: str, **_: object) -> str:
    """Examples with prompts are coloured as such, whatever their fence says."""
    return re.sub(r"^```python\n(?=>>>)", "```pycon\n", markdown, flags=re.MULTILINE)

"""What MkDocs does besides: pages made from the code, of the rules and of every public name; prompts get colours."""

import re
import sys
from pathlib import Path

from mkdocs.structure.files import File, Files

from termgraph.db.catalogue import pages
from termgraph.db.checking import processors

sys.path.insert(0, str(Path(__file__).parent))
from reference.pages import pages as reference_pages


def on_files(files: Files, config: object) -> Files:
    """Add the pages that exist nowhere else."""
    for path, text in {**reference_pages(), **pages(jobs=processors())}.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Examples with prompts are coloured as such, whatever their fence says."""
    return re.sub(r"^```python\n(?=>>>)", "```pycon\n", markdown, flags=re.MULTILINE)

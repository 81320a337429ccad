"""What MkDocs does besides: the catalogue of rules is written from the rule database, prompts get colours."""

import re

from mkdocs.structure.files import File, Files

from termgraph.db.catalogue import pages
from termgraph.db.checking import processors


def on_files(files: Files, config: object) -> Files:
    """Add the pages of the catalogue, which exist nowhere else."""
    for path, text in pages(jobs=processors()).items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Examples with prompts are coloured as such, whatever their fence says."""
    return re.sub(r"^```python\n(?=>>>)", "```pycon\n", markdown, flags=re.MULTILINE)

"""What MkDocs does before it builds the docs: the catalogue of rules is written from the rule database."""

from mkdocs.structure.files import File, Files

from termgraph.db.catalogue import pages
from termgraph.db.checking import processors


def on_files(files: Files, config: object) -> Files:
    """Add the pages of the catalogue, which exist nowhere else."""
    for path, text in pages(jobs=processors()).items():
        files.append(File.generated(config, path, content=text))
    return files

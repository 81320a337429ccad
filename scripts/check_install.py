"""Checks an installed wheel against its sources: python check_install.py FOLDER_OF_SOURCES

It must bring the whole rule library and every data file, import silently and quickly, and not lean on pytest.
"""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

SECONDS = 0.4  # that `import termgraph` may take, on top of starting Python


def main(sources: Path) -> None:
    assert importlib.util.find_spec("pytest") is None, "this check is about an environment without pytest"

    import termgraph
    from termgraph import _rulelib

    package = Path(termgraph.__file__).resolve().parent
    assert not package.is_relative_to(sources), f"{package} is the checkout, not the wheel"
    same_files(package, sources / "termgraph", leaving_out="rulelib")
    same_files(_rulelib.folder(), sources / "rules")
    importlib.import_module("termgraph.rulelib")

    seconds = min(import_seconds() for _ in range(5))
    assert seconds < SECONDS, f"`import termgraph` took {seconds:.3f} s, more than {SECONDS} s"
    print(f"the wheel is complete; `import termgraph` takes {seconds:.3f} s and prints nothing")


def same_files(installed: Path, source: Path, leaving_out: str = "") -> None:
    missing = files(source) - files(installed)
    extra = {name for name in files(installed) - files(source) if name.split("/")[0] != leaving_out}
    assert not missing, f"the wheel lacks {sorted(missing)} of {source}; see package-data in pyproject.toml"
    assert not extra, f"the wheel has {sorted(extra)}, which {source} has not"


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in found}


def import_seconds() -> float:
    """Seconds that `import termgraph` takes in a new process, which must not print anything."""
    program = "import time; t = time.perf_counter(); import termgraph; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not run.stderr and len(run.stdout.splitlines()) == 1, f"importing prints: {run.stdout}{run.stderr}"
    return float(run.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""Checks an installed wheel against its sources: python check_install.py FOLDER_OF_SOURCES

It must bring the whole rule library and every data file, import silently and no more than it needs, and do without
pytest.
"""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

# What `import termgraph` must leave for later, so that it stays quick whatever the machine is busy with.
LATER = {"kanren", "scipy", "termgraph.rules", "termgraph.db", "termgraph.backends.c.build.compilers"}


def main(sources: Path) -> None:
    assert importlib.util.find_spec("pytest") is None, "this check is about an environment without pytest"

    import termgraph
    from termgraph import _rulelib

    package = Path(termgraph.__file__).resolve().parent
    assert not package.is_relative_to(sources), f"{package} is the checkout, not the wheel"
    same_files(package, sources / "termgraph", leaving_out="rulelib")
    same_files(_rulelib.folder(), sources / "rules")
    importlib.import_module("termgraph.rulelib")

    runs = [import_once() for _ in range(5)]
    eager = LATER.intersection(runs[0][1])
    assert not eager, f"`import termgraph` imports {sorted(eager)}; import them where they are first used"
    seconds = min(seconds for seconds, _ in runs)
    print(f"the wheel is complete; `import termgraph` takes {seconds:.3f} s and prints nothing")


def same_files(installed: Path, source: Path, leaving_out: str = "") -> None:
    missing = files(source) - files(installed)
    extra = {name for name in files(installed) - files(source) if name.split("/")[0] != leaving_out}
    assert not missing, f"the wheel lacks {sorted(missing)} of {source}; see package-data in pyproject.toml"
    assert not extra, f"the wheel has {sorted(extra)}, which {source} has not"


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in found}


def import_once() -> tuple[float, list[str]]:
    """Seconds that `import termgraph` takes in a new process, which must not print anything, and what it imports."""
    program = (
        "import sys, time; t = time.perf_counter(); import termgraph; "
        "print(time.perf_counter() - t, *sorted(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not run.stderr and len(run.stdout.splitlines()) == 1, f"importing prints: {run.stdout}{run.stderr}"
    seconds, *modules = run.stdout.split()
    return float(seconds), modules


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""`termgraph doctor`: what this installation consists of, what is wrong with it, and how to repair it.

Each section is a function in the room it looks at, named in SECTIONS and imported only when the doctor is called.
"""

import argparse
import json
import os
import platform
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

import termgraph
from termgraph import _rulelib
from termgraph.cli import exists
from termgraph.config import ConfigError, describe

_HERE = Path(termgraph.__file__).resolve().parent
_MARKS = {"ok": " ", "note": "-", "problem": "!"}


class Finding(NamedTuple):
    """What was looked at, how it is ("ok", "note" or "problem"), and details; for a problem also how to repair it."""

    what: str
    status: str
    detail: str


# (title, "module:function"): the function yields (what, status, detail) and does not print. A section whose module
# is not part of this installation is left out.
SECTIONS = (
    ("System", "termgraph.doctor:system"),
    ("Packages", "termgraph.doctor:packages"),
    ("Flags", "termgraph.doctor:flags"),
    ("C compiler", "termgraph.backends.c.doctor:compiler"),
    ("BLAS", "termgraph.backends.c.doctor:blas"),
    ("Routines", "termgraph.backends.c.doctor:routines"),
    ("GPU", "termgraph.backends.cuda.doctor:gpu"),
    ("Cache of compiled code", "termgraph.backends.c.doctor:cache"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of `termgraph doctor`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Examine everything and print the findings; 1 if there is a problem."""
    sections = examine()
    if arguments.json:
        rows = {title: [finding._asdict() for finding in findings] for title, findings in sections.items()}
        print(json.dumps(rows, indent=2))
    else:
        print("\n\n".join(_text(title, findings) for title, findings in sections.items()))
        print(f"\n{_verdict(sections)}")
    return int(bool(_problems(sections)))


def examine() -> dict[str, list[Finding]]:
    """The findings of each section that exists here."""
    return {title: _findings(target) for title, target in SECTIONS if exists(target.partition(":")[0])}


def _findings(target: str) -> list[Finding]:
    """One section. A section that fails is itself a finding: the others still have to be seen."""
    module, _, function = target.partition(":")
    findings: list[Finding] = []
    try:
        for finding in getattr(import_module(module), function)():
            findings.append(Finding(*finding))
    except Exception as error:
        findings.append(Finding(target, "problem", f"this check failed with {type(error).__name__}: {error}"))
    return findings


def _problems(sections: dict[str, list[Finding]]) -> list[Finding]:
    return [finding for findings in sections.values() for finding in findings if finding.status == "problem"]


def _verdict(sections: dict[str, list[Finding]]) -> str:
    problems = len(_problems(sections))
    return "No problem found." if not problems else f"{problems} problem{'s' * (problems > 1)} found, marked with '!'."


def _text(title: str, findings: list[Finding]) -> str:
    width = max((len(finding.what) for finding in findings), default=0)
    return "\n".join([title, *(f"{_MARKS[status]} {what:{width}}  {detail}" for what, status, detail in findings)])


# sections


def system() -> Iterator[Finding]:
    """Versions and places."""
    yield Finding("termgraph", "ok", f"{termgraph.__version__} in {_HERE}")
    rules = len(_rulelib.files())
    yield Finding("rule library", "ok", f"{rules} file{'s' * (rules != 1)} in {_rulelib.folder()}")
    supported = sys.version_info >= (3, 11)
    advice = "" if supported else "; termgraph needs Python 3.11 or later"
    yield Finding(
        "Python", "ok" if supported else "problem", f"{platform.python_version()} at {sys.executable}{advice}"
    )
    yield Finding("platform", "ok", f"{platform.platform()}, {len(os.sched_getaffinity(0))} of {os.cpu_count()} cores")


def packages() -> Iterator[Finding]:
    """The packages termgraph stands on: present, recent enough, and the right ones."""
    try:
        import packaging.requirements  # noqa: F401
    except ImportError:
        yield Finding(
            "packaging", "problem", "not installed, and needed to check the others; run: pip install packaging"
        )
        return
    for text in requirements():
        yield _package(text)
    if exists("termgraph.terms.kanren_check"):
        yield _relational_packages()


def requirements() -> list[str]:
    """What pyproject.toml declares, read from the checkout or from the installed distribution."""
    declared = _HERE.parent / "pyproject.toml"
    if declared.is_file():
        return tomllib.loads(declared.read_text(encoding="utf-8"))["project"]["dependencies"]
    return [text for text in metadata.requires("termgraph") or () if "extra ==" not in text]


def _package(text: str) -> Finding:
    from packaging.requirements import Requirement

    requirement = Requirement(text)
    repair = f"run: pip install '{text}'"
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(requirement.name, "problem", f"not installed; {repair}")
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding(requirement.name, "problem", f"{version} does not satisfy {requirement.specifier}; {repair}")
    return Finding(requirement.name, "ok", version)


def _relational_packages() -> Finding:
    """`kanren` and `unification` must be the packages meant, not the older ones that PyPI lists under these names."""
    check = import_module("termgraph.terms.kanren_check").check_packages
    try:
        check()
    except ImportError as error:
        return Finding("kanren, unification", "problem", str(error))
    return Finding("kanren, unification", "ok", "the right packages (miniKanren, logical-unification)")


def flags() -> Iterator[Finding]:
    """Flags that are not at their defaults."""
    try:
        changed = [row for row in describe() if row["source"] != "default"]
    except ConfigError as error:
        yield Finding("configuration", "problem", str(error))
        return
    for row in changed:
        yield Finding(row["name"], "note", f"{row['value']}   [{row['source']}]")
    if not changed:
        yield Finding("configuration", "ok", "all flags are at their defaults")

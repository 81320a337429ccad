"""The catalogue: pages that show every rule of the library, written from the rules themselves when the docs are built.

`scripts/docs_hooks.py` hands them to MkDocs, so they cannot be out of date.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from termgraph import _rulelib
from termgraph.db import checking, database
from termgraph.rules.checking.directions import DATA, KINDS, PURE, kind_of_rule
from termgraph.rules.definition import Rule
from termgraph.terms.traverse import grouped

FOLDER = "catalogue"
PAGES = {
    "canonicalize": "Rules that bring a graph into its normal form: the same value is written in one way only.",
    "stabilize": "Rules that replace what is right on paper but loses digits, overflows or turns into NaN.",
    "specialize": "Rules that put cheaper forms of the same value, once a graph is in normal form.",
    "grad": "Rules that say what derivatives are. They run when `tg.grad` and its kin are called.",
    "other": "Rules that only particular modes ask for.",
}
_TITLES = {"grad": "Derivatives", "other": "On request"}
_VERDICTS = {
    "exact": "both sides have the same bits",
    "zero sign": "at most the sign of a zero differs",
    "rounding": "at most the rounding differs",
    "special values": "differs for infinities, NaN, zeros or the limits of integers, as the rule declares",
    "more accurate": "the right side is nearer to the exact value",
    "derivative": "compared with numeric derivatives by the tests",
}
_MOST = 150  # characters of an example


def pages(samples: int = 2, jobs: int = 1, rules: Iterable[Rule] | None = None) -> dict[str, str]:
    """The pages by path: one for each stage, and the one that leads to them."""
    chosen = library() if rules is None else list(rules)
    proved = {row["rule"]: row for row in checking.prove_records(chosen, samples, 0, jobs)}
    groups: dict[str, list[Rule]] = {name: [] for name in PAGES}
    for r in chosen:
        groups[page_of(r)].append(r)
    out = {f"{FOLDER}/index.md": _index(groups, proved)}
    for name, members in groups.items():
        out[f"{FOLDER}/{name}.md"] = _page(name, members, proved)
    return out


def library() -> list[Rule]:
    """The rules of the library, without those that a user's files have added."""
    folder = _rulelib.where()
    return [r for r in database.all_rules() if r.where.startswith(folder)]


def page_of(r: Rule) -> str:
    """The page a rule is on: its stage, or "grad", or "other"."""
    if "unsafe" in r.tags:
        return "other"
    return next((name for name in ("grad", "canonicalize", "stabilize", "specialize") if name in r.tags), "other")


def _title(name: str) -> str:
    return _TITLES.get(name, name.capitalize())


def _index(groups: dict[str, list[Rule]], proved: dict[str, Any]) -> str:
    total = sum(map(len, groups.values()))
    lines = [
        "# The catalogue of rules", "",
        f"All {total} rules of the library, written from the rules themselves when this page is built. What the prover",
        "says of each comes from trying it, at the same time, on random terms of its own left side;",
        "[`termgraph rules prove`](../command.md#termgraph-rules) does so with as many terms as you like.",
        "[Theano's rewritings](../rewritings.md) and where they are found here have a page of their own.", "",
        "| page | rules | what for |", "|---|---|---|",
    ]  # fmt: skip
    for name, members in groups.items():
        lines.append(f"| [{_title(name)}]({name}.md) | {len(members)} | {PAGES[name]} |")
    written = Counter(kind_of_rule(r) for members in groups.values() for r in members)
    data, pure = (sum(written[kind] for kind in kinds) for kinds in (DATA, PURE))
    lines += [
        "",
        f"{data} of them ({data / max(total, 1):.0%}) are data, with or without kinds in the pattern; "
        f"{pure} ({pure / max(total, 1):.0%}) have no Python of their own.",
        "",
    ]
    lines += ["| written as | rules | meaning |", "|---|---|---|"]
    lines += [f"| {kind} | {written[kind]} | {text} |" for kind, text in KINDS.items()]
    counts = Counter(proved[r.name]["verdict"] for members in groups.values() for r in members)
    lines += ["", "| verdict | rules | meaning |", "|---|---|---|"]
    lines += [f"| {kind} | {n} | {_VERDICTS.get(kind, '')} |" for kind, n in counts.most_common()]
    lines += ["", "What a rule takes on trust:", ""]
    lines += [f"- *{name}*: {text}" for name, text in checking.assumptions().items()]
    return "\n".join([*lines, ""])


def _page(name: str, members: list[Rule], proved: dict[str, Any]) -> str:
    lines = [f"# {_title(name)}", "", PAGES[name], ""]
    topics = grouped((r.topic, r) for r in members)
    for topic, rules in sorted(topics.items()):
        lines += [f"## {topic}", ""]
        for r in rules:
            lines += _entry(r, proved[r.name])
    return "\n".join(lines)


def _entry(r: Rule, row: dict[str, Any]) -> list[str]:
    conditions = r.conditions()
    said = [f"{r.before}  ->  {r.after}", *([f"    if {', '.join(conditions)}"] if conditions else [])]
    tags = ", ".join(sorted(r.tags)) or "none"
    trust = ", ".join(sorted(r.assumes)) or "nothing"
    lines = [f'<a id="{r.name}"></a>**{r.name}**', "", "```text", *said, "```", ""]
    lines += [f"{r.doc}", ""] if r.doc else []
    lines.append(
        f"- {row['verdict']}; takes on trust: {trust}; tags: {tags}; written as {kind_of_rule(r)}; `{_place(r)}`"
    )
    if row["example"]:
        before, after = (_cut(side) for side in row["sides"])
        lines.append(f"- for example `{before}` becomes `{after}`")
    return [*lines, ""]


def _place(r: Rule) -> str:
    path, _, line = r.where.rpartition(":")
    return f"rules/{Path(path).name}:{line}"


def _cut(text: str) -> str:
    text = text.replace("`", "'")
    return text if len(text) <= _MOST else f"{text[:_MOST]} ..."

"""For every run of pytest, also one of doctests alone (`pytest termgraph/grad`), which sees nothing of tests/."""

import sys
from importlib.util import find_spec

import pytest

import termgraph.tensor  # noqa: F401  the package as Python imports it, before pytest imports parts of it in its own way

# What needs packages that termgraph does not: without them there is nothing to import and no example to run.
collect_ignore_glob = []
if find_spec("pytensor") is None:
    collect_ignore_glob.append("termgraph/pytensor/*")
if find_spec("pymc") is None:
    collect_ignore_glob.append("docs/pymc.md")


def pytest_collect_file(file_path):
    """Theano's modules are made when one asks for a name; doctest asks, while it goes through the package."""
    if file_path.parts[-3:] == ("termgraph", "theano", "__init__.py"):
        from termgraph.theano.modules import modules, names_of

        for module in modules():
            names_of(module)


def pytest_collection_finish(session):
    """pytest's importlib mode puts the modules it collects doctests from in the place of public names like theirs."""
    import types

    import termgraph

    for name in ("config", "function", "grad"):
        if isinstance(vars(termgraph).get(name), types.ModuleType):
            home = {"grad": "termgraph.grad.api"}.get(name, f"termgraph.{name}")
            setattr(termgraph, name, getattr(sys.modules.get(home) or __import__(home, fromlist=[name]), name))


@pytest.fixture(autouse=True)
def rules_of_examples_are_forgotten(request):
    """What a doctest defines fires nowhere else."""
    yield
    defined = sys.modules.get("termgraph.rules.defined")
    if isinstance(request.node, pytest.DoctestItem) and defined is not None:
        defined.forget([name for name, r in defined.DEFINED.items() if r.where.startswith("<doctest")])

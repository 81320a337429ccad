"""For every run of pytest, also one of doctests alone (`pytest termgraph/grad`), which sees nothing of tests/."""


def pytest_collection_finish(session):
    """pytest's importlib mode puts the modules it collects doctests from in the place of public names like theirs."""
    import sys
    import types

    import termgraph

    for name in ("config", "function", "grad"):
        if isinstance(vars(termgraph).get(name), types.ModuleType):
            home = {"grad": "termgraph.grad.api"}.get(name, f"termgraph.{name}")
            setattr(termgraph, name, getattr(sys.modules.get(home) or __import__(home, fromlist=[name]), name))

"""A cache of their own for tests of gradients that wait: what is found there makes none."""

import pytest

import termgraph as tg
from termgraph import _installed
from termgraph.compile import shipped


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Programs are kept, also where tests before these have defined rules, and nobody else finds them."""
    monkeypatch.setattr(shipped, "changed_rules", lambda: None)
    monkeypatch.setattr(_installed, "changed_since_import", lambda *rooms: False)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "cache")}):
        yield

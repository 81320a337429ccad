"""Tests start without rules, and what they define is forgotten afterwards."""

import pytest

from termgraph import db
from termgraph.rules import defined


@pytest.fixture(autouse=True)
def own_rules():
    db.all_rules()  # the library is loaded once, and stays
    before = dict(defined.DEFINED)
    defined.forget(before)  # a test may name its rules like the library's
    yield
    defined.forget(set(defined.DEFINED) - set(before))
    defined.DEFINED.update(before)

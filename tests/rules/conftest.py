"""Tests start without rules, and what they define is forgotten afterwards."""

import pytest

from termgraph import db
from termgraph.rules import authoring


@pytest.fixture(autouse=True)
def own_rules():
    db.all_rules()  # the library is loaded once, and stays
    before = dict(authoring.DEFINED)
    authoring.forget(before)  # a test may name its rules like the library's
    yield
    authoring.forget(set(authoring.DEFINED) - set(before))
    authoring.DEFINED.update(before)

"""The emulated GPU that tests of whole functions run on."""

import pytest

import termgraph as tg
from emucuda.driver import emulation


@pytest.fixture
def gpu():
    with emulation() as device, tg.config.change_flags(device="cuda"):
        yield device

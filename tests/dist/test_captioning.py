"""The example that writes sentences for films learns to."""

import runpy
from pathlib import Path

import pytest

from termgraph import dist

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "captioning.py"


@pytest.mark.slow
def test_sentences_are_right_after_training():
    made = runpy.run_path(str(EXAMPLE), run_name="captioning")
    data = dist.Arrays(*made["films"](512, seed=2), batch=32, epochs=14)
    result = dist.train(made["build"], data)
    frames, sentences = made["films"](50, seed=3)
    assert (made["writer"](result.params)(frames) == sentences).all(axis=1).mean() > 0.9

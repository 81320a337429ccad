"""Programs in the manner of Theano's documentation run unchanged but for the import; each checks its own numbers."""

import runpy
from pathlib import Path

import pytest

import termgraph as tg

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
PLAIN = {"profiling", "printing", "ops_in_c", "ops_in_python", "lists_of_arrays"}  # what they do, numbers aside


def test_every_topic_of_the_tutorial_has_a_program():
    topics = (
        "basics state random_numbers logistic_regression derivatives modes saving conditions loops sparse_matrices "
        "gpu_flag ops_in_python ops_in_c debugging profiling printing mlp convnet recurrent rbm autoencoder"
    )
    assert set(topics.split()) <= {p.stem for p in PROGRAMS} and len(PROGRAMS) >= 20


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_program(path):
    with tg.config.change_flags(floatX="float64"):
        runpy.run_path(str(path), run_name="__main__")


def test_programs_import_theano_and_nothing_else_of_termgraph():
    for path in PROGRAMS:
        lines = [
            ln.strip() for ln in path.read_text(encoding="utf-8").splitlines() if "import" in ln and "termgraph" in ln
        ]
        assert lines and all("termgraph.theano" in ln for ln in lines), path

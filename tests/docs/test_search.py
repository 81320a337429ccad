"""The site's search finds names by the words that users type."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "mkdocs.yml"
if not SITE.is_file():
    pytest.skip("only in a checkout", allow_module_level=True)
SETTINGS = SITE.read_text(encoding="utf-8")  # MkDocs itself is no dependency of the tests, nor is YAML


@pytest.mark.parametrize(("written", "typed"), [
    ("T.einsum", "einsum"), ("T.nnet.bilinear_upsampling", "upsampling"), ("tg.value_and_grad(cost,", "grad"),
    ("`tg.optim.adam`", "adam"), ("T.where(x > 0, a, b)", "where"), ('border_mode="half"', "half"),
])  # fmt: skip
def test_names_are_split_into_the_words_that_are_typed(written, typed):
    separator = re.search(r"separator: '(.*)'", SETTINGS).group(1)
    assert typed in re.split(separator, written)
    assert "0.5" in re.split(separator, "about 0.5 of it")  # numbers stay whole


def test_no_word_is_too_common_to_be_found():
    assert "pipeline: [trimmer]" in SETTINGS  # with the filter of stop words `where`, `any` and `all` are not found

"""What many programs hold word for word is compiled once for all of them, and computes what it did."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c import apart
from termgraph.backends.c.build import compiling, library
from termgraph.backends.c.build.cache import Cache
from termgraph.backends.c.build.compiler_errors import CompileError
from termgraph.backends.c.build.compilers import find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
LINKER = "auto"
SOURCE = "int before;\n" + apart.section(
    "typedef int number;", "TG_APART number\ntwice(number x)\n{\n    return 2 * x;\n}"
)


@pytest.fixture
def objects(monkeypatch, tmp_path):
    """The cache of what is compiled apart, empty, and one for programs."""
    cache = Cache(str(tmp_path / "objects"))
    monkeypatch.setattr(compiling, "installation_cache", lambda: cache)
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "programs")}):
        yield cache


def net(layers, dtype="float32"):
    """Convolutions with gradients, of one number format."""
    x = T.tensor("x", dtype=dtype, shape=(2, 3, 8, 8))
    weights = [T.tensor(f"w{k}", dtype=dtype, shape=(3, 3, 3, 3)) for k in range(layers)]
    h = x
    for w in weights:
        h = T.tanh(T.nnet.conv2d(h, w, border_mode=(1, 1)))
    loss = (h * h).mean()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((2, 3, 8, 8)), *rng.standard_normal((layers, 3, 3, 3, 3))]
    return tg.function([x, *weights], [loss, *tg.grad(loss, weights)]), [v.astype(dtype) for v in values]


def test_a_source_without_a_section_is_left_alone():
    assert apart.split("int x;\n", "a.c") == ("int x;\n", ())


def test_the_program_declares_what_it_calls_and_keeps_its_lines():
    source = SOURCE + "int after;\n"
    program, (once,) = apart.split(source, "source0.c")
    assert "TG_APART number twice(number x);" in program and "2 * x" not in program
    assert "typedef int number;" in once and "return 2 * x;" in once and "after" not in once
    lines = program.splitlines()
    at = max(k for k, line in enumerate(lines) if line.startswith("#line"))
    _, number, file = lines[at].split()
    assert file == '"source0.c"' and source.splitlines()[int(number) - 1] == "int after;" == lines[at + 1]


@needs_compiler
def test_an_error_below_a_section_has_its_line(objects):
    source = SOURCE + "int after;\nint wrong = nothing;\n"
    with pytest.raises(CompileError) as error:
        library.build_plain([source], "wrong", header="#define TG_HIDDEN\n")
    assert source.splitlines()[error.value.line - 1] == "int wrong = nothing;"


@needs_compiler
def test_flags_of_loops_do_not_compile_it_again(objects):
    one, two, three = (
        library.build_plain(
            [SOURCE + f"int called{k}(void); int called{k}(void) {{ return twice({k}); }}"],
            "program", header="#define TG_HIDDEN\n", flags=flags,
        ) for k, flags in enumerate([("-O1",), ("-Og",), ("-ffp-contract=off",)])
    )  # fmt: skip
    assert [one.handle.called0(), two.handle.called1(), three.handle.called2()] == [0, 2, 4]
    assert objects.counts["built"] == 2  # of these flags only the last may change results


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_programs_share_their_convolutions(objects, dtype, monkeypatch, tmp_path):
    f, values = net(2, dtype)
    built = objects.counts["built"]
    net(3, dtype)
    assert objects.counts["built"] == built > 0 and objects.counts["hit"] >= built
    monkeypatch.setattr(compiling, "split", lambda source, file: apart.Parts(source, ()))
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "whole")}):
        whole, _ = net(2, dtype)
    assert objects.counts["built"] == built
    for got, wanted in zip(f(*values), whole(*values)):
        np.testing.assert_array_equal(got, wanted)


@needs_compiler
def test_another_number_format_is_another_object(objects):
    net(1, "float32")
    built = objects.counts["built"]
    net(1, "float64")
    assert objects.counts["built"] == built + 1  # the copying of arguments is the same


ORDERED = {
    "sorts": lambda x: [T.sort(x, axis=1), T.argsort(x, axis=0), T.sort(x[:, :9], axis=1)],
    "places": lambda x: [T.argtopk(x, 3, axis=1), T.argsort(T.complex(x, x), axis=0)],
    "statistics": lambda x: [T.quantile(x, 0.3, axis=1), T.median(x, axis=0)],
    "transforms": lambda x: [T.fft.fft(x, axis=0), T.fft.rfft(x), T.fft.irfft(T.complex(x, x), axis=0)],
}


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("which", ORDERED)
def test_routines_around_sorts_and_transforms_are_shared(objects, which, dtype, monkeypatch, tmp_path, rng):
    x = T.tensor("x", dtype=dtype, shape=(None, None))
    f = tg.function([x], ORDERED[which](x))
    built = objects.counts["built"]
    tg.function([x], [*ORDERED[which](x), ORDERED[which](x)[0].sum()])
    assert objects.counts["built"] == built > 1
    monkeypatch.setattr(compiling, "split", lambda source, file: apart.Parts(source, ()))
    with tg.config.change_flags(**{"cache.dir": str(tmp_path / "whole")}):
        whole = tg.function([x], ORDERED[which](x))
    for shape in ((40, 300), (7, 5), (300, 40)):
        value = rng.normal(size=shape).astype(dtype)
        for got, wanted in zip(f(value), whole(value)):
            np.testing.assert_array_equal(got, wanted)

"""Images of rule sets: matchers that another process finds ready; made again when anything they come from changes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import _rulelib
from termgraph.db import database, images, loading, queries
from termgraph.db.queries import Query
from termgraph.rules.compiled import RuleSet
from termgraph.rules.image import image_from, make_image, write_image
from termgraph.rules.pieces import Damaged, read_content
from termgraph.rules.stored import StoredRuleSet
from termgraph.terms.op import OPS

HERE = Path(tg.__file__).parent.parent
KEY = b"k" * 20
ADDED = """
from termgraph.terms.ops.elementwise import sinh, tan

@ruleset("stabilize")
def added(x):
    yield rule("seen", tan(x), sinh(x))
"""

REPORT = """
import sys, warnings
import termgraph as tg, termgraph.tensor as T
from termgraph.terms.op import OPS
warnings.simplefilter("always")
x, y = T.dvector("x"), T.dmatrix("y")
before = [T.log(T.exp(x)) + 0 * x, T.switch(x > 0, x * 1, x) / 2, T.sum(T.exp(x - T.max(x))), T.tan(T.tan(x))]
{more}
after = tg.rewrite(before)
print(*[tg.pp(v) for v in after], sep="; ")
library = [m for m in sys.modules if m.startswith("termgraph.rulelib.") and not m.startswith("termgraph.rulelib._")]
print("rule files", len(library))
"""


def run(place, more="", home=HERE, **environment):
    """What a fresh process prints: the rewritten expressions, how many rule files it read; and its warnings."""
    variables = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("TERMGRAPH", "PYTHON"))},
        "PYTHONPATH": str(home),
        "PYTHONPYCACHEPREFIX": str(place / "bytecode"),
        "TERMGRAPH_FLAGS": f"cache.dir={place / 'cache'}",
        **environment,
    }
    script = REPORT.format(more=more)
    done = subprocess.run([sys.executable, "-c", script], env=variables, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown, files = done.stdout.strip().splitlines()
    return shown, int(files.split()[-1]), done.stderr


def kept(place):
    """The images below a folder."""
    return sorted(place.rglob("*.rules"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder in which a first process has kept its images, and what that process printed."""
    place = tmp_path_factory.mktemp("filled")
    return place, run(place)


@pytest.fixture
def place(filled, tmp_path):
    """A copy of that folder."""
    shutil.copytree(filled[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def compiled(filled, tmp_path):
    """A folder with Python's bytecode of that folder, and no image: else each process compiles every module."""
    shutil.copytree(filled[0] / "bytecode", tmp_path / "bytecode", ignore=shutil.ignore_patterns("*.rules"))
    assert any(tmp_path.rglob("*.pyc")) and not kept(tmp_path)
    return tmp_path


def test_a_second_process_reads_no_rules_and_compiles_no_matcher(filled):
    folder, (shown, files, warned) = filled
    assert files > 30 and not warned
    assert {p.name.split(".")[0] for p in kept(folder / "bytecode")} == {
        "fast_run-canonicalize", "fast_run-stabilize", "fast_run-specialize"
    }  # fmt: skip
    forbid = (
        "from termgraph.rules import tree\n"
        "def compiled(*given): raise AssertionError('a matcher was generated')\n"
        "tree._compiled = tree.write_matcher = tree.write_many = compiled"
    )
    assert run(folder, forbid) == (shown, 0, "")


def test_images_are_kept_in_the_cache_where_python_keeps_no_bytecode(filled, compiled):
    first = run(compiled, PYTHONDONTWRITEBYTECODE="1")
    assert first == filled[1] and not kept(compiled / "bytecode")
    (folder,) = {p.parent for p in kept(compiled / "cache")}
    assert folder.stat().st_mode & 0o077 == 0
    assert run(compiled, PYTHONDONTWRITEBYTECODE="1") == (first[0], 0, "")

    kept(compiled)[0].chmod(0o666)  # anybody may have written to it
    shown, files, warned = run(compiled, PYTHONDONTWRITEBYTECODE="1")
    assert shown == first[0] and files and "can be written by others" in warned
    assert run(compiled, PYTHONDONTWRITEBYTECODE="1") == (shown, 0, "")


def test_nothing_is_kept_where_nothing_can_be_written(filled, compiled):
    (compiled / "cache").write_text("a file, not a folder")
    assert run(compiled, PYTHONDONTWRITEBYTECODE="1") == filled[1]
    assert not kept(compiled)


@pytest.mark.parametrize("damage", [b"", b"something else", None])
def test_a_damaged_image_is_reported_and_made_again(filled, place, damage):
    image = next(p for p in kept(place) if "canonicalize" in p.name)
    whole = image.read_bytes()
    image.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    shown, files, warned = run(place)
    assert (shown, bool(files)) == (filled[1][0], True) and warned.count("is damaged") == 1
    assert run(place) == (shown, 0, "")


def test_an_image_under_the_name_of_another_is_not_used(filled, place):
    canonicalize, stabilize = (next(p for p in kept(place) if name in p.name) for name in ("canonicalize", "stabilize"))
    canonicalize.write_bytes(stabilize.read_bytes())
    shown, files, warned = run(place)
    assert (shown, warned) == (filled[1][0], "") and files
    assert run(place) == (shown, 0, "")


def test_a_rule_file_that_changes_is_used_as_it_is_now(compiled):
    home = compiled / "home"
    for name in ("termgraph", "rules"):
        shutil.copytree(HERE / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    before = run(compiled, home=home)
    assert run(compiled, home=home) == (before[0], 0, "")
    file = home / "rules" / "algebra.py"
    file.write_text(file.read_text() + ADDED)
    shown, files, _ = run(compiled, home=home)
    assert files and "sinh" in shown and "sinh" not in before[0]
    assert run(compiled, home=home) == (shown, 0, "")


def test_no_image_says_it_is_of_files_that_changed_after_they_were_read(compiled):
    home = compiled / "home"
    for name in ("termgraph", "rules"):
        shutil.copytree(HERE / name, home / name, ignore=shutil.ignore_patterns("__pycache__"))
    file = home / "rules" / "algebra.py"
    edit = f"from termgraph import db; db.all_rules(); f = open({str(file)!r}, 'a'); f.write({ADDED!r}); f.close()"
    before = run(compiled, edit, home=home)[0]
    shown, files, _ = run(compiled, home=home)
    assert files and "sinh" in shown and "sinh" not in before


def test_an_image_is_trusted_whatever_others_may_do_to_new_files(compiled):
    shown, _, _ = run(compiled, "import os; os.umask(0o002)", PYTHONDONTWRITEBYTECODE="1")
    assert run(compiled, PYTHONDONTWRITEBYTECODE="1") == (shown, 0, "")


def test_ops_of_users_are_in_no_image(filled, compiled):
    define = (
        "import numpy as np; from termgraph.terms.op import define; from termgraph.terms.ops.elementwise import "
        "elementwise; from termgraph.terms.term import mk1; from termgraph.tensor.variable import Variable\n"
        "{how}\nbefore.append(mk1(wave, y.dimshuffle(1, 0).term))\nbefore[:4] = [b.term for b in before[:4]]"
    )
    fixed = define.format(how="wave = define('wave', arity=1, infer=lambda t: t, meaning=lambda v: np.cumsum(v, 0))")
    by_element = define.format(how="wave = elementwise('wave', 1, np.tanh)")
    first = run(compiled, by_element)[0]
    assert first.endswith("wave(y).T"), first
    assert run(compiled, fixed)[0].endswith("wave(y.T)")
    assert run(compiled, by_element)[0] == first
    assert run(compiled)[0] == filled[1][0]


def test_a_thread_that_loads_rules_for_an_image_and_one_that_rewrites_do_not_wait_for_each_other(place):
    threads = """
import faulthandler, threading
from termgraph import db
from termgraph.db import loading
faulthandler.dump_traceback_later(120, exit=True)
tg.rewrite(before)
class Twice(tg.Op):
    itypes = otypes = [x.type]
    def perform(self, node, inputs, out): out[0][0] = inputs[0] * 2
inside, load = threading.Event(), loading.load_library
def slowly():
    inside.set()
    other.join(0.5)
    load()
loading.load_library = slowly
other = threading.Thread(target=lambda: inside.wait() and tg.rewrite(Twice()(x + 0)))
other.start()
db.query("+fast_compile", "&scan")
other.join()
"""
    assert run(place, threads)[2] == ""


def test_rules_and_facts_of_the_user_are_used_and_kept_in_no_image(filled, place, tmp_path):
    mine = tmp_path / "mine.py"
    mine.write_text("from termgraph.rules import rule, ruleset\n" + ADDED)
    images_before = {p: p.read_bytes() for p in kept(place)}
    shown, files, _ = run(place, TERMGRAPH_RULES=str(mine))
    assert files and "sinh" in shown
    assert run(place, f"tg.config.rules.path = {str(mine)!r}")[0] == shown
    in_process = f"from termgraph import db; db.load({str(mine)!r})"
    assert run(place, in_process)[0] == shown
    late = f"tg.rewrite(before); {in_process}"  # the sets are there already
    assert run(place, late)[0] == shown

    fact = "from termgraph.rules import fact, projection; tg.rewrite(before); fact(projection, OPS['tan'])"
    with_fact, files, _ = run(place, fact)
    assert files and "tan(tan(x))" in filled[1][0] and "tan(tan(x))" not in with_fact
    wraps = "before.append(T.lvector('i') * 2 / 2);"
    assert "i * 2 / 2" in run(place, wraps)[0] and "i * 2 / 2" in run(place, wraps + fact)[0]
    assert {p: p.read_bytes() for p in kept(place)} == images_before


@pytest.mark.parametrize("stage", ["canonicalize", "stabilize", "specialize"])
@pytest.mark.parametrize("assume", [None, "everything"])
def test_the_rules_of_an_image_are_those_it_was_made_from(stage, assume):
    """Also those that a query uses with a goal of its own, where no integers are computed with."""
    asked = Query.parse("+fast_run", f"&{stage}", assume=assume)
    chosen = database._select(asked)
    image = make_image(chosen, [OPS["true_div"]])
    stored = StoredRuleSet(image, lambda: database._library_rules(image, asked), chosen.assume, asked.text)
    shown = [[(r.name, r.assumes, [str(i.goals) for i in r.instances()]) for r in s.rules] for s in (stored, chosen)]
    assert shown[0] == shown[1]


def test_an_op_of_the_user_meets_the_general_rules(place):
    own = (
        "class Twice(tg.Op):\n"
        "    itypes = otypes = [x.type]\n"
        "    def perform(self, node, inputs, out): out[0][0] = inputs[0] * 2\n"
        "before.append(Twice()(x + 0))"
    )
    shown, _, warned = run(place, own)
    assert shown.endswith("Twice(x)") and not warned


def expressions():
    x, y, n = T.dvector("x"), T.dvector("y"), T.lvector("n")
    return [
        x * 2 + y * 3 - x * 2 + T.exp(T.log(x) + 1) * 1 + (x + y + x) / 2,
        T.log(T.sum(T.exp(x))) + T.log1p(T.exp(-y)) - T.log(1 - T.sigmoid(x)),
        T.switch(x > y, T.maximum(x, 0), -abs(-x)) ** 2 + T.sqrt(x) ** 2,
        (n + 0) * 1 // 1 + n % 1 - -n, T.dot(T.outer(x, y), y) + x.dimshuffle("x", 0).sum(0), x[::-1][::-1][1:][2:],
    ]  # fmt: skip


@pytest.mark.parametrize("stage", ["canonicalize", "stabilize", "specialize", "scan"])
@pytest.mark.parametrize("which", ["+fast_run", "+fast_compile"])
def test_an_image_does_what_its_rules_do(which, stage, tmp_path):
    every = database._select(Query.parse(which, f"&{stage}"))
    plain = RuleSet([r for r in every if r.name in loading.LIBRARY], every.assume, every.name)  # none of other tests
    write_image(str(tmp_path / "image"), KEY, make_image(plain, OPS.values()))
    image = image_from(*read_content(str(tmp_path / "image"), KEY))
    stored = StoredRuleSet(image, lambda: list(plain.rules), plain.assume, plain.name)
    assert [(r.name, r.where) for r in stored.named] == [(r.name, r.where) for r in plain.rules]
    for e in expressions():
        (a, by_rules), (b, by_image) = plain.rewrite_traced(e), stored.rewrite_traced(e)
        assert a.term is b.term and by_rules.counts == by_image.counts
        assert [(r.rule, r.where) for r in by_rules] == [(r.rule, r.where) for r in by_image]
    assert stored.source(OPS["add"]) == plain.source(OPS["add"])


def test_an_image_of_other_files_or_of_another_python_is_none(tmp_path, monkeypatch):
    path = str(tmp_path / "image")
    write_image(path, KEY, make_image(database._select(Query.parse("+fast_run", "&scan")), OPS.values()))
    assert read_content(path, KEY) is not None and read_content(path, b"l" * 20) is None
    assert read_content(str(tmp_path / "none"), KEY) is None
    with open(path, "r+b") as file:
        file.truncate(60)
    with pytest.raises(Damaged, match="checksum"):
        read_content(path, KEY)

    here, key = images._file_name(Query.parse("+fast_run", "&scan")), images.key_now("a")
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    monkeypatch.setattr("importlib.util.MAGIC_NUMBER", b"1234")
    assert images._file_name(Query.parse("+fast_run", "&scan")) != here and images.key_now("a") != key


def test_which_queries_have_an_image(monkeypatch):
    monkeypatch.setattr(images, "changed", lambda: False)

    def usable(*words, **more):
        return images.usable(Query.parse(*words, **more))

    assert usable("+fast_run", "&canonicalize") and usable("+fast_compile &stabilize", assume=())
    assert usable("+fast_run +unsafe", "&specialize")
    assert not usable("+fast_run") and not usable("+fast_run", "-inplace", "&canonicalize")
    assert not usable("+fast_run", "&canonicalize", assume=("finite",))


def test_a_gradient_reads_the_files_of_derivative_rules_only(place):
    more = "loss = T.log(T.exp(x).sum()) * T.dot(y, x)[0]; before += [tg.grad(loss, x)]"
    shown, files, _ = run(place, more)
    assert 0 < files < 19
    everything = f"from termgraph import db; n = len(db.all_rules()); {more}; assert n == len(db.all_rules())"
    assert run(place, everything)[0] == shown
    afterwards = f"{more}; from termgraph import db; assert len(db.all_rules()) > 800 and db.ERRORS == []"
    assert run(place, afterwards)[0] == shown
    database.all_rules()
    for asked, beginnings in queries.FILES_OF.items():
        found = [r for r in loading.LIBRARY.values() if asked & {r.name, *r.tags}]
        assert asked <= {name for r in found for name in (r.name, *r.tags)}, "a rule has another name"
        for r in found:
            assert Path(r.where.rpartition(":")[0]).name.startswith(beginnings), "another file with such rules"


def test_a_gradient_reads_no_rule_file_once_the_image_of_derivative_rules_is_there(place):
    more = "before += [tg.grad(T.tanh(x).sum() + T.linalg.det(y) * x.max(), x)]"
    first = run(place, more)
    again = run(place, more)
    assert first[0] == again[0] and first[1] > 0
    assert again[1:] == (0, "")
    added = [path.name for path in kept(place) if path.name.startswith("derivatives")]
    assert len(added) == 1


def test_the_image_of_derivative_rules_is_not_used_with_rules_of_a_user(place):
    more = """
from termgraph.rules import rule, ruleset
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.elementwise import tanh
before += [tg.grad(T.tanh(x).sum(), x)]
@ruleset("grad", overwrite=True, name="grad_trigonometric")
def own(z, g):
    yield rule("tanh", pullback(tanh(z), g), (g * 7.5,))
before += [tg.grad(T.tanh(x).sum(), x)]
"""
    run(place, "before += [tg.grad(x.sum(), x)]")
    shown, _, warned = run(place, more)
    *_, of_the_library, of_the_user = shown.split("; ")
    assert "7.5" in of_the_user and "7.5" not in of_the_library and not warned


def test_a_derivative_rule_for_any_operator_is_asked_after_those_of_the_operator(place):
    more = """
from termgraph.rules import head, rule, ruleset, seg
from termgraph.terms.ops.derivative import pullback
@ruleset("grad")
def last_resort(x, g, f: head, xs: seg):
    yield rule("any", pullback(f(*xs), g), (g * 7.5,))
before += [tg.grad(T.tanh(x).sum(), x), tg.grad(T.exp(T.sin(x)).sum(), x)]
"""
    *_, first, second = run(place, more)[0].split("; ")
    assert "tanh" in first and "cos" in second and "7.5" not in first + second


EVERY_OP = """
from termgraph.db import database, derivatives, queries
from termgraph.rules import image, stored_names, tree
from termgraph.rules.source import Source
from termgraph.terms.ops.derivative import pullback, pushforward
kept, shelf = derivatives.kept(lambda: 1 / 0)
rules = database.query("+grad")
count = 0
for head in (pullback, pushforward):
    for family, rows in derivatives.by_family(head, rules).items():
        made = tree.write_matcher(head, rows, rules.assume, rules.context)
        assert shelf.piece(kept[head.name].pop(family.name)) == image.piece_of(made, rules.context)
        count += 1
stable = database.query(include=queries.STABLE_RULES)
for family, rows in derivatives.by_root(stable).items():
    made = tree.write_matcher(family, rows, stable.assume, stable.context)
    code, names = shelf.piece(kept[derivatives.STABLE].pop(family.name))
    code_now, names_now = image.piece_of(made, stable.context)  # names have sets of operators, in whatever order
    assert code == code_now and stored_names.found(names, 0) == stored_names.found(names_now, 0)
assert count > 200 and not any(kept.values()), "operators that have no rules"
"""


def test_the_image_of_derivative_rules_is_what_the_rules_are_compiled_to(place):
    run(place, "before += [tg.grad(T.tanh(x).sum(), x)]")
    run(place, EVERY_OP)


def test_knowledge_beside_the_rules_is_in_files_of_its_own():
    for path in _rulelib.files():
        if not path.name.startswith("_facts_"):
            assert ".propagate(" not in path.read_text(), f"{path.name}: an image would not bring this along"


def test_goals_of_derivative_rules_are_in_files_without_rules():
    for path in _rulelib.files():
        if path.name.startswith("grad"):
            text = path.read_text()
            assert "@goal" not in text and "Guard(" not in text, f"{path.name}: reading an image would read its rules"

"""Files made to do harm: `tg.load` gives a value or its own error, and changes nothing that exists."""

import copy
import json
import os
import random
import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.config import config
from termgraph.function import mode as mode_module
from termgraph.function.files import packed, unpacked
from termgraph.function.saving import SavedFunctionError
from termgraph.terms.op import OPS, Op
from termgraph.terms.term import Term

v = T.dvector("v")


class Scaled(tg.Op):
    """An op of the user's with code of its own."""

    __props__ = ("k",)
    template = "safe"

    def __init__(self, k):
        self.k = k

    def make_node(self, a):
        return tg.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * self.k


class Interval(tg.Type):
    """A type of the user's."""

    def __init__(self, low):
        self.low = low

    def filter(self, value, strict=False, allow_downcast=None):
        return value


ALLOWED = [Scaled, Interval]


# ---------------------------------------------------------------------- what must not change
CACHES = {"_tc", "sigs", "_bound", "_nodes", "_canonical", "cache", "_elements", "_called"}


def state_of_class(cls):
    return {k: id(x) for k, x in vars(cls).items() if not k.startswith("__") or k in ("__props__", "__init__")}


def world():
    """A digest of everything a file might reach for: ops, classes, modes, flags, modules, the environment."""
    ops = {name: {k: repr(x) for k, x in vars(op).items() if k not in CACHES} for name, op in OPS.items()}
    classes = [Op, Term, tg.Variable, tg.Function, tg.Mode, tg.Op, Scaled, Interval, *map(type, OPS.values())]
    return {
        "ops": ops,
        "classes": {cls.__qualname__: state_of_class(cls) for cls in classes},
        "modes": dict(mode_module._PREDEFINED),
        "flags": repr(config),
        "modules": {name for name in sys.modules if not name.startswith(("scipy", "termgraph", "numpy"))},
        "environment": dict(os.environ),
        "live": (vars(LIVE), repr(SHARED.get_value()), SHARED.name, repr(SHARED.default_update)),
    }


LIVE = Scaled(2.0)
SHARED = tg.shared(np.ones(2), "live")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A file with all sorts of things in it: (manifest, arrays)."""
    from scipy import sparse

    w = tg.shared(np.arange(3.0), "w")
    w.default_update = w * 0.5
    n = T.lscalar("n")
    h, _ = tg.scan(lambda a, total: a + total, sequences=v, outputs_info=T.constant(0.0), name="sums")
    outputs = [h, (w * v)[1:], tg.Assert("told you")(v, n > 0), tg.ifelse(n > 0, v, -v), Scaled(3.0)(v)]
    outputs.append(tg.OpFromGraph([v], [v * v], name="sq")(v))
    f = tg.function([v, tg.In(n, value=1)], outputs, updates=[(w, w + v)], mode=tg.Mode("py"), name="f")
    g = tg.function([v], T.log(1 + T.exp(v)).sum())
    odd = Interval(0.5)("odd")
    rng = T.random.RandomStream(3)
    draw = rng.normal(size=2)
    path = tmp_path_factory.mktemp("files") / "good"
    things = {"f": f, "g": g, "w": w, "y": (v, T.max_and_argmax(v)), "rng": rng, "draw": draw, "odd": odd}
    things |= {"m": sparse.csr_matrix(np.eye(3)), "more": [1.5, 2j, slice(1, 2), np.float32(2), b"x", print_of(v)]}
    tg.save(things, path)
    return unpacked(path.read_bytes())


def print_of(x):
    return tg.printing.Print("seen")(x)


def attempt(data, path):
    """Load bytes; anything but a value or the reader's own error escapes. What was loaded, or None."""
    before = world()
    found = loaded(data, path)
    assert world() == before
    return found


def loaded(data, path):
    path.write_bytes(data)
    try:
        return tg.load(path, allow=ALLOWED)
    except SavedFunctionError as error:
        assert str(path) in str(error)
        return None


def test_the_good_file_is_good(good, tmp_path):
    found = attempt(packed(*good), tmp_path / "a")
    assert found["f"]([1.0, 2.0, 3.0])[0].tolist() == [1.0, 3.0, 6.0]


# ---------------------------------------------------------------------- made by hand
def first(manifest, kind, holding=""):
    """The first record of a kind whose text mentions something."""
    return next(r for r in manifest["records"] if r[0] == kind and holding in json.dumps(r))


def fields(manifest):
    return first(manifest, "function")[1]


def put(**changes):
    def change(m):
        fields(m).update(changes)

    return change


def replace(kind, *new, holding=""):
    def change(m):
        first(m, kind, holding)[:] = [kind, *new]

    return change


def record(*r):
    """A further record, and the root of the file at that."""

    def change(m):
        m["records"].append(list(r))
        m["root"] = [len(m["records"]) - 1]

    return change


def op_with(name, **params):
    """An application of an op with these parameters, of an argument of the graph."""

    def change(m):
        n = len(m["records"])
        kept = [[k, p] for k, p in params.items()]
        m["records"] += [["type", "float64", [None]], ["arg", 0, n], ["op", name, kept], ["term", n + 2, n + 1]]
        m["records"].append(["variable", n + 3, None, None, None])
        m["root"] = [n + 4]

    return change


def deep(m):
    m["records"] += [["list", [[len(m["records"]) - 1 + i]]] for i in range(100_000)]


def nested(m):
    x = []
    for _ in range(100_000):
        x = [x]
    m["root"] = x


def first_of(m, kind):
    return next(i for i, r in enumerate(m["records"]) if r[0] == kind)


def user_op_of(cls, props):
    def change(m):
        n = len(m["records"])
        pairs = [[k, x] for k, x in props.items()]
        m["records"] += [["named", cls.__module__, cls.__qualname__], ["dict", pairs], ["user op", n, n + 1]]

    return change


def user_type_of(attributes):
    def change(m):
        n = len(m["records"])
        pairs = [[k, x] for k, x in attributes.items()]
        m["records"] += [["named", Interval.__module__, "Interval"], ["dict", pairs], ["user type", n, n + 1]]

    return change


NASTY = '*/ int evil(void){return 0;} /*"\\n'
HOSTILE = {
    "names os.system": record("named", "os", "system"),
    "names builtins.eval": record("named", "builtins", "eval"),
    "names builtins.object": record("named", "builtins", "object"),
    "names a dotted path": record("named", "termgraph.terms.op", "OPS.clear"),
    "names a module": record("named", "os", ""),
    "names by something else": record("named", ["os"], {"a": 1}),
    "an unknown kind": record("reduce", "os.system"),
    "a kind that is a list": record(["named"], "os"),
    "no record": record(),
    "records that are no list": lambda m: m.update(records={"0": 1}),
    "no records": lambda m: m.pop("records"),
    "no root": lambda m: m.pop("root"),
    "a root beyond": lambda m: m.update(root=[10**9]),
    "a negative root": lambda m: m.update(root=[-1]),
    "a root of bools": lambda m: m.update(root=[True]),
    "a forward reference": lambda m: m["records"].insert(0, ["list", [[5]]]),
    "a reference to itself": record("list", [[10**6]]),
    "a reference of two numbers": record("list", [[1, 2]]),
    "a deep list": deep,
    "a deep manifest": nested,
    "a float as number": lambda m: m.update(root=0),
    "an array that is none": record("array", 10**6),
    "an array of negative number": record("array", -1),
    "arrays that are no list": lambda m: m.update(arrays=5),
    "a scalar of objects": record("scalar", "object", "00" * 8),
    "a scalar without bytes": record("scalar", "float64", ""),
    "a dtype of records": record("dtype", "O"),
    "a tuple of a number": record("tuple", 5),
    "a dictionary of lists": record("dict", [[[0], 1, 2]]),
    "an unhashable key": record("dict", [[[0], [1]]]),
    "a set of arrays": record("set", [[0]]),
    "a type of negative length": record("type", "float64", [-5]),
    "a type of text length": record("type", "float64", ["5"]),
    "a type of objects": record("type", "object", []),
    "a type of flags": record("type", "float64", [True]),
    "a sparse type of nothing": record("sparse type", "coo", "float64", [None, None]),
    "an op that is none": op_with("system"),
    "an op by a dotted name": op_with("__class__.__init__"),
    "a parameter that is none": op_with("sum", c=NASTY),
    "an axis that is text": op_with("sum", axis=NASTY),
    "an axis beyond": op_with("softmax", axis=99),
    "a dtype that is code": op_with("cast", dtype=NASTY),
    "a dtype that is none": op_with("cast", dtype="os.system"),
    "an op of too many arguments": lambda m: m["records"].append(
        ["term", first_of(m, "op"), *[first_of(m, "arg")] * 9]
    ),
    "a term of a type": lambda m: m["records"].append(["term", first_of(m, "op"), first_of(m, "type")]),
    "a term whose op is a term": lambda m: m["records"].append(["term", first_of(m, "arg"), first_of(m, "arg")]),
    "an argument of negative number": lambda m: m["records"].append(["arg", -1, first_of(m, "type")]),
    "the input of another process": replace("input", "v", 0, "00", 1),
    "printing what is private": op_with("print", attributes=[0]),
    "a loop whose body leaks": lambda m: op_with("loop", n_consts=5)(m),
    "a property too many": user_op_of(Scaled, {"k": (2.0).hex(), "perform": "x"}),
    "a property too few": user_op_of(Scaled, {}),
    "another property": user_op_of(Scaled, {"template": NASTY}),
    "a type as op": user_op_of(Interval, {"low": 1}),
    "a method of a type": user_type_of({"filter": "x"}),
    "a class of a type": user_type_of({"__class__": "x"}),
    "a dict of a type": user_type_of({"__dict__": "x"}),
    "a mode of another name": replace("mode", "os.system", 0),
    "a mode with observers": lambda m: m["records"].append(["dict", [["observers", [0]]]]),
    "a function without mode": put(mode=None),
    "a function with another mode": put(mode=[0]),
    "more results than declared": put(n_roots=50),
    "a negative number of results": put(n_roots=-3),
    "results of another type": put(roots=[0, 0]),
    "no inputs": put(inputs=[]),
    "inputs that are none": put(inputs=[None]),
    "arguments of other types": lambda m: fields(m)["args"].reverse(),
    "an argument twice": lambda m: fields(m).update(args=fields(m)["args"][:1] * len(fields(m)["args"])),
    "values too few": put(values=0),
    "rules that are code": put(rules=["os.system"]),
    "outputs on no device": lambda m: fields(m)["outputs"][0].__setitem__(3, "cuda:x; rm"),
    "a shared variable that is none": lambda m: fields(m)["inputs"][0].update(shared=0),
    "a container of another type": lambda m: first(m, "container").__setitem__(
        1, first_of(m, "sparse type") if 0 else 0
    ),
    "a container on no device": lambda m: first(m, "container").__setitem__(-1, NASTY),
    "a default update of another": lambda m: m["records"].append(["default update", first_of(m, "arg"), 0]),
    "sparse indices beyond": lambda m: m["records"].append(["sparse", "csr", False, [1, 1], 0, 0, 0]),
    "a variable of no term": lambda m: m["records"].append(["variable", 0, None, None, None]),
    "a variable of many fields": lambda m: m["records"].append(["variable", *range(20)]),
    "an output beyond": lambda m: m["records"].append(["output", first_of(m, "node"), 99, None, None, None]),
    "a stream of negative seed": lambda m: m["records"].append(["random stream", False, -1, 0, 0, []]),
    "a line that is code": lambda m: first(m, "site").__setitem__(1, [[1, 2, 3, 4]]),
    "a number of many digits": lambda m: m.update(root=int("9" * 4000)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_by_hand(what, good, tmp_path):
    manifest, arrays = copy.deepcopy(good[0]), good[1]
    manifest.pop("arrays")
    HOSTILE[what](manifest)
    described = manifest.pop("arrays", None)
    try:
        data = packed(manifest, arrays) if described is None else packed(manifest, [])
    except RecursionError:  # JSON of Python does not write what is this deep
        data = packed({}, [])
    attempt(data, tmp_path / "a")


REFUSED = [
    w for w in HOSTILE if w.startswith(("names", "an op", "a parameter", "a property", "a method", "a dtype that"))
]


@pytest.mark.parametrize("what", REFUSED)
def test_hostile_files_that_must_be_refused(what, good, tmp_path):
    manifest, arrays = copy.deepcopy(good[0]), good[1]
    HOSTILE[what](manifest)
    (tmp_path / "a").write_bytes(packed({k: x for k, x in manifest.items() if k != "arrays"}, arrays))
    with pytest.raises(SavedFunctionError):
        tg.load(tmp_path / "a", allow=ALLOWED)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
def test_texts_do_not_reach_generated_code(tmp_path):
    """Names of inputs, loops and functions are texts that a file may choose: they stay texts."""
    x, w = T.dvector(NASTY), tg.shared(np.ones(3), NASTY)
    h, _ = tg.scan(lambda a, total: T.exp(a) + total, sequences=x, outputs_info=T.constant(0.0), name=NASTY)
    inner = tg.OpFromGraph([x], [x * x], name=NASTY)(x)
    f = tg.function([x], [h, x * w, inner], updates=[(w, w + x)], name=NASTY, mode=tg.Mode(linker="c"))
    tg.save(f, tmp_path / "a")
    g = tg.load(tmp_path / "a")
    for each in (f, g):
        assert each(np.ones(3))[1].tolist() == [1.0, 1.0, 1.0]
    assert "double" in f.source("c") and "evil" not in f.source("c")


# ---------------------------------------------------------------------- mutated
VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2,
    7,
    10**6,
    -(2**63),
    2**64,
    "",
    "x",
    "os.system",
    NASTY,
    [],
    [0],
    [3],
    [[1]],
    {},
    {"a": 1},
]


def mutated(manifest, arrays, rng):
    """The file with a few parts of its manifest changed, moved, left out or doubled, under a true digest."""
    m = copy.deepcopy({k: x for k, x in manifest.items() if k != "arrays"})
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place, key = m["records"], rng.randrange(len(m["records"]))
        while isinstance(place[key], (list, dict)) and len(place[key]) and rng.random() < 0.85:
            place = place[key]
            key = rng.randrange(len(place)) if isinstance(place, list) else rng.choice(list(place))
        kind = rng.random()
        if kind < 0.5:
            place[key] = rng.choice(VALUES)
        elif kind < 0.7 and isinstance(place, list):
            other = rng.randrange(len(place))
            place[key], place[other] = place[other], place[key]
        elif kind < 0.85 and isinstance(place, list):
            place.insert(key, copy.deepcopy(place[rng.randrange(len(place))]))
        elif isinstance(place[key], int):
            place[key] += rng.choice((-1, 1))
        else:
            del place[key]
    return packed(m, arrays)


def flipped(data, rng):
    """The bytes with some changed, left out or doubled."""
    raw = bytearray(data)
    for _ in range(rng.choice((1, 2, 10))):
        i = rng.randrange(len(raw))
        change = rng.random()
        if change < 0.6:
            raw[i] = rng.randrange(256)
        elif change < 0.8:
            del raw[i : i + rng.choice((1, 8, 1000))]
        else:
            raw[i:i] = raw[: rng.choice((1, 64))]
    return bytes(raw)


def fuzz(good, path, rng, count):
    """Mutated files, one in four in its bytes, which the digest must show, the others in their manifest."""
    whole, before = packed(*good), world()
    for i in range(count):
        data = flipped(whole, rng) if i % 4 == 0 else mutated(*good, rng)
        found = loaded(data, path)
        assert found is None or i % 4 or data == whole
        assert i % 100 or world() == before, i
    assert world() == before


def test_mutated_files(good, tmp_path):
    fuzz(good, tmp_path / "a", random.Random(int(os.environ.get("TERMGRAPH_SEED", 7))), 200)


@pytest.mark.slow
def test_many_mutated_files(good, tmp_path):
    fuzz(good, tmp_path / "a", random.Random(20), 10_000)

"""Records and named tuples are what Python calls so in all that can be asked of them; only making them takes less."""

import inspect
import pickle
import typing
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from termgraph import _records
from termgraph._records import NamedTuple, record


def classes(make):
    """The same three classes, made by `record` or by `dataclass`."""

    @make(frozen=True)
    class Place:
        x: int
        y: int = 2
        names: list = field(default_factory=list, compare=False)
        hidden: str = field(default="h", repr=False)

    @make
    class Sum:
        parts: tuple
        total: int = field(init=False, repr=False)

        def __post_init__(self):
            self.total = sum(self.parts)

    @make(eq=False)
    class Named(Sum):
        name: str = "n"

        def __repr__(self):
            return self.name

    return Place, Sum, Named


@pytest.mark.parametrize("name", ["Place", "Sum", "Named"])
def test_the_signature_and_the_fields_are_those_of_a_dataclass(name):
    ours, theirs = ({c.__name__: c for c in classes(make)}[name] for make in (record, dataclass))
    ours_, theirs_ = (inspect.signature(c).parameters for c in (ours, theirs))
    assert list(ours_) == list(theirs_)
    needed = lambda given: [p.name for p in given.values() if p.default is p.empty]  # noqa: E731
    assert needed(ours_) == needed(theirs_)
    assert [f.name for f in fields(ours)] == [f.name for f in fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__


def test_replacing_asks_for_no_fields_of_dataclasses():
    Place, Sum, Named = classes(record)
    for change in (_records.replace, replace):  # the second makes them, so it comes last
        assert change(Place(1), y=5) == Place(1, 5) and change(Place(1), x=2, names=["n"]).names == ["n"]
        assert change(Sum((1, 2)), parts=(3,)).total == 3 and change(Named((1,)), name="m").parts == (1,)
        with pytest.raises(ValueError, match="total"):
            change(Sum((1,)), total=2)
        with pytest.raises(TypeError):
            change(Place(1), z=2)
        assert (change is replace) == isinstance(vars(Place)["__dataclass_fields__"], dict)
    assert _records.values_of(Sum((1,))) == {"parts": (1,)}


def test_what_records_do():
    for Place, Sum, Named in (classes(record), classes(dataclass)):
        place = Place(1)
        assert place == Place(1, 2, ["other"]) and place != Place(2) and hash(place) == hash(Place(1))
        assert place != (1, 2, [], "h") and repr(place).endswith("Place(x=1, y=2, names=[])")
        assert Place(1).names is not Place(1).names and asdict(place) == {"x": 1, "y": 2, "names": [], "hidden": "h"}
        assert replace(place, y=5) == Place(1, 5)
        for change in (lambda place=place: setattr(place, "x", 3), lambda place=place: delattr(place, "x")):
            with pytest.raises(FrozenInstanceError):
                change()
        with pytest.raises(TypeError):
            Place()
        s = Sum((1, 2))
        s.parts = (4,)
        assert s.total == 3 and s != Sum((1, 2)) and Sum((1, 2)) == Sum((1, 2)) and Sum.__hash__ is None
        assert repr(Named((1,))) == "n" and Named((1,)) == Named((1,)) and Named((1,)).total == 1
        s.parts = s
        assert repr(s).endswith("Sum(parts=...)")


def test_the_first_objects_are_made_as_the_later_ones():
    """The text of `__init__` comes with the ninth; what is wrong is said by it from the first on."""
    for n in range(12):
        Place, Sum, Named = classes(record)
        for _ in range(n):
            Place(1, names=[2]), Sum((1,)), Named((3,), "m")
        a, b = Place(5, hidden="x"), Named((1, 2), name="o")
        assert (a.x, a.y, a.names, a.hidden) == (5, 2, [], "x") and (b.total, b.name, repr(b)) == (3, "o", "o")
        for args, named in (((), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((1, 2, [], "h", 5), {})):
            with pytest.raises(TypeError, match="__init__"):
                Place(*args, **named)


def test_equality_that_a_class_defines_stays():
    @record(frozen=True)
    class Odd:
        n: int

        def __eq__(self, other):
            return self.n % 2 == other.n % 2

        def __hash__(self):
            return self.n % 2

    assert Odd(1) == Odd(3) and len({Odd(1), Odd(3)}) == 1


def test_fields_are_told_without_parsing_the_text_of_a_signature(monkeypatch):
    monkeypatch.setattr(inspect, "signature", lambda *_, **__: pytest.fail("the text of a class was made"))
    for cls in classes(record):
        assert fields(cls)


def made_of(base, name):
    """A named tuple, made by `typing` or by us."""

    class Made(base):
        x: int
        y: int = 2
        names: tuple = ()

        @property
        def total(self):
            return self.x + self.y

    Made.__name__ = Made.__qualname__ = name
    return Made


Ours, Theirs = made_of(NamedTuple, "Ours"), made_of(typing.NamedTuple, "Theirs")


@pytest.mark.parametrize("after", [0, 5, 12])
def test_named_tuples_are_those_of_typing_from_the_first_to_the_last(after):
    Fresh = made_of(NamedTuple, "Theirs")
    for n in range(after):
        Fresh(n)
    for args, named in (((1,), {}), ((1, 5), {}), ((), {"y": 3, "x": 1}), ((1,), {"names": (4,)}), ((1, 2, (3,)), {})):
        a, b = Fresh(*args, **named), Theirs(*args, **named)
        assert a == b and hash(a) == hash(b) and (a.x, a.y, a.names) == tuple(a) == tuple(b) and len(a) == 3
        assert repr(a) == repr(b) and a._asdict() == b._asdict()
        assert a._replace(y=9) == b._replace(y=9) and type(a._replace(y=9)) is Fresh and Fresh._make(b) == b
        assert not hasattr(a, "__dict__")
    for args, named in (((), {}), ((1, 2, (), 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError) as ours:
            Fresh(*args, **named)
        with pytest.raises(TypeError) as theirs:
            Theirs(*args, **named)
        said = str(theirs.value).partition("__new__")
        assert all(said) and str(ours.value) == f"Theirs.{said[1]}{said[2]}"
    for C in (Fresh, Theirs):
        with pytest.raises(ValueError, match="unexpected field names: \\['z'\\]"):
            C(1)._replace(z=2)
        with pytest.raises(AttributeError):
            C(1).x = 2


def test_named_tuples_have_methods_match_and_are_pickled():
    for C in (Ours, Theirs):
        for a in [C(k, names=(k,)) for k in range(12)]:
            assert (
                pickle.loads(pickle.dumps(a)) == a and type(pickle.loads(pickle.dumps(a))) is C and a.total == a.x + 2
            )
            match a:
                case C(x, y, names=(z,)):
                    assert (x, y, z) == (a.x, 2, a.x)
        assert C._fields == C.__match_args__ == ("x", "y", "names") and C._field_defaults == {"y": 2, "names": ()}
    with pytest.raises(TypeError, match="default"):
        type(NamedTuple)("Wrong", (NamedTuple,), {"__annotations__": {"a": int, "b": int}, "a": 1})


def test_classes_based_on_named_tuples_are_ordinary_ones():
    """What they make of their arguments stays theirs after the text of the base came, which they share."""
    said = []
    for base in (NamedTuple, typing.NamedTuple):
        Base = made_of(base, "Base")

        class Doubled(Base):
            more: int = 5

            def __new__(cls, x):
                return super().__new__(cls, 2 * x, names=("d",))

        made = [Doubled(k) for k in range(12)]
        made[0].note = "kept"
        said.append((made, repr(made[11]), made[0].note, Base(1), Doubled._fields, Doubled.more))
        assert all(type(d) is Doubled for d in made)
    assert said[0] == said[1]


def test_named_tuples_made_of_values_have_as_many():
    for Made in (Ours, Theirs):
        assert Made._make(iter((1, 2, ()))) == (1, 2, ())
        for values in ((), (1,), (1, 2, (), 4)):
            with pytest.raises(TypeError, match=f"Expected 3 arguments, got {len(values)}"):
                Made._make(values)

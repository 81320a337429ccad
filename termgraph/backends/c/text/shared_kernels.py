"""Kernels that are equal but for the buffers they work on are written once, and long programs are tables of steps.

A function takes what differs (buffers, lengths, numbers) from a row of places, `c->at`. A layer more is then a few
numbers more. What makes the steps is compiled apart.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from termgraph._lazy import pattern
from termgraph._records import NamedTuple
from termgraph.backends.c.apart import section
from termgraph.backends.c.text.shared_lengths import FLOATS_TEXT, Function, numbers_apart
from termgraph.lower.memory.plan import LINE
from termgraph.terms.traverse import grouped

ROWS = 8  # of the table in one line of text
MANY_STEPS = 8  # kernels and products from which a program is a table
IDENTIFIER = pattern(r"[A-Za-z_]\w*")
CALLED = pattern(r"\btg_(each|each_past|all)\(c, (\w+), ")
THEN = pattern(r"<then (\w+)>")  # a kernel that a routine runs, and its row
STEPS = pattern(r"<steps (\d+) (\d+)>")
ROUTINE = pattern(r"^.*\btg_(?:conv|pool)_\w+\(.*$", re.MULTILINE)  # calls in which lengths are written out
NUMBER = pattern(r"(?<![\w.\[-])\d+(?![\w.\]])")
AT_TEXT = """
static inline tg_context *tg_at(tg_context *c, const int32_t *at)
{
    c->at = at;
    return c;
}
"""
STEPS_KNOWN = """
/* A step: a function, its numbers and the kernel that its routine runs, or a kernel over 0..n-1: threads get `grain`
   iterations each; 0 is one thread. */
typedef struct {
    int (*run)(void *context, const int32_t *numbers);
    const int32_t *numbers;
    tg_body kernel;
    int64_t n, grain;
    int polls, places;
} tg_step_of;
"""
STEPS_ONCE = """
typedef struct { /* how the context of every program begins */
    const int64_t *env;
    tg_status *st;
    const int32_t *at;
    tg_body then;
} __attribute__((may_alias)) tg_context_head;
/* Makes `count` steps: in each row the number of a step, and its places. Most are kernels over a known range. */
TG_APART __attribute__((noinline)) int
tg_make_steps(void *context, const tg_step_of *steps, const int32_t *row, int count)
{
    tg_context_head *const c = context;
    tg_status *const st = c->st;
    for (; count--; row += 1 + steps[row[0]].places) {
        const tg_step_of *const s = steps + row[0];
        c->at = row + 1;
        if (s->run) {
            c->then = s->kernel;
            if (s->run(c, s->numbers)) return 1;
            continue;
        }
        if (s->polls && TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);
        if (s->grain) tg_rt->parallel_for(s->kernel, c, s->n, s->grain);
        else if (s->n > 0) s->kernel(c, 0, s->n, 0);
        if (st->code) return 1;
    }
    return 0;
}
/* Whether a length is another one than a program was made for: of each its place in env, and what it was. */
TG_APART __attribute__((noinline)) int tg_has_other_lengths(const int64_t *env, const int64_t *known, int count)
{
    for (int k = 0; k < count; k++)
        if (env[known[2 * k]] != known[2 * k + 1]) return 1;
    return 0;
}
/* Arrays inside of others: of each whose it is and how far behind its beginning, from where the next line of the cache
   is taken. */
TG_APART __attribute__((noinline)) void tg_lay_inside(char **to, char *const *buf, const int64_t *inside, int count)
{
    for (int k = 0; k < count; k++)
        to[k] = (char *)((int64_t)(buf[inside[2 * k]] + inside[2 * k + 1] + LINE - 1) & -LINE);
}
""".replace("LINE", str(LINE))


class Entry(NamedTuple):
    """Something of the context that a function gives a name: its declaration, and where it lies.

    `direct` is the text of the place, `shared` the same by way of a number, `place`, that stands in the row.
    """

    name: str
    kind: str
    declaration: str
    direct: str
    shared: str
    place: str

    def declared(self, name: str, place: str) -> str:
        """The line that gives it a name."""
        return f"    {self.declaration.format(name=name, place=place)}"


class Written(NamedTuple):
    """A function without the names it has by accident: its text with `@` for its own name, and its row of places.

    `used` are the names it had for what lies there.
    """

    shape: str
    places: tuple[str, ...]
    used: tuple[str, ...] = ()


class Range(NamedTuple):
    """A known range of a kernel, what it is dealt out by (0: it stays on this thread), whether to poll first."""

    n: int
    grain: int
    polls: bool


class Step(NamedTuple):
    """What a program does next: statements, the kernel that they call, and the places of both, the kernel's first.

    A kernel that runs over a known `range` needs no statements of its own. `numbers` are read by the statements. The
    places of a kernel that a routine runs `then` come last.
    """

    text: str
    kernel: str | None
    places: tuple[str, ...]
    range: Range | None = None
    numbers: tuple[str, ...] = ()
    then: str | None = None


def general(
    head: Sequence[str], body: Sequence[str], entries: Iterable[Entry], local: Iterable[str] = (), first: int = 0
) -> Written:
    """A function with its names numbered in the order of their first use; its places are those from the `first` on."""
    text = "\n".join(body)
    known = {e.name: e for e in entries}
    inner = set(local)
    new: dict[str, str] = {}
    used: list[Entry] = []
    for name in IDENTIFIER.findall(text):
        if name in new:
            continue
        if name in known:
            new[name] = f"{known[name].kind}{len(used)}"
            used.append(known[name])
        elif name in inner:
            new[name] = f"room{len(new)}"
    used += [e for e in known.values() if e.name not in new]
    names = [new.get(e.name, f"{e.kind}{k}") for k, e in enumerate(used)]
    lines = [e.declared(n, e.shared.format(f"c->at[{first + k}]")) for k, (e, n) in enumerate(zip(used, names))]
    text = IDENTIFIER.sub(lambda m: new.get(m[0], m[0]), text)
    shape = "\n".join([*head, *lines, *([text] if text else []), "}"])
    return Written(shape, tuple([e.place for e in used]), tuple([e.name for e in used]))


def _with_lengths_apart(step: Step) -> Step:
    """A call of a routine that takes its lengths from its row, as it takes buffers."""
    text, found = _lengths_apart(step.text, len(step.places))
    fits = step.kernel is None and all(int(n) < 1 << 31 for n in found)
    return step._replace(text=text, places=(*step.places, *found)) if fits else step


@functools.lru_cache(maxsize=64)
def _lengths_apart(text: str, first: int) -> tuple[str, tuple[str, ...]]:
    """The text of a call with places of the row, from the `first` on, for its lengths; many layers have one text."""
    found: list[str] = []

    def place(m: re.Match) -> str:
        found.append(m[0])
        return f"c->at[{first + len(found) - 1}]"

    return ROUTINE.sub(lambda line: NUMBER.sub(place, line[0]), text), tuple(found)


class Shared:
    """Collects functions and steps while they are written, and joins the equal ones at the end."""

    def __init__(self) -> None:
        self.written: dict[str, tuple[Written, int]] = {}  # name -> and its number among the functions
        self.steps: list[Step] = []
        self.whole: dict[str, int] = {}  # functions that always run over their whole range, and how long it is

    def again(self, name: str, like: str, slots: dict[str, str], number: int) -> None:
        """One more function like another that was written, with its arrays, by their old names, in other slots."""
        shape, places, used = self.written[like][0]
        own = tuple([slots.get(old, place) for old, place in zip(used, places)])
        self.written[name] = Written(shape, own, used), number

    def mark(self, first: int) -> str:
        """The line that makes the steps from the first one on, as long as it is not known what they are."""
        return f"if (tg_make_steps(c, tg_step, <steps {first} {len(self.steps)}>)) return (int)st->code;"

    def join(self, functions: list[str], run: str) -> tuple[list[str], str]:
        """The functions, equal ones once and followed by the table, and the text that calls them."""
        self._read_numbers()
        names = grouped((written.shape, name) for name, (written, _) in self.written.items())
        shared = {name: alike[0] for alike in names.values() if len(alike) > 1 for name in alike}
        out: list[str | None] = list(functions)
        for name, first in shared.items():
            written, k = self.written[name]
            out[k] = written.shape.replace("@", name, 1) if name == first else None
        for alike in names.values():
            ranges = {self.whole.get(name) for name in alike}
            if len(ranges) == 1 and None not in ranges:
                k = self.written[alike[0]][1]
                out[k] = _over(out[k] or "", *ranges)
        kept = [self._called(text, shared) for text in out if text is not None]
        table, rows = self._table(shared)
        run = STEPS.sub(lambda m: f"tg_rows + {rows[int(m[1])]}, {int(m[2]) - int(m[1])}", self._called(run, shared))
        floats = [FLOATS_TEXT.strip()] if any("tg_row_" in text for text in kept) else []
        return [*([AT_TEXT.strip()] if shared else []), *floats, *kept, *table], run

    def _read_numbers(self) -> None:
        """Functions that differ in numbers only read these from their rows."""
        fixed = {step.kernel for step in self.steps if step.range is None}  # their rows go on with other places
        given = {
            name: Function(written.shape, len(written.places), self.whole.get(name))
            for name, (written, _) in self.written.items()
            if name not in fixed
        }
        apart = numbers_apart(given)
        for name, (shape, numbers, ranged) in apart.items():
            written, k = self.written[name]
            self.written[name] = Written(shape, (*written.places, *numbers), written.used), k
            if ranged:
                del self.whole[name]
        self.steps = [
            step._replace(places=self.written[step.kernel][0].places) if step.kernel in apart else step
            for step in self.steps
        ]

    def _called(self, text: str, shared: dict[str, str]) -> str:
        """The text with calls of functions that are shared."""

        def call(m: re.Match) -> str:
            if m[2] not in shared:
                return m[0]
            row = ", ".join(self.written[m[2]][0].places) or "0"
            return f"tg_{m[1]}(tg_at(c, (const int32_t[]){{{row}}}), {shared[m[2]]}, "

        def then(m: re.Match) -> str:
            row = ", ".join(self.written[m[1]][0].places) or "0"
            return f"{shared[m[1]]}, (const int32_t[]){{{row}}}" if m[1] in shared else f"{m[1]}, 0"

        return THEN.sub(then, CALLED.sub(call, text) if shared else text)

    def _steps_of_equal_text(self) -> list[Step]:
        """The steps; where routines are called for several lengths, these stand in the rows."""
        steps = [step._replace(text=THEN.sub("c->then, <row>", step.text)) for step in self.steps]
        apart = [_with_lengths_apart(step) for step in steps]
        texts: dict[str, set[str]] = {}
        for step, other in zip(steps, apart):
            texts.setdefault(other.text, set()).add(step.text)
        return [g if len(texts[g.text]) > 1 else s for s, g in zip(steps, apart)]

    def _table(self, shared: dict[str, str]) -> tuple[list[str], list[int]]:
        """The text of steps and their table, and where the row of each begins."""
        if not self.steps:
            return [], []
        functions: dict[str, str] = {}  # text -> name
        numbers: dict[str, int] = {}  # lines of the table of steps
        rows, begins, at = [], [], 0
        for step in self._steps_of_equal_text():
            kernel = shared.get(step.kernel or "", step.kernel)
            if step.range is not None:
                what = f"0, 0, {kernel}, {step.range.n}, {step.range.grain}, {int(step.range.polls)}"
            else:
                text = step.text.replace(f"{step.kernel},", f"{kernel},", 1) if step.kernel in shared else step.text
                given = f"(const int32_t[]){{{','.join(step.numbers)}}}" if step.numbers else "0"
                text, then = text.replace("<row>", f"c->at + {len(step.places)}"), step.then or "0"
                what = (
                    f"{functions.setdefault(text, f'step{len(functions)}')}, {given}, {shared.get(then, then)}, 0, 0, 0"
                )
            places = (*step.places, *(self.written[step.then][0].places if step.then else ()))
            number = numbers.setdefault(f"{{{what}, {len(places)}}}", len(numbers))
            begins.append(at)
            at += 1 + len(places)
            rows.append(",".join([str(number), *places]))
        texts = [text.replace("@", name, 1) for text, name in functions.items()]
        table = "static const tg_step_of tg_step[] = {\n    " + ",\n    ".join(numbers) + "};"
        lines = [",".join(rows[k : k + ROWS]) for k in range(0, len(rows), ROWS)]
        content = "static const int32_t tg_rows[] = {\n" + ",\n".join(lines) + "};"
        return [*texts, section(STEPS_KNOWN, STEPS_ONCE) + table, content], begins


def _over(function: str, n: int | None) -> str:
    """A function that knows its range: loops of a known length need no code for what whole vectors leave over."""
    return function.replace("{\n", f"{{\n    begin = 0, end = {n};\n", 1)

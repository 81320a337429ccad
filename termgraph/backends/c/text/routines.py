"""The text of routines: calls of NumPy's compiled loops and of BLAS on whole arrays, repeated over batches.

A batch becomes a kernel, so that it can run on several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from termgraph.backends.c.text import (
    counted,
    lu_calls,
    many_matrices,
    qr_calls,
    resampling_calls,
    structured_calls,
    window_calls,
)
from termgraph.backends.c.text.checks import BAD_INDEX, FAILED
from termgraph.backends.c.text.dialect import SHORT
from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, poly, product
from termgraph.lower.loops.tree import Place, Routine
from termgraph.lower.schedule.cost import routine_work
from termgraph.terms.dtypes import HALVES
from termgraph.terms.ops.sorting import AT_PLACES
from termgraph.terms.term import AnyTerm


def write_routine(writer: Any, n: Routine, p: Printer) -> None:
    """The statements of a routine."""
    if not n.batch:
        p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
        with p.block(""):
            text = _Text(n, p, "st", [])
            text.quiet = writer.quiet
            text.then = [writer.piecewise(k, p) for k in n.then]
            text.write()
        p.add("if (st->code) return (int)st->code;")
        return
    name = f"kernel{writer.count}"
    writer.count += 1
    inner = Printer(writer.d, [], p.outside)
    _batched(n, inner, writer.quiet)
    writer.function(name, inner, "int64_t begin, int64_t end")
    rest = product(n.batch[1:]) * routine_work(n)
    writer.each(name, n.batch[0], rest, p)


POOLS = ("pool", "pool_max_grad", "pool_sum_grad")
# Texts that take the last dimension of a batch themselves.
MANY = ("loop", "fft", "running", "searchsorted", "sort", "argtopk", *AT_PLACES, *POOLS)


def _batched(n: Routine, p: Printer, quiet: bool) -> None:
    """Loops over a batch, but for its last dimension where the routine goes over that."""
    vars = [Var(k, extent) for k, extent in enumerate(n.batch)]
    looped = vars[:-1] if n.spec.text in MANY else vars
    text = _Text(n, p, "c->st", vars, len(looped))
    text.quiet = quiet
    heads = [p.for_head(v, *(("begin", "end") if v is vars[0] else ())) for v in looped]
    if not looped:
        p.add("const int64_t i0 = begin;")
        text.count = "end - begin"
    with p.block(f"{heads[0]}" if heads else ""):
        if heads:
            p.add("if (TG_STOP(c->st)) break;")
        _nested(heads[1:], p, text)


def _nested(heads: list[str], p: Printer, text: _Text) -> None:
    if not heads:
        text.write()
        return
    with p.block(heads[0]):
        _nested(heads[1:], p, text)


class _Text:
    """The call of a routine for one item of its batch, or for a row of them: C loops go over `looped` dimensions."""

    def __init__(self, n: Routine, p: Printer, st: str, vars: list[Var], looped: int = 0) -> None:
        self.n, self.p, self.st, self.vars = n, p, st, vars
        self.count = "1" if looped == len(vars) else p.poly(n.batch[-1])
        self.at = [poly(v) for v in vars[:looped]] if looped or not vars else [poly(vars[0])]
        self.inner = looped < len(vars)  # whether the routine itself goes over the last dimension
        self.then: list[str] = []  # kernels that the routine runs
        self.quiet = False  # whether new values have been written, so that nothing may fail
        self.natives = [f"TG_NATIVE_{name}" for name in n.spec.functions]

    def write(self) -> None:
        _WRITERS[self.n.spec.text](self)

    # ------------------------------------------------------------------ pieces
    def pointer(self, x: Place) -> str:
        """The address of an operand's first element for this item."""
        offset = x.base + sum((step * at for step, at in zip(x.batch, self.at)), ZERO)
        self.p.bufs[x.buf] = None
        place = x.buf.name if offset is ZERO else f"{x.buf.name} + {self.p.poly(offset)}"
        return f"(void *)({place})" if x.buf.dtype == "bool" else place  # bytes, which routines read as _Bool

    def bytes(self, x: Place, elements: Poly) -> str:
        return self.p.poly(elements * np.dtype(x.buf.dtype).itemsize)

    def step(self, x: Place) -> str:
        """The distance in bytes to the next item."""
        return self.bytes(x, x.batch[-1]) if self.inner else "0"

    def apart(self, x: Place) -> str:
        """The distance in elements to the next item."""
        return self.p.poly(x.batch[-1]) if self.inner else "0"

    def address(self, k: int) -> str:
        """The address of the k-th function of NumPy's that this routine calls."""
        return f"tg_native[{self.natives[k]}]"

    def size(self, name: str) -> str:
        return self.p.poly(self.n.sizes[name])

    def fail(self, which: int, value: str = "0", code: int = FAILED, more: str = "0") -> str:
        failed = f"tg_fail({self.st}, {code}, {self.n.sites[which]}, {value}, {more}, 0, 0)"
        return f"return (int){failed};" if self.st == "st" else f"{{ {failed}; return; }}"

    def bad_index(self, value: str, more: str = "0") -> str:
        """The first failure, of an index or a number; `more` is told as well."""
        return self.fail(0, value, BAD_INDEX, more)

    def no_memory(self, lengths: Iterable[str] | None = None) -> str:
        """What happens where a routine finds no room for an array with these of its lengths (all of them)."""
        count = product([self.n.sizes[name] for name in lengths or self.n.sizes])
        failed = f"tg_fail({self.st}, TG_NOMEM, -1, {self.bytes(self.n.results[0], count)}"
        failed += ", -1, -1, 0)"
        return f"return (int){failed};" if self.st == "st" else f"{{ {failed}; return; }}"


# ---------------------------------------------------------------------- one writer for each kind of text
def _loop(x: _Text) -> None:
    """A loop of NumPy's: addresses, lengths, and distances in bytes."""
    n, p = x.n, x.p
    places = [*n.reads, *n.results]
    names = list(dict.fromkeys(name for core in (*n.spec.ins, *n.spec.outs) for name in core))
    if n.spec.finite:
        _finite(x)
    p.add(f"char *args[] = {{{', '.join(f'(char *)({x.pointer(a)})' for a in places)}}};")
    p.add(f"const int64_t lengths[] = {{{', '.join([x.count, *map(x.size, names)])}}};")
    steps = [*map(x.step, places), *[x.bytes(a, step) for a in places for step in a.core]]
    p.add(f"const int64_t steps[] = {{{', '.join(steps)}}};")
    many = many_matrices.function(n.spec.functions[0]) if x.inner else None
    call = f"{many or 'tg_call_loop'}({x.natives[0]}, args, lengths, steps)"
    p.add(f"if ({call}) {x.fail(0)}" if n.spec.fails else f"{call};")


def _finite(x: _Text) -> None:
    for a, core in zip(x.n.reads, x.n.spec.ins):
        steps = ", ".join(x.p.poly(step) for step in (a.batch[-1] if x.inner else ZERO, *a.core))
        sizes = ", ".join([x.count, *map(x.size, core)])
        x.p.add(f"if (!tg_finite_{SHORT[a.buf.dtype]}({x.pointer(a)}, {sizes}, {steps})) {x.fail(1)}")


def _lstsq(x: _Text) -> None:
    (a, b), (out, _, rank, values) = x.n.reads, x.n.results
    _finite(x)
    rcond = x.n.term.op.params["rcond"]
    given = [
        x.natives[0], x.pointer(a), *map(x.p.poly, a.core), x.pointer(b), *map(x.p.poly, b.core),
        x.size("m"), x.size("n"), x.size("k"), "-1" if rcond is None else repr(float(rcond)),
        x.pointer(out), x.pointer(rank), x.pointer(values),
    ]  # fmt: skip
    with x.p.block(""):
        call = f"tg_lstsq_{SHORT[a.buf.dtype]}({', '.join(given)})"
        if a.buf.dtype == "float64" and {rank.buf, values.buf}.isdisjoint(x.n.bufs):  # nobody asks for the rank
            call = f"tg_least_squares_f64({', '.join([*given[1:-2]])}) ? 0 : {call}"
        x.p.add(f"const int failed = {call};")
        x.p.add(f"if (failed > 0) {x.fail(0)}", f"if (failed < 0) {x.no_memory()}")


def _fft(x: _Text) -> None:
    """Transforms of one length: many at once in lanes of vectors, or one after the other by NumPy's loop."""
    n, p = x.n, x.p
    (a,), (out,) = n.reads, n.results
    short, real = ("f32", "float") if n.term.type.dtype in ("complex64", "float32") else ("f64", "double")
    whole = x.size("whole")
    native = x.natives[0] if len(x.natives) == 1 else f"({whole}) % 2 ? {x.natives[1]} : {x.natives[0]}"
    p.add(f"{real} scale = {_scale(n.term, f'({real})({whole})', real)};")
    with p.block(f"if (tg_fft_here({whole}, {p.poly(product(n.batch))}))" if x.inner else ""):
        if x.inner:
            steps = [
                p.poly(y * (2 if np.dtype(b.buf.dtype).kind == "c" else 1))
                for b in (a, out)
                for y in (b.batch[-1], *b.core)
            ]
            shape = ", ".join([x.count, x.size("n"), whole, x.size("points"), *steps])
            p.add(f"const tg_fft_shape shape = {{{shape}}};")
            name = n.term.op.family.name
            kind, inverse = {"rfft": "real", "irfft": "back"}.get(name, "complex"), int(name == "ifft")
            given = f"&shape, (const {real} *)({x.pointer(a)}), ({real} *)({x.pointer(out)}), scale, {inverse}"
            p.add(f"if (tg_fft_{kind}_{short}({given})) {x.no_memory()}")
    with p.block("else" if x.inner else ""):
        p.add(f"char *args[] = {{(char *)({x.pointer(a)}), (char *)&scale, (char *)({x.pointer(out)})}};")
        p.add(f"const int64_t lengths[] = {{{x.count}, {x.size('n')}, {x.size('points')}}};")
        steps = f"{x.step(a)}, 0, {x.step(out)}, {x.bytes(a, a.core[0])}, {x.bytes(out, out.core[0])}"
        p.add(f"const int64_t steps[] = {{{steps}}};")
        p.add(f"tg_call_loop({native}, args, lengths, steps);")


def _scale(t: AnyTerm, whole: str, real: str) -> str:
    norm, inverse = t.op.params["norm"], t.op.family.name in ("ifft", "irfft")
    if norm == "ortho":
        return f"1 / sqrt{'f' if real == 'float' else ''}({whole})"
    return f"1 / {whole}" if (norm == "forward") != inverse else "1"


_KINDS = {"f": 2, "i": 1, "c": 3}  # of keys, see `tg_sort_key`


def _sort(x: _Text) -> None:
    (a,), (out,) = x.n.reads, x.n.results
    size = np.dtype(a.buf.dtype).itemsize
    given = f"{x.pointer(a)}, {x.pointer(out)}, {x.size('n')}, {x.p.poly(a.core[0])}, {x.p.poly(out.core[0])}"
    if x.n.spec.text == "sort":
        _sort_lines(x, a, out)
    elif len(x.natives) == 1:
        x.p.add(f"if (tg_argsort_stable_{8 * size}({x.address(0)}, {given})) {x.no_memory()}")
    else:
        natives = [x.address(0), x.address(1), str(_KINDS.get(np.dtype(a.buf.dtype).kind, 0))]
        x.p.add(f"if (tg_argsort_{8 * size}({', '.join(natives)}, {given})) {x.no_memory()}")


def _argtopk(x: _Text) -> None:
    (a,), (out,) = x.n.reads, x.n.results
    dtype = np.dtype(a.buf.dtype)
    kind = _KINDS.get(dtype.kind, 0) + (4 if x.n.term.op.params["k"] > 0 else 0)
    bits, lengths = 8 * dtype.itemsize, f"{x.count}, {x.size('n')}, {x.size('k')}"
    steps = ", ".join([x.apart(a), x.p.poly(a.core[0]), x.apart(out), x.p.poly(out.core[0])])
    given = f"{x.address(0)}, {kind}, (const uint{bits}_t *)({x.pointer(a)}), {x.pointer(out)}"
    x.p.add(f"if (tg_argtopk_{bits}({given}, {lengths}, {steps})) {x.no_memory()}")


def _sort_lines(x: _Text, a: Place, out: Place) -> None:
    """Short lines that lie side by side are sorted together, others by a function of NumPy's for each."""
    dtype, steps = np.dtype(a.buf.dtype), (x.p.poly(a.core[0]), x.p.poly(out.core[0]))
    given = (8 * dtype.itemsize, x.address(0), _KINDS.get(dtype.kind, 0), x.size("n"), *steps)
    one = "tg_sort_{}({}, {}, {{}}, {{}}, {}, {}, {})".format(*given)
    begin, end = x.pointer(a), x.pointer(out)
    if not x.inner:
        x.p.add(f"if ({one.format(begin, end)}) {x.no_memory()}")
        return
    each = f"for (int64_t line = 0; line < {x.count}; line++)"
    if dtype.kind in "iuf" and a.buf.dtype not in HALVES:
        given = f"{begin}, {end}, {x.count}, {x.size('n')}, {x.apart(a)}, {steps[0]}, {x.apart(out)}, {steps[1]}"
        across = f"tg_sort_across_{8 * dtype.itemsize}({x.address(0)}, {_KINDS.get(dtype.kind, 0)}, {given})"
        each = f"if (!tg_sort_network_{SHORT[a.buf.dtype]}({given}) && !{across}) {each}"
    lines = [f"{place} + line * ({x.apart(p)})" for place, p in ((begin, a), (end, out))]
    with x.p.block(each):
        x.p.add(f"if ({one.format(*lines)}) {x.no_memory()}")


def _at_places(x: _Text) -> None:
    """`order_statistics`, `partition` and `argpartition`: rows, and places in them."""
    (a, places), (out,) = x.n.reads, x.n.results
    row = f"{x.pointer(a)}, {x.count}, {x.size('n')}, {x.apart(a)}, {x.p.poly(a.core[0])}"
    at = f"{x.pointer(places)}, {x.apart(places)}, {x.p.poly(places.core[0])}, {x.size('k')}"
    to = f"{x.pointer(out)}, {x.apart(out)}, {x.p.poly(out.core[0])}"
    with x.p.block(""):
        x.p.add("int64_t wrong = 0;")
        name = f"tg_{x.n.spec.text}_{SHORT[a.buf.dtype]}"
        x.p.add(f"const int failed = {name}({x.address(0)}, {row}, {at}, {to}, &wrong);")
        x.p.add(f"if (failed == 2) {x.bad_index('wrong', x.size('n'))}", f"if (failed) {x.no_memory()}")


def _searchsorted(x: _Text) -> None:
    (table, value), (out,) = x.n.reads, x.n.results
    name = f"tg_searchsorted_{x.n.term.op.params['side']}_{SHORT[table.buf.dtype]}"
    given = f"{x.pointer(table)}, {x.size('n')}, {x.p.poly(table.core[0])}, {x.pointer(value)}, {x.apart(value)}"
    x.p.add(f"{name}({given}, {x.pointer(out)}, {x.apart(out)}, {x.count});")


def _isin(x: _Text) -> None:
    (a, table), (out,) = x.n.reads, x.n.results
    given = [[x.pointer(b), x.size(n), x.p.poly(b.core[0])] for b, n in ((a, "whole"), (table, "n"))]
    flags = f"{x.pointer(out)}, {x.p.poly(out.core[0])}"
    x.p.add(f"if (tg_isin_{SHORT[a.buf.dtype]}({', '.join([*given[0], *given[1]])}, {flags})) {x.no_memory()}")


def _running(x: _Text) -> None:
    (a,), (out,) = x.n.reads, x.n.results
    steps = [(x.pointer(b), x.apart(b), x.p.poly(b.core[0])) for b in (a, out)]
    given = ", ".join([*steps[0], *steps[1], x.size("n"), x.count])
    x.p.add(f"tg_{x.n.term.op.family.name}_{SHORT[out.buf.dtype]}({given});")


def _sparse_product(x: _Text) -> None:
    (data, indices, indptr, _, right), (out,) = x.n.reads, x.n.results
    by_rows = x.n.term.op.params["format"] == "csr"
    steps = (*right.core, ONE)[:2]
    given = [
        x.pointer(data), x.p.poly(data.core[0]), x.pointer(indices), x.p.poly(indices.core[0]),
        x.pointer(indptr), x.p.poly(indptr.core[0]), x.size("entries"), x.size("rows"), x.size("columns"),
        x.size("width") if len(right.core) == 2 else "1", x.pointer(right), *map(x.p.poly, steps),
        x.pointer(out), "&at",
    ]  # fmt: skip
    with x.p.block(""):
        x.p.add("int64_t at = 0;")
        kind = ("csr" if by_rows else "csc") + ("v" if len(right.core) == 1 else "")
        name = f"tg_{kind}_dot_{SHORT[out.buf.dtype]}"
        x.p.add(f"if ({name}({', '.join(given)})) {x.fail(0, 'at', BAD_INDEX)}")


def _majors(x: _Text) -> None:
    _counted("majors", x, *_vectors(x, x.n.reads[1:]), x.size("pointers"), x.size("entries"))


def _vectors(x: _Text, places: Any) -> list[str]:
    """Addresses of vectors, each with the distance between its elements."""
    return [text for a in places for text in (x.pointer(a), x.p.poly(a.core[0]))]


def _patterns(name: str, x: _Text, *given: str, kind: str = "i32") -> None:
    """The call of a routine on patterns, which says what is wrong with them."""
    with x.p.block(""):
        x.p.add("int64_t at = 0;", f"const int failed = tg_{name}_{kind}({', '.join([*given, '&at'])});")
        _failures(x)


def _failures(x: _Text) -> None:
    """What is wrong with patterns: a place, how many elements they count, or that there is no memory."""
    x.p.add(f"if (failed == 1) {x.fail(0, 'at', BAD_INDEX)}")
    x.p.add(f"if (failed == 2) {x.fail(2, x.size('entries'), BAD_INDEX)}", f"if (failed) {x.no_memory()}")


def _counted(name: str, x: _Text, *given: str) -> None:
    """The call of a routine that fails where an indptr does not count the elements."""
    called = f"tg_{name}_{SHORT[x.n.results[0].buf.dtype]}({', '.join([*given, *map(x.pointer, x.n.results)])})"
    x.p.add(f"if ({called}) {x.fail(0, x.size('entries'), BAD_INDEX)}")


def _switch(x: _Text) -> None:
    """The pattern in the other format, after the places of its elements or after these themselves."""
    outs, (*reads, _) = x.n.results, x.n.reads
    sizes = (x.size("pointers"), x.size("entries"), x.p.poly(x.n.sizes["turned"] - 1))
    _patterns(x.n.spec.text, x, *_vectors(x, reads), *sizes, *map(x.pointer, outs), kind=SHORT[outs[0].buf.dtype])


def _sorted(x: _Text) -> None:
    sizes = (x.size("pointers"), x.size("entries"), x.size("minor"))
    _patterns("csm_sorted", x, *_vectors(x, x.n.reads[:2]), *sizes, *map(x.pointer, x.n.results))


def _ordered(x: _Text) -> None:
    """Elements that are in order are copied; of others it is found first where they belong."""
    (data, *pattern, _), (values, indices) = x.n.reads, x.n.results
    size, (to, out), kind = x.size("entries"), map(x.pointer, (values, indices)), SHORT[values.buf.dtype]
    sizes = (x.size("pointers"), size, x.size("minor"))
    (at, step), (ends, apart), (given, stride) = [_vectors(x, [a]) for a in (*pattern, data)]
    rises = f"tg_csm_rises_{kind}(0, {at}, {ends}, {apart}, {size}, {sizes[0]}, {sizes[2]})"
    with x.p.block(f"if ({step} == 1 && {stride} == 1 && {rises})"):
        x.p.add(f"__builtin_memcpy({to}, {given}, {size} * sizeof *({given}));")
        x.p.add(f"__builtin_memcpy({out}, {at}, {size} * sizeof(int32_t));")
    with x.p.block("else"):
        x.p.add("int64_t at = 0;", f"int32_t *const order = __builtin_malloc(({size} + 1) * sizeof(int32_t));")
        call = [at, step, ends, apart, *sizes, "order", out, "&at"]
        x.p.add(f"const int failed = order ? tg_csm_sorted_i32({', '.join(call)}) : 3;")
        x.p.add(f"if (!failed) tg_csm_moved_{kind}({given}, {stride}, order, {size}, {to});", "__builtin_free(order);")
        _failures(x)


def _merged(x: _Text) -> None:
    one, one_ends, two, two_ends, _ = x.n.reads
    _patterns(
        "csm_merged", x, str(int(x.n.term.op.params["both"])),
        *_vectors(x, (one, one_ends)), x.size("entries"), *_vectors(x, (two, two_ends)), x.size("more"),
        x.size("pointers"), x.size("minor"), x.size("room"), *map(x.pointer, x.n.results),
    )  # fmt: skip


def _joined(x: _Text) -> None:
    """Rows whose elements are in order, each once, are joined at once; others by way of where elements come to lie."""
    both, (*reads, _), (values, *pattern) = str(int(x.n.term.op.params["both"])), x.n.reads, x.n.results
    kind, out = SHORT[values.buf.dtype], x.pointer(values)
    one, two = [_vectors(x, [reads[k]]) for k in (0, 3)]
    size, more, sizes = x.size("entries"), x.size("more"), [x.size(n) for n in ("pointers", "minor", "room")]
    merged = [*_vectors(x, reads[1:3]), size, *_vectors(x, reads[4:]), more, *sizes]
    made = [x.pointer(a) for a in pattern]
    with x.p.block(""):
        given = [both, *one, *two, *merged, out, *made]
        x.p.add("int64_t at = 0;", f"int failed = tg_csm_joined_{kind}({', '.join(given)});")
        with x.p.block("if (failed)"):
            x.p.add(f"int32_t *const places = __builtin_malloc(({size} + {more} + 1) * sizeof(int32_t));")
            given = [both, *merged, "places", f"places + {size}", *made, "&at"]
            x.p.add(f"failed = places ? tg_csm_merged_i32({', '.join(given)}) : 3;")
            given = [both, *one, size, *two, more, "places", f"({made[1]})[{sizes[0]} - 1]", sizes[2], out]
            x.p.add(f"if (!failed) failed = tg_csm_summed_{kind}({', '.join(given)});", "__builtin_free(places);")
        _failures(x)


def _multiplied(x: _Text) -> None:
    (*reads, _, _), (values, *pattern) = x.n.reads, x.n.results
    given = [
        *_vectors(x, reads[:3]), x.size("entries"), x.size("pointers"), *_vectors(x, reads[3:]), x.size("more"),
        x.size("inner"), x.size("minor"), x.size("room"), x.pointer(values), *map(x.pointer, pattern),
    ]  # fmt: skip
    _patterns("csm_multiplied", x, *given, kind=SHORT[values.buf.dtype])


def _kept(x: _Text) -> None:
    _counted("csm_kept", x, *_vectors(x, x.n.reads), x.size("pointers"), x.size("entries"))


def _beside(x: _Text) -> None:
    _counted("csm_beside", x, *_vectors(x, x.n.reads[:6]), *map(x.size, ("beside", "entries", "more", "width")))


def _all_elements(x: _Text) -> None:
    (out,), across = x.n.results, x.n.term.op.params["format"] == "csc"
    sizes = [x.size("entries"), *map(x.size, ("columns", "rows") if across else ("rows", "columns")), x.pointer(out)]
    _patterns("csm_dense", x, str(int(across)), *_vectors(x, x.n.reads[:3]), *sizes, kind=SHORT[out.buf.dtype])


def _diagonal(x: _Text) -> None:
    _counted("csm_diagonal", x, *_vectors(x, x.n.reads[:3]), *map(x.size, ("pointers", "entries", "n")))


def _trsm(x: _Text) -> None:
    (a, b), (out,) = x.n.reads, x.n.results
    params = x.n.term.op.params
    given = [
        "TG_LOWER" if params["lower"] else "TG_UPPER",
        {"N": "TG_PLAIN", "T": "TG_TRANS", "C": "TG_CONJ"}[params["trans"]],
        "TG_UNIT" if params["unit_diagonal"] else "TG_NONUNIT",
        x.size("m"), x.size("n"), x.pointer(a), *map(x.p.poly, a.core), x.pointer(b), *map(x.p.poly, b.core),
        x.pointer(out),
    ]  # fmt: skip
    with x.p.block(""):
        x.p.add(f"const int64_t at = tg_trsm_{SHORT[out.buf.dtype]}({', '.join(given)});")
        if x.n.spec.fails:
            x.p.add(f"if (at > 0) {x.fail(0, 'at - 1')}")
        else:  # the system has no solution, and NaN was asked for
            each, nan = x.p.poly(x.n.sizes["m"] * x.n.sizes["n"]), '__builtin_nan("")'
            x.p.add(f"if (at > 0) for (int64_t k = 0; k < {each}; k++) ({x.pointer(out)})[k] = {nan};")
        x.p.add(f"if (at < 0) {x.no_memory()}")


_WRITERS: dict[str, Callable[[_Text], None]] = {
    "loop": _loop,
    "fft": _fft,
    "sort": _sort,
    "argsort": _sort,
    "argtopk": _argtopk,
    "searchsorted": _searchsorted,
    **dict.fromkeys(AT_PLACES, _at_places),
    "isin": _isin,
    "running": _running,
    "places": counted.places,
    "kept": counted.kept,
    "bincount": counted.bincount,
    "csm_dot": _sparse_product,
    "csm_majors": _majors,
    "csm_switch": _switch,
    "csm_switched": _switch,
    "csm_sorted": _sorted,
    "csm_ordered": _ordered,
    "csm_merged": _merged,
    "csm_joined": _joined,
    "csm_multiplied": _multiplied,
    "csm_kept": _kept,
    "csm_beside": _beside,
    "csm_dense": _all_elements,
    "csm_diagonal": _diagonal,
    "trsm": _trsm,
    "qr": qr_calls.factors,
    "lstsq": _lstsq,
    "upfirdn": resampling_calls.upfirdn,
    "upfirdn_slope": resampling_calls.slope,
    "lu_columns": lu_calls.columns,
    "lu_solve": lu_calls.solve,
    "solve_banded": structured_calls.banded,
    "solveh_banded": structured_calls.hermitian,
    "solve_toeplitz": structured_calls.toeplitz,
    **dict.fromkeys(("convolve_lines", "correlate_lines"), window_calls.lines),
    **dict.fromkeys(POOLS, window_calls.pool),
    **dict.fromkeys(("conv_panels", "conv_spread", "conv_taps", "conv_winograd"), window_calls.convolved),
}

"""The flags for the loops of a program: what the optimiser may leave out, and what it must not do to them."""

from __future__ import annotations

from termgraph._lazy import pattern
from termgraph.lower.lengths.polynomials import Var
from termgraph.lower.loops.tree import Columns, Kernel, Loop, Node, Reduce, Routine, Sweep, Tiles, walk

QUICK = ("-Og",)  # a third of the compiler's time; loops with exp, tanh, ... are still vectorised (see kernels.py)

# Hundreds of operations in one loop: what is left over after whole vectors is few rows of many, and making vector code
# for it too takes a fifth of the compiler's time.
LONG = ("--param=vect-epilogues-nomask=0", "-fno-tree-slp-vectorize")

# The same where whole vectors leave nothing over, or little of much: a tenth to a fifth for loops over columns.
WHOLE = LONG[:1]
MUCH = 512  # elements
INNER = (Columns, Loop, Reduce, Tiles)

# The functions of `float32` are long chains of dependent steps: the processor sees enough of the next ones only if they
# are mixed. A sixth faster; gcc's scheduler before the registers are given out is off by default.
MIXED = ("-fschedule-insns", "-fsched-pressure")
# So are the polynomials of these: several long ones for each element. In the halves of vectors that doubles made of
# float32 need it is the registers that count, not the chains (`erfinv`, `dawsn` of float32: up to a tenth slower).
CHAINS = ("tg_dawsn_f64", "tg_erfinv_f64", "tg_gammaln_f", "tg_gamma_f", "tg_digamma_f", "tg_trigamma_f", "tg_spence_f",
          "tg_expi_f", "tg_exp1_f", "tg_sinint_f64", "tg_cosint_f64", "tg_owens_t_f64")  # fmt: skip

# Two choices by one condition become a branch otherwise, with what was to be avoided computed for whole vectors.
# Of a bound below and one above (`clip`) gcc makes four comparisons and three choices instead of two of each.
UNTHREADED = ("-fno-thread-jumps",)
TWICE_CHOSEN = ("tg_exp_below_zero", "tg_exp_c", "tg_taken", "tg_xlog")
BOUNDS = ("tg_at_least_f", "tg_at_most_f")
CONDITION, CHOICE = pattern(r"const _Bool (v\d+) ="), pattern(r"\b(v\d+) \?")

# Calls of functions that are not the library's are moved into the one arm of a choice that needs them, and no vectors
# are made of a loop with that branch.
UNMOVED = ("-fno-tree-sink",)
CALLED = ("tg_erfinv_", "tg_erfcinv_", "tg_erfcx_f32", "tg_gammainc")  # see whole_vectors.py and incomplete_gamma.py

# Partial results side by side are registers only where their loop, of a few vectors, is written out. At -O1 gcc leaves
# it a loop, and each vector of them is read from memory and written back in each step: twice the time of `nanmax`. So
# little ones ask for that in the text (`vector_folds.all_lanes`); the flag writes out what is left over after whole
# vectors, too, in all loops of a program. Of choices inside choices gcc 12 then takes a wrong arm for some vectors, if
# it has threaded jumps through them.
WRITTEN_OUT = ("-fpeel-loops",)
SIDE_BY_SIDE = ("_lane[u + h]", "tg_halved_")  # where `Printer.add_up` adds them up

# Where many loops are compiled that flag costs a quarter of the compiler's time, and their text is enough. Loops around
# convolutions, which are short, keep it.
MANY = 5  # kernels

# Of loops over many rows a third of the compiler's time is its search for fewer pointers that move and for registers
# that are given out loop by loop. They wait for memory.
LESS = ("-fno-ivopts", "-fira-region=one")


def of(source: str, nodes: list[Node], quick: bool, own_functions: bool) -> tuple[str, ...]:
    """The flags, by the statements, of equal ones the first; `own_functions` are those of `float32`."""
    chosen_twice = any(f in source for f in TWICE_CHOSEN) or all(f in source for f in BOUNDS) or shared_choice(source)
    kept = (*(UNTHREADED if chosen_twice else ()), *(UNMOVED if any(f in source for f in CALLED) else ()))
    if quick:
        return (*kept, *QUICK)
    if any(type(n) is Tiles for n in walk(nodes)):
        return (*kept, *LONG)
    # A function of libm in a vector rounds otherwise than alone: what is left over stays as it is.
    whole = "simd(" not in source and whole_vectors(nodes)
    many = sum(isinstance(n, Kernel) for n in nodes) >= MANY and "tg_conv" not in source
    written_out = (() if many else WRITTEN_OUT) + UNTHREADED if any(f in source for f in SIDE_BY_SIDE) else ()
    less = LESS if many and any(isinstance(n, Sweep) and _is_long(n.var) for n in walk(nodes)) else ()
    mixed = MIXED if own_functions or any(f in source for f in CHAINS) else ()
    return (*kept, *written_out, *less, *mixed, *(WHOLE if whole else ()))


def shared_choice(source: str) -> bool:
    """Whether a condition that several operations read, a variable, makes a choice."""
    return any(
        not {*CONDITION.findall(function)}.isdisjoint(CHOICE.findall(function)) for function in source.split("\n}\n")
    )


def _is_long(rows: Var | None) -> bool:
    return rows is not None and rows.extent.const is not None and rows.extent.const >= MUCH


def whole_vectors(nodes: list[Node]) -> bool:
    """Whether all loops that may become vectors are known to be as long as a power of two, or to be long."""
    for n in walk(nodes):
        if isinstance(n, Routine):  # its loops are of any length
            return False
        if isinstance(n, Columns) or (isinstance(n, (Loop, Reduce)) and not any(isinstance(m, INNER) for m in n.body)):
            extent = n.var.extent.const
            if extent is None or (extent & (extent - 1) and extent < MUCH):
                return False
    return True

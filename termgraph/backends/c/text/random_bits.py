"""Random bits of a vector loop, made for many places before they are used: both halves of a block come together.

gcc makes poor vectors of products of 32 by 32 bits, and a block waits for itself ten times. Pure text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from termgraph._lazy import pattern

PLACES = 256  # for which bits are made at once; a multiple of sixteen
PRAGMA = "#pragma GCC ivdep"
_HEAD = pattern(r"( *)for \(int64_t (i\d+|u) = (.+?); \2 < (.+); \2\+\+\) \{")
_NAMED = pattern(r"( *)const \w+ (\w+) = .+;")
_WORD = pattern(r"\b[A-Za-z_]\w*")
CALL = "tg_philox("

FILL = """
/* The blocks of random bits at n places of one key and step: their first halves, their second ones, or both. There is
   room for a multiple of sixteen. */
static __attribute__((noinline)) void tg_philox_fill(uint64_t key, uint64_t step, const uint64_t *index,
                                                     uint64_t *first, uint64_t *second, int64_t n)
{
#if defined(__AVX2__) && !defined(__clang__)
#ifdef __AVX512F__
    enum { LANES = 8 };
#define TG_MUL(a, b) ((lanes)__builtin_ia32_pmuludq512_mask((ints)(a), (ints)(b), (longs)zero, 255))
#else
    enum { LANES = 4 };
#define TG_MUL(a, b) ((lanes)__builtin_ia32_pmuludq256((ints)(a), (ints)(b)))
#endif
#define TG_ROUND(w) { \\
    const lanes u = key_0 + (uint32_t)(w * 0x9E3779B9u), v = key_1 + (uint32_t)(w * 0xBB67AE85u); \\
    const lanes a = TG_MUL(m0, c0), b = TG_MUL(m1, c2), e = TG_MUL(m0, d0), f = TG_MUL(m1, d2); \\
    c0 = (b >> 32) ^ (c1 ^ u), c1 = b, c2 = (a >> 32) ^ (c3 ^ v), c3 = a; \\
    d0 = (f >> 32) ^ (d1 ^ u), d1 = f, d2 = (e >> 32) ^ (d3 ^ v), d3 = e; }
    typedef uint64_t lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
    typedef int ints __attribute__((vector_size(8 * LANES)));
    typedef long long longs __attribute__((vector_size(8 * LANES)));
    const lanes zero = {0}, low = zero + 0xffffffff, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    const lanes key_0 = zero + (uint32_t)key, key_1 = zero + (key >> 32); /* above 32 bits there may be anything */
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        lanes c0 = *(const lanes *)(index + i), d0 = *(const lanes *)(index + i + LANES), c1 = c0 >> 32, d1 = d0 >> 32;
        lanes c2 = zero + step, c3 = zero + (step >> 32), d2 = c2, d3 = c3;
        TG_ROUND(0) TG_ROUND(1) TG_ROUND(2) TG_ROUND(3) TG_ROUND(4)
        TG_ROUND(5) TG_ROUND(6) TG_ROUND(7) TG_ROUND(8) TG_ROUND(9)
        if (first)
            *(lanes *)(first + i) = (c0 & low) | c1 << 32, *(lanes *)(first + i + LANES) = (d0 & low) | d1 << 32;
        if (second)
            *(lanes *)(second + i) = (c2 & low) | c3 << 32, *(lanes *)(second + i + LANES) = (d2 & low) | d3 << 32;
    }
#undef TG_ROUND
#undef TG_MUL
#else
    if (first && second)
        for (int64_t i = 0; i < n; i++)
            first[i] = tg_philox(key, step, index[i], 0), second[i] = tg_philox(key, step, index[i], 1);
    else if (first) for (int64_t i = 0; i < n; i++) first[i] = tg_philox(key, step, index[i], 0);
    else for (int64_t i = 0; i < n; i++) second[i] = tg_philox(key, step, index[i], 1);
#endif
}"""


def made_before_loops(lines: Sequence[str]) -> list[str]:
    """The lines of a function in which the random bits of vector loops are made before, for some places at a time."""
    out: list[str] = []
    at = loops = 0
    while at < len(lines):
        end = _end(lines, at) if lines[at].endswith(PRAGMA) else at
        made = _made_before(lines[at:end], loops) if any(CALL in line for line in lines[at:end]) else None
        loops += made is not None
        out += lines[at : at + 1] if made is None else made
        at = at + 1 if made is None else end
    return out


def _end(lines: Sequence[str], at: int) -> int:
    """Where a loop ends whose pragma is in line `at`."""
    last = lines[at].removesuffix(PRAGMA) + "}"
    return next((k + 1 for k in range(at + 1, len(lines)) if lines[k] == last), at)


def _made_before(lines: Sequence[str], number: int) -> list[str] | None:
    """The lines of such a loop; None if it has no such bits.

    Key and step must not change in the loop, and only named values of the loop may stand in the index.
    """
    body = "\n".join(lines)
    calls, head = _calls(body), _HEAD.fullmatch(lines[1])
    if not calls or head is None:
        return None
    pad, i, begin, end = head.groups()
    end = "({0} < {1} ? {0} : {1})".format(*end.split(f" && {i} < ")) if "&&" in end else end  # that of two lengths
    named = {m[2]: line.strip() for line in lines[2:-1] if (m := _NAMED.fullmatch(line)) and m[1] == f"{pad}    "}
    named = {name: line for name, line in named.items() if CALL not in line}
    blocks: dict[tuple[str, str, str], dict[str, str]] = {}
    for text, (key, step, index, half) in calls.items():
        if any(w == i or _given(w, body) for w in _WORD.findall(f"{key} {step}")):
            return None
        blocks.setdefault((key, step, index), {})[half] = text
    base, stop = f"bits{number}_from", f"bits{number}_to"
    out = [
        f"{pad}for (int64_t {base} = {begin}; {base} < {end}; {base} += {PLACES}) {{",
        f"{pad}    const int64_t {stop} = ({end}) - {base} < {PLACES} ? {end} : {base} + {PLACES};",
    ]
    for k, ((key, step, index), halves) in enumerate(blocks.items()):
        needs = _needs(index, i, named, body)
        if needs is None:
            return None
        at, both = f"bits{number}_{k}_at", {h: f"bits{number}_{k}_{h}" for h in sorted(halves)}
        out += [f"{pad}    uint64_t {', '.join([f'{name}[{PLACES}]' for name in (at, *both.values())])};", lines[0]]
        out += [f"{pad}    for (int64_t {i} = {base}; {i} < {stop}; {i}++) {{"]
        out += [f"{pad}        {line}" for line in (*needs, f"{at}[{i} - {base}] = {index};")]
        first, second = both.get("0", "0"), both.get("1", "0")
        out += [f"{pad}    }}", f"{pad}    tg_philox_fill({key}, {step}, {at}, {first}, {second}, {stop} - {base});"]
        for half, text in halves.items():
            body = body.replace(text, f"{both[half]}[{i} - {base}]")
    rest = body.split("\n")
    rest[1] = f"{pad}for (int64_t {i} = {base}; {i} < {stop}; {i}++) {{"
    return [*out, *[f"    {line}" for line in rest], f"{pad}}}"]


def _calls(body: str) -> dict[str, list[str]]:
    """The calls in a text, with their arguments."""
    found: dict[str, list[str]] = {}
    at = body.find(CALL)
    while at >= 0:
        depth, begin, parts = 0, at + len(CALL), []
        for k in range(begin, len(body)):
            c = body[k]
            if depth == 0 and c in ",)":
                parts.append(body[begin:k].strip())
                begin = k + 1
                if c == ")":
                    found[body[at : k + 1]] = parts
                    break
            depth += (c in "([{") - (c in ")]}")
        at = body.find(CALL, at + 1)
    return found


def _given(name: str, body: str) -> bool:
    """Whether a name gets its value in a loop."""
    return re.search(rf"\b{name} = ", body) is not None


def _needs(text: str, i: str, named: dict[str, str], body: str) -> list[str] | None:
    """The lines of a loop that name what a text is made of, in their order; None if it needs others."""
    todo, found = _WORD.findall(text), set()
    while todo:
        name = todo.pop()
        if name in named and name not in found:
            found.add(name)
            todo += _WORD.findall(named[name].partition(" = ")[2])
        elif name not in named and name != i and _given(name, body):
            return None
    return [line for name, line in named.items() if name in found]

"""C text of convolutions and of their filters' gradients: how images lie, and which functions a source needs.

Images get zeros around them and their columns sorted by their place modulo the stride, once: every tap then reads along
memory, and the windows of an image never lie in memory as a whole. Each algorithm has a file of its own. Pure text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from termgraph.backends.c import apart
from termgraph.backends.c.text import conv_winograd
from termgraph.backends.c.text.conv_across import ACROSS
from termgraph.backends.c.text.conv_panels import FORWARD
from termgraph.backends.c.text.conv_shares import SHARES
from termgraph.backends.c.text.conv_spread import SPREAD
from termgraph.backends.c.text.conv_taps import TAPS
from termgraph.backends.c.text.conv_tiles import tiles
from termgraph.backends.c.text.dialect import CTYPE, SHORT
from termgraph.lower.schedule.convolution_epilogues import items_of

if TYPE_CHECKING:
    from termgraph.lower.loops.tree import Place

NAMES = {"conv_panels": "forward", "conv_spread": "spread", "conv_taps": "taps", "conv_winograd": "winograd"}
SQUARES = {f"winograd{k}": k for k in conv_winograd.SLOTS}  # functions that know one length of filters
TILES = {"taps": ("taps",), "forward": ("forward", "strided", "taps")}  # what multiplies, if not "forward"
DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}


def call(x: Any) -> str:
    """The call of a routine's statement."""
    n, p = x.n, x.p
    params = n.term.op.params
    spatial = len(params["stride"])
    (first, second), (out,) = [a for a in n.reads if a.core], n.results

    def steps(a: Place) -> str:
        texts = [p.poly(step) for step in a.core]
        return f"(const int64_t[5]){{{', '.join([*texts[:2], *['0'] * (3 - spatial), *texts[2:]])}}}"

    def three(texts: list[str], missing: str) -> str:
        return ", ".join([*[missing] * (3 - spatial), *texts])

    sizes = {k: x.size(k) for k in n.sizes}
    image, taps, places = (three([sizes[f"{k}{d}"] for d in range(spatial)], "1") for k in ("n", "k", "o"))
    before = [str(a) for a, _ in params["border"]]
    shape = (
        f"{sizes['batch']}, {sizes['channels']}, {sizes['filters']}, {params['groups']}, {{{image}}}, {{{taps}}}, "
        f"{{{places}}}, {{{three([str(s) for s in params['stride']], '1')}}}, {{{three(before, '0')}}}, "
        f"{{{three([str(e) for e in params['dilation']], '1')}}}"
    )
    k = n.term.args[1].type.shape[-1] if n.spec.text == "conv_winograd" else ""
    name = f"tg_conv_{NAMES[n.spec.text]}{k}_{SHORT[out.buf.dtype]}"
    given = [x.pointer(first), steps(first), x.pointer(second), steps(second), x.pointer(out)]
    if n.spec.text != "conv_taps":
        given.append(_after(x))
    return f"{name}((tg_conv_shape){{{shape}}}, {', '.join(given)})"


def _after(x: Any) -> str:
    """What a routine is told of the kernel that it runs."""
    if not x.then:
        return "TG_CONV_ALONE"
    return f"(tg_conv_after){{c, &c->at, {x.p.poly(items_of(x.n.then[0], x.n))}, {x.then[0]}}}"


def functions(source: str) -> str:
    """The functions of this kind that a source calls."""
    names = "|".join([*NAMES.values(), *SQUARES])
    found = sorted(set(re.findall(rf"\btg_conv_(?:surely_)?({names})_({'|'.join(DTYPES)})\(", source)))
    parts = []
    for short in sorted({short for _, short in found}):
        called = {kind for kind, s in found if s == short}
        kinds = sorted(called | ({"forward"} if "spread" in called else set()))
        size = 4 if short.endswith("32") else 8
        tiled = sorted({tile for kind in kinds for tile in TILES.get(kind, ("forward",))})
        texts = {
            "forward": "\n\n".join([SHARES.strip(), ACROSS.strip(), FORWARD.strip()]),
            "spread": SPREAD,
            "taps": TAPS,
        }
        texts |= {name: conv_winograd.text(k) for name, k in SQUARES.items() if name in kinds}
        shared = [conv_winograd.SHARED.strip()] * any(kind in SQUARES for kind in kinds)
        text = "\n".join([tiles(size, tiled), PADDED.strip(), *shared, *[texts[kind].strip() for kind in kinds]])
        parts.append(text.replace("$T", CTYPE[DTYPES[short]]).replace("$N", short).replace("$I", f"int{8 * size}_t"))
    return apart.section(SHAPE, "\n".join(parts)) if found else ""


SHAPE = """
/* Lengths of a convolution: channels and filters of all groups; three spatial dimensions, of which some may be 1. */
typedef struct {
    int64_t n, c, f, groups, in[3], k[3], out[3], s[3], before[3], e[3];
} tg_conv_shape;
/* What follows on a convolution: a kernel over so many items of each image, as soon as that is there; their cost. */
typedef struct {
    void *context;
    const int32_t **at;
    int64_t items;
    tg_body kernel;
    const int32_t *row;
    int64_t cost;
} tg_conv_after;
#define TG_CONV_ALONE ((tg_conv_after){0})
/* Places that a tile adds up: numbers of each row and of an image's last one, rows of each image; how far to move after
   a row and after an image, in images and in the vectors that are multiplied; how many are added up one by one. */
typedef struct {
    int64_t images, rows, n, last, row, image, b_row, b_image, terms;
} tg_conv_run;
/* How many terms of a sum are added up one by one, `most` or so in a long one; such parts are added up then, and fewer
   digits are lost. */
static inline int64_t tg_conv_terms(int64_t all, int64_t most) { return all > 96 ? most + all / 1024 : 48; }
/* So many terms in parts of one length. */
static inline int64_t tg_conv_equal(int64_t all, int64_t most)
{
    const int64_t parts = (all + most - 1) / most;
    return (all + parts - 1) / parts;
}
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
#if defined(__GNUC__) && !defined(__clang__) /* a multiply-add is one instruction from here on; O2 gives no more */
#define TG_CONV \\
    __attribute__((noinline, optimize("O1", "tree-vectorize", "fp-contract=fast", "expensive-optimizations")))
#else
#define TG_CONV __attribute__((noinline))
#endif
"""
PADDED = """
/* A convolution that is being computed. Images are rows of `pw` columns of one phase, `ph` rows of one phase, `phases`
   of rows, `s[2]` phases of columns. */
typedef struct {
    tg_conv_shape q;
    const $T *x, *w, *g;
    const int64_t *xs, *ws, *gs;
    $T *room, *y, *packed;
    const $T *images, *end;
    int64_t *off, *at; /* where taps are in the image, and in filters that are read where they lie */
    int64_t pd, ph, pw, phases, plane, places, taps, chunk, rows, block, group, places_of[3];
    int64_t first; /* tap of the chunk that is multiplied */
    $T *sums; /* of all tiles, if they are kept from chunk to chunk */
    struct tg_vector_$N *vectors;
    int64_t apart; /* how far the filters of two groups are */
    tg_conv_after after;
    const int32_t *at_before; /* what `after.at` was */
    int64_t *left; /* what is missing of each image, where that is counted */
    int bounded, strided, inside, failed; /* bounded: nothing is read behind the end of the images; strided: see `at` */
} tg_conv_$N;

/* Count what is missing of each image: so much at first; called once, before any part is there. Where there are more
   threads than images nothing is counted if what follows can be dealt out to all of them afterwards. */
static void tg_conv_count_$N(tg_conv_$N *z, int64_t each)
{
    const int64_t pieces = 4 * z->q.n; /* of jobs of which threads get four pieces each */
    if (!z->after.kernel || (z->after.items > 1 && tg_rt->parts(pieces + 1, 1) > pieces)) return;
    z->left = malloc(z->q.n * sizeof *z->left);
    for (int64_t m = 0; m < z->q.n && z->left; m++) z->left[m] = each;
}

/* Some of an image is there: if that was the last of it, what follows begins. */
static TG_CONV void tg_conv_there_$N(const tg_conv_$N *z, int64_t m, int64_t some)
{
    const tg_conv_after *const a = &z->after;
    if (!__atomic_sub_fetch(z->left + m, some, __ATOMIC_ACQ_REL))
        a->kernel(a->context, m * a->items, (m + 1) * a->items, 0);
}

/* Places of the result, counted through all images, are there. */
static TG_CONV void tg_conv_places_there_$N(const tg_conv_$N *z, int64_t first, int64_t last)
{
    for (int64_t j = first, run; j < last; j += run) {
        run = z->places - j % z->places < last - j ? z->places - j % z->places : last - j;
        tg_conv_there_$N(z, j / z->places, run);
    }
}

/* Before the first place is there. */
static inline void tg_conv_before_$N(tg_conv_$N *z)
{
    if (z->after.kernel) z->at_before = *z->after.at, *z->after.at = z->after.row;
}

/* What follows, unless it was begun for each image. */
static inline int tg_conv_after_$N(tg_conv_$N *z, int64_t images, int failed)
{
    const tg_conv_after *const a = &z->after;
    const int64_t n = images * a->items;
    if (a->kernel && !z->left && !failed && n > 0)
        tg_rt->parallel_for(a->kernel, a->context, n, 150000 / (a->cost + 1) + 1);
    if (a->kernel) *a->at = z->at_before;
    free(z->left);
    return failed;
}

/* A row of a padded plane: every s-th element of a row of the image from `shift` on, zeros around. */
static inline void tg_conv_pad_row_$N(const tg_conv_$N *z, $T *row, const $T *from, int64_t shift, int there)
{
    const int64_t s = z->q.s[2], x = z->xs[4];
    int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s, last = (z->q.in[2] - shift + s - 1) / s;
    if (!there || last <= first) first = last = 0;
    if (last > z->pw) last = z->pw;
    if (first > z->pw) first = last = z->pw;
    for (int64_t j = 0; j < first; j++) row[j] = 0;
    if (s == 1 && x == 1) {
        const int64_t size = (last - first) * sizeof *row;
        if (size > 0) __builtin_memcpy(row + first, from + first + shift, size);
    } else if (s == 2 && x == 1) /* which compilers make vectors of */
        for (int64_t j = first; j < last; j++) row[j] = from[2 * j + shift];
    else if (s == 4 && x == 1)
        for (int64_t j = first; j < last; j++) row[j] = from[4 * j + shift];
    else
        for (int64_t j = first; j < last; j++) row[j] = from[(j * s + shift) * x];
    for (int64_t j = last; j < z->pw; j++) row[j] = 0;
}

/* Zeros around planes, their columns and rows sorted by their places modulo the strides. */
static TG_CONV void tg_conv_pad_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    const tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    for (int64_t m = begin; m < end; m++) {
        const $T *const image = z->x + m / q->c * z->xs[0] + m % q->c * z->xs[1];
        $T *row = z->room + m * z->plane;
        for (int64_t d = 0; d < z->pd; d++)
            for (int64_t e = 0; e < q->s[2]; e++)
                for (int64_t v = 0; v < z->phases; v++)
                    for (int64_t r = 0; r < z->ph; r++, row += z->pw) {
                        const int64_t id = d - q->before[0], ir = r * z->phases + v - q->before[1];
                        tg_conv_pad_row_$N(z, row, image + id * z->xs[2] + ir * z->xs[3], e - q->before[2],
                                           id >= 0 && id < q->in[0] && ir >= 0 && ir < q->in[1]);
                    }
    }
}

/* A single tap along a dimension reads every s-th element: it moves by one through a view of these. */
static inline void tg_conv_single_$N(tg_conv_shape *q, const int64_t **xs, int64_t *steps)
{
    for (int d = 0; d < 5; d++) steps[d] = (*xs)[d];
    for (int d = 0; d < 3; d++)
        if (q->k[d] == 1 && !q->before[d] && (q->out[d] - 1) * q->s[d] < q->in[d]) /* no zeros are read */
            steps[d + 2] *= q->s[d], q->in[d] = q->out[d], q->s[d] = 1;
    *xs = steps;
}

/* How the images lie, where each tap of a group is in them, and the images with zeros around. Nonzero: no memory. */
static int tg_conv_begin_$N(tg_conv_$N *z)
{
    const tg_conv_shape *const q = &z->q;
    const int64_t s = q->s[2], c = q->c / q->groups;
    z->pd = (q->out[0] - 1) * q->s[0] + (q->k[0] - 1) * q->e[0] + 1;
    z->phases = s == 1 ? 1 : q->s[1]; /* so that the places of the next row follow in memory */
    z->ph = s == 1 ? (q->out[1] - 1) * q->s[1] + (q->k[1] - 1) * q->e[1] + 1
                   : q->out[1] + (q->k[1] - 1) * q->e[1] / q->s[1];
    z->pw = q->out[2] + (q->k[2] - 1) * q->e[2] / s;
    z->plane = z->pd * s * z->phases * z->ph * z->pw;
    z->places = q->out[0] * q->out[1] * q->out[2];
    z->taps = c * q->k[0] * q->k[1] * q->k[2];
    z->off = malloc((z->taps + 8) * sizeof *z->off);
    int64_t dense = 1, lies = s == 1 && z->pd == q->in[0] && z->ph == q->in[1] && z->pw == q->in[2];
    for (int d = 4; d >= 0; d--) {
        const int64_t length = d == 0 ? q->n : d == 1 ? q->c : q->in[d - 2];
        lies &= length == 1 || z->xs[d] == dense;
        dense *= length;
    }
    const int64_t row = z->plane == z->places ? z->places : q->out[2];
    lies &= !q->before[0] && !q->before[1] && !q->before[2] && (z->bounded || row % TG_CONV_LANES_$N == 0);
    if (!z->off) return 1;
    for (int64_t i = 0; i < z->taps + 8; i++) {
        const int64_t t = i < z->taps ? i : z->taps - 1, k2 = q->k[2], k1 = q->k[1], k0 = q->k[0];
        const int64_t u = t % k2 * q->e[2], v = t / k2 % k1 * q->e[1], d = t / k2 / k1 % k0 * q->e[0];
        const int64_t row = ((d * s + u % s) * z->phases + v % z->phases) * z->ph + v / z->phases;
        z->off[i] = t / k2 / k1 / k0 * z->plane + row * z->pw + u / s;
    }
    const int64_t size = q->n * q->c * z->plane;
    z->images = z->x;
    z->end = z->x + size;
    if (lies) return 0;
    z->room = malloc((size + 4 * TG_CONV_LANES_$N) * sizeof *z->room);
    if (!z->room) return 1;
    z->images = z->room;
    z->end = z->room + size + 4 * TG_CONV_LANES_$N;
    for (int u = 0; u < 4 * TG_CONV_LANES_$N; u++) z->room[size + u] = 0;
    tg_rt->parallel_for(tg_conv_pad_$N, z, q->n * q->c, 50000 / (z->plane + 1) + 1);
    return 0;
}

/* Where a place of the result is read from, and how many places after it lie along memory. */
static inline int64_t tg_conv_place_$N(const tg_conv_$N *z, int64_t o, int64_t *run)
{
    const tg_conv_shape *const q = &z->q;
    const int64_t column = o % q->out[2], row = o / q->out[2] % q->out[1], depth = o / q->out[2] / q->out[1];
    *run = z->plane == z->places ? z->places - o : q->out[2] - column;
    return (depth * q->s[0] * q->s[2] * z->phases * z->ph + row * (q->s[1] / z->phases)) * z->pw + column;
}
"""

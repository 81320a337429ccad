/* The engines of the emulated libcudnn.so.9: descriptors with attributes, heuristics and plans, part of emucudnn.c.

   Of the engines only 3, 6 and 9 may compute float32; the others sum in any order (0), use tensor cores (1), round
   operands (2), are refused as a plan (4) or when they run (5), want too much memory (7) or compile (8). Who takes 0, 2,
   7 or 8 is refused. Engine 6 is fast if its knob is 1. TG_DNN_SLOW names an engine that takes 20 ms. */
enum { CONVOLUTION = 1, ENGINE, CONFIG, HEURISTICS, PLAN, KNOB = 7, GRAPH = 15, PACK, TENSOR, NOT_FINALIZED = 2004 };
enum { HANDLE, DATA_TYPE, INT64 = 3, FLOATS, DOUBLES, POINTER, MODE, RANKING, KNOB_TYPE, NOTE = 11, DESCRIPTOR = 15, BEHAVIOUR = 19 };
enum { ENGINES = 10, LONG = 8, ATTRIBUTES = 10 };

typedef struct { int name, type; long long count; union { int64_t l[LONG]; void *p[LONG]; int i[LONG]; float f; double d; } of; } Attribute;
typedef struct Descriptor { int kind, done, n; Attribute have[ATTRIBUTES]; } Descriptor;

static const int PAUSES[ENGINES] = {0, 0, 0, 3000, 0, 0, 2000, 0, 0, 4000};
static const int RANKED[][2] = {{0, -1}, {1, -1}, {2, -1}, {3, -1}, {4, -1}, {5, -1}, {6, 0}, {6, 1}, {7, -1}, {8, -1}};
static const int ALWAYS[][2] = {{3, -1}, {9, -1}};

API size_t cudnnGetVersion(void) { return 90000; }
API int cudnnBackendCreateDescriptor(int kind, Descriptor **d) { return *d = calloc(1, sizeof **d), (*d)->kind = kind, SUCCESS; }
API int cudnnBackendDestroyDescriptor(Descriptor *d) { return d->kind = -1, SUCCESS; } /* seen by whoever uses it */

static int type_by_name(int name)
{
    switch (name) {
    case 100: case 901: return DATA_TYPE;
    case 101: return MODE;
    case 200: return RANKING;
    case 400: case 800: return HANDLE;
    case 600: return KNOB_TYPE;
    case 1001: case 1003: return POINTER;
    case 102 ... 106: case 402: case 601: case 900: case 902: case 903: case 906: case 1000: case 1301: return INT64;
    case 1303: return NOTE;
    case 1305: return BEHAVIOUR;
    case 700: case 701: case 706: case 707: case 712: case 713: return FLOATS;
    }
    return DESCRIPTOR;
}
static const Attribute *find(const Descriptor *d, int name)
{
    for (int k = 0; k < d->n; k++)
        if (d->have[k].name == name) return &d->have[k];
    return NULL;
}
static int64_t number(const Descriptor *d, int name)
{
    const Attribute *a = find(d, name);
    return !a ? -1 : a->type == INT64 ? a->of.l[0] : a->of.i[0];
}
/* A finalized descriptor that is an attribute of another. */
static const Descriptor *part(const Descriptor *d, int name, int kind)
{
    const Attribute *a = find(d, name);
    const Descriptor *out = a ? a->of.p[0] : NULL;
    return out && out->kind == kind && out->done ? out : NULL;
}
API int cudnnBackendSetAttribute(Descriptor *d, int name, int type, int64_t count, const void *values)
{
    const int wanted = type_by_name(name), size = type == DATA_TYPE || (type >= MODE && type <= NOTE) || type == FLOATS ? 4 : 8;
    if (d->done || count < 1 || count > LONG || d->n == ATTRIBUTES) return BAD_PARAM;
    if (type != wanted && !(wanted == FLOATS && type == DOUBLES)) return BAD_PARAM;
    Attribute *a = &d->have[d->n++];
    *a = (Attribute){.name = name, .type = type, .count = count};
    return memcpy(&a->of, values, count * size), SUCCESS;
}

static int array_of(const Descriptor *d, Array *out)
{
    if (!d) return BAD_PARAM;
    const Attribute *dims = find(d, 902), *strides = find(d, 903);
    int to[MOST], by[MOST];
    for (int k = 0; k < dims->count; k++) to[k] = dims->of.l[k], by[k] = strides->of.l[k];
    return cudnnSetTensorNdDescriptor(out, number(d, 901), dims->count, to, by);
}
/* The problem of an operation; 0 if its parts fit together. */
static int problem(const Descriptor *d, Job *out)
{
    const int first = d->kind == 10 ? 700 : d->kind == 12 ? 706 : 712;
    const Descriptor *c = part(d, first + 2, CONVOLUTION);
    int at[4][3] = {{0}};
    if (!c || array_of(part(d, first + 3, TENSOR), &out->w) || array_of(part(d, first + 4, TENSOR), &out->x)) return BAD_PARAM;
    if (array_of(part(d, first + 5, TENSOR), &out->y)) return BAD_PARAM;
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < number(c, 106); j++) at[k][j] = find(c, 102 + k)->of.l[j];
    if (memcmp(at[2], at[3], sizeof *at)) return REFUSED; /* as many zeros before as behind */
    if (cudnnSetConvolutionNdDescriptor(&out->c, number(c, 106), at[3], at[1], at[0], number(c, 101), number(c, 100))) return BAD_PARAM;
    const Attribute *one = find(d, first), *none = find(d, first + 1);
    if (!one || !none || (one->type == DOUBLES) != (out->c.computed == DOUBLE)) return BAD_PARAM;
    if ((one->type == DOUBLES ? none->of.d : none->of.f) != 0) return BAD_PARAM;
    out->alpha = one->type == DOUBLES ? one->of.d : one->of.f;
    out->kind = d->kind == 10 ? 0 : d->kind == 12 ? 1 : 2;
    out->w.filters = 1, out->c.groups = out->x.dims[1] / out->w.dims[1];
    return fits(&out->x, &out->w, &out->y, &out->c);
}
API int cudnnBackendFinalize(Descriptor *d)
{
    const Attribute *a = NULL, *b = NULL;
    Job job;
    int bad = d->done;
    switch (d->kind) {
    case TENSOR:
        a = find(d, 902), b = find(d, 903);
        bad |= !a || !b || a->count != b->count || a->count > MOST || number(d, 900) < 1 || !known(number(d, 901)) || number(d, 906) < 0;
        break;
    case CONVOLUTION:
        for (int k = 102; k < 106; k++) bad |= !(a = find(d, k)) || a->count != number(d, 106);
        break;
    case 10: case 11: case 12: bad |= problem(d, &job); break;
    case GRAPH:
        a = find(d, 801);
        if (!a || !find(d, 800) || !((Descriptor *)a->of.p[0])->done || problem(a->of.p[0], &job)) return BAD_PARAM;
        if (job.c.n == 3 && job.c.gaps[0] > 1) return REFUSED;
        break;
    case HEURISTICS: bad |= !part(d, 201, GRAPH) || (number(d, 200) != 2 && number(d, 200) != 3); break;
    case ENGINE: bad |= !part(d, 1300, GRAPH) || number(d, 1301) < 0 || number(d, 1301) >= ENGINES; break;
    case KNOB: bad |= number(d, 600) < 0 || number(d, 601) < 0; break;
    case CONFIG: bad |= !part(d, 300, ENGINE) || (find(d, 302) && !part(d, 302, KNOB)); break;
    case PLAN:
        bad |= !find(d, 400) || !part(d, 401, CONFIG);
        if (!bad && number(part(part(d, 401, CONFIG), 300, ENGINE), 1301) == 4) return REFUSED;
        break;
    case PACK: bad |= !(a = find(d, 1000)) || !(b = find(d, 1001)) || a->count != b->count || !find(d, 1003); break;
    default: bad = 1;
    }
    return bad ? BAD_PARAM : (d->done = 1, SUCCESS);
}

static void add_one(Descriptor *d, int name, int type, const void *value) { cudnnBackendSetAttribute(d, name, type, 1, value); }
static void configure(Descriptor *d, const Descriptor *graph, const int *which)
{
    Descriptor *engine, *knob;
    int64_t index = which[0], value = which[1];
    cudnnBackendCreateDescriptor(ENGINE, &engine), cudnnBackendCreateDescriptor(KNOB, &knob);
    add_one(engine, 1300, DESCRIPTOR, &graph), add_one(engine, 1301, INT64, &index), engine->done = 1;
    add_one(knob, 600, KNOB_TYPE, (int[]){2}), add_one(knob, 601, INT64, &value), knob->done = 1;
    add_one(d, 300, DESCRIPTOR, &engine);
    if (value >= 0) add_one(d, 302, DESCRIPTOR, &knob);
    d->done = 1;
}
API int cudnnBackendGetAttribute(const Descriptor *d, int name, int type, int64_t room, int64_t *count, void *to)
{
    if (!d->done || d->kind < 0) return NOT_FINALIZED;
    if (type != type_by_name(name) || room < 1) return BAD_PARAM;
    Descriptor **given = to;
    const Attribute *a = find(d, name);
    const int engine = d->kind == ENGINE ? number(d, 1301) : -1;
    *count = 0;
    if (d->kind == HEURISTICS) {
        const int (*list)[2] = number(d, 200) == 3 ? RANKED : ALWAYS, n = number(d, 200) == 3 ? 10 : 2;
        for (; *count < n && *count < room; ++*count) configure(given[*count], part(d, 201, GRAPH), list[*count]);
    } else if (d->kind == CONFIG) {
        if (a) *given[0] = *(Descriptor *)a->of.p[0], *count = 1;
    } else if (name == 1303) {
        const int notes[ENGINES] = {4, 0, 1, 3, -1, -1, -1, -1, -1, -1};
        if (notes[engine] >= 0) *(int *)to = notes[engine], *count = 1;
    } else if (name == 1305) {
        if (engine == 8) *(int *)to = 0, *count = 1;
    } else if (d->kind == PLAN && name == 402)
        *(int64_t *)to = number(part(part(d, 401, CONFIG), 300, ENGINE), 1301) == 7 ? (int64_t)1 << 40 : ROOM, *count = 1;
    else if (a)
        memcpy(to, &a->of, type == INT64 ? 8 : 4), *count = 1;
    else
        return BAD_PARAM;
    return SUCCESS;
}
API int cudnnBackendExecute(Handle *h, const Descriptor *plan, const Descriptor *pack)
{
    if (plan->kind != PLAN || pack->kind != PACK || !plan->done || !pack->done) return BAD_PARAM;
    const Descriptor *config = part(plan, 401, CONFIG), *engine = part(config, 300, ENGINE);
    const Descriptor *operation = find(part(engine, 1300, GRAPH), 801)->of.p[0], *knob = part(config, 302, KNOB);
    const char *slow = getenv("TG_DNN_SLOW");
    const int which = number(engine, 1301), first = operation->kind == 10 ? 700 : operation->kind == 12 ? 706 : 712;
    char *at[3] = {0};
    Job p = {.pause = PAUSES[which]};
    if (which == 5) return FAILED;
    if (which == 0 || which == 2 || which == 7 || which == 8 || problem(operation, &p)) return BAD_PARAM;
    if (knob && number(knob, 601) == 1) p.pause = 100;
    if (slow && atoi(slow) == which) p.pause = 20000;
    for (int k = 0; k < 3; k++) { /* filters, images, results */
        const Descriptor *t = part(operation, first + 3 + k, TENSOR);
        for (int j = 0; j < find(pack, 1000)->count; j++)
            if (find(pack, 1000)->of.l[j] == number(t, 906)) at[k] = find(pack, 1001)->of.p[j];
        if (!at[k] || (uintptr_t)at[k] % number(t, 900)) return BAD_PARAM;
    }
    p.room = find(pack, 1003)->of.p[0];
    p.a = at[p.kind != 1], p.b = p.kind ? at[2] : at[0], p.out = p.kind == 0 ? at[2] : p.kind == 1 ? at[1] : at[0];
    if (!p.room) return BAD_PARAM;
    return emucuda_call(h->stream, run, &p, sizeof p) ? FAILED : SUCCESS;
}

/* The callable that runs a compiled program: abi.h, python.h, pool.c, team.c, cells.c and looks.c stand in front.

   One call: sort the arguments, check them, own the cells, plan (lengths of everything), make room for the outputs, run,
   commit the new values of shared variables by swapping pointers, hand the outputs over. Whatever fails before the
   commit leaves every shared variable as it was. docs/dev/c-abi.md describes what the program sees. */

enum { ACCEPT_FLOAT = 1, ACCEPT_INT = 2 };              /* Python numbers that need no filter */
enum { FRESH, OVERWRITE, ACCUMULATE };                  /* how the new value of a cell is stored */
enum { AS_ONE, AS_LIST, AS_TUPLE, AS_NONE, AS_WRAPPED }; /* what a call returns */
enum { ROOM_ON_STACK = 16384, MAX_DIMS = 64 };

typedef struct { /* an input or a cell */
    Descr *descr;
    Obj *name, *dflt; /* of inputs: name, default value or NULL */
    int nd, env, shift, accept;
    Ssize fixed[]; /* lengths, -1 where any will do; room for MAX_DIMS is allocated as needed */
} Port;
typedef struct {
    Descr *descr;
    int nd, env, scalar; /* scalar: return a NumPy scalar instead of a 0-d array */
    int cell, mode;      /* the cell it becomes the value of, or -1, and how */
    int donor;           /* input whose storage it may take over, or -1 */
    Ssize item;          /* bytes of one element */
    int turned;          /* whether the axes of the result are in another order than those of memory */
    int order[MAX_DIMS]; /* then which axis of the result each axis of memory is */
    Obj *(*make_scalar)(Type *, Ssize);
} Out;

typedef struct {
    Obj ob;
    Vectorcall vectorcall;
    int (*plan)(int64_t *, char *const *, tg_status *);
    int (*run)(char **, const int64_t *, tg_status *);
    int inputs, cells, consts, outs, returned, spaces; /* outs: the returned ones, then new values of cells */
    int env_size, space_env, work_env, as, written;    /* written: cells that this program updates; they come first */
    Port **port;                                       /* inputs, then cells */
    Out *out;
    Cell **cell;
    Array **constant;
    Obj *names, *name, *filter, *fail, *wrap, *keep, *timers;
    void *arena; /* workspace kept between calls */
    size_t arena_size;
    int64_t arena_user; /* the epoch in which somebody uses it, or 0 */
    int64_t calls;
} Fn;
static Type *FnType;
static int64_t long_work = 50000; /* estimated nanoseconds from which the GIL is released */

/* Everything of one call that has to be undone. */
typedef struct {
    Obj **held, **result;
    int held_count, result_count, owned;
    void *space;
    size_t space_size;
} Call;

/* ---- arguments ---- */
/* The same dtype as another object, as unpickled arrays have it; `long long` is a second name of int64. */
static int same_dtype(const Descr *a, const Descr *b)
{
    int number = a->number == T_LONGLONG ? T_INT64 : a->number == T_ULONGLONG ? T_UINT64 : a->number;
    return number == b->number && (a->byteorder == '=' || a->byteorder == '|');
}
static inline int fits(const Port *p, const Array *x)
{
    if (x->descr != p->descr && !same_dtype(x->descr, p->descr)) return 0;
    if (x->nd != p->nd || !(x->flags & ALIGNED)) return 0;
    Ssize low = ((Ssize)1 << p->shift) - 1;
    for (int k = 0; k < p->nd; k++) {
        if (p->fixed[k] >= 0 && x->dims[k] != p->fixed[k]) return 0;
        if (x->strides[k] & low) return 0;
    }
    return 1;
}
/* The usual argument, checked and loaded in one pass; NULL if something has to be looked at again. */
static inline char *load_if_plain(const Port *p, const Array *x, int64_t *env)
{
    if (x->descr != p->descr || x->nd != p->nd || !(x->flags & ALIGNED)) return NULL;
    int64_t *dims = env + p->env, *strides = dims + p->nd;
    Ssize low = ((Ssize)1 << p->shift) - 1, odd = 0;
    for (int k = 0; k < p->nd; k++) {
        Ssize n = x->dims[k], step = x->strides[k];
        odd |= (p->fixed[k] >= 0 ? n ^ p->fixed[k] : 0) | (step & low);
        dims[k] = n, strides[k] = step >> p->shift;
    }
    return odd ? NULL : x->data;
}
static inline char *load(const Port *p, const Array *x, int64_t *env)
{
    int64_t *dims = env + p->env, *strides = dims + p->nd;
    for (int k = 0; k < p->nd; k++) dims[k] = x->dims[k], strides[k] = x->strides[k] >> p->shift;
    return x->data;
}

/* Python's float and int, and a NumPy scalar of exactly the right type, without making an array. */
static RARE char *from_int(const Port *p, long long v, char *to)
{
    const long long EXACT = 1ll << 53;
    switch (p->descr->number) {
    case T_INT8: *(int8_t *)to = (int8_t)v; return v == (int8_t)v ? to : NULL;
    case T_UINT8: *(uint8_t *)to = (uint8_t)v; return v == (uint8_t)v ? to : NULL;
    case T_INT16: *(int16_t *)to = (int16_t)v; return v == (int16_t)v ? to : NULL;
    case T_UINT16: *(uint16_t *)to = (uint16_t)v; return v == (uint16_t)v ? to : NULL;
    case T_INT32: *(int32_t *)to = (int32_t)v; return v == (int32_t)v ? to : NULL;
    case T_UINT32: *(uint32_t *)to = (uint32_t)v; return v == (uint32_t)v ? to : NULL;
    case T_INT64: *(int64_t *)to = v; return to;
    case T_UINT64: *(uint64_t *)to = (uint64_t)v; return v >= 0 ? to : NULL;
    case T_FLOAT32: *(float *)to = (float)v; return v >= -(1 << 24) && v <= 1 << 24 ? to : NULL;
    case T_FLOAT64: *(double *)to = (double)v; return v >= -EXACT && v <= EXACT ? to : NULL;
    default: return NULL;
    }
}
static char *from_float(const Port *p, double v, char *to)
{
    switch (p->descr->number) {
    case T_FLOAT32: *(float *)to = (float)v; return to;
    case T_FLOAT64: *(double *)to = v; return to;
    case T_COMPLEX64: ((float *)to)[0] = (float)v, ((float *)to)[1] = 0; return to;
    case T_COMPLEX128: ((double *)to)[0] = v, ((double *)to)[1] = 0; return to;
    default: return NULL;
    }
}
static char *from_number(const Port *p, Obj *o, char *to)
{
    if (o->type == p->descr->scalar) return SCALAR_VALUE(o);
    if (o->type == &PyFloat_Type && p->accept & ACCEPT_FLOAT) return from_float(p, PyFloat_AsDouble(o), to);
    if (o->type == &PyLong_Type && p->accept & ACCEPT_INT) {
        int overflow;
        long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
        return overflow ? NULL : from_int(p, v, to);
    }
    if (o->type == &PyBool_Type && p->descr->number == T_BOOL) {
        *to = o == &_Py_TrueStruct;
        return to;
    }
    return NULL;
}

/* An argument that does not fit as it is goes to Python, which returns an array that fits or raises. */
static RARE Array *filtered(Fn *f, int i, Obj *o)
{
    Array *x = (Array *)PyObject_CallFunction(f->filter, "iO", i, o);
    if (!x || (x->ob.type == ArrayType && fits(f->port[i], x))) return x;
    PyErr_Format(PyExc_TypeError, "%U: the filter of argument %R returned something that does not fit", f->name,
                 f->port[i]->name);
    Py_DecRef(&x->ob);
    return NULL;
}
static int take_argument(Fn *f, int i, Obj *o, char **buf, int64_t *env, char *scratch, Call *c)
{
    const Port *p = f->port[i];
    if (o->type == ArrayType) {
        if ((buf[i] = load_if_plain(p, (Array *)o, env))) return 0;
        if (fits(p, (Array *)o)) { /* its dtype is another object */
            buf[i] = load(p, (Array *)o, env);
            return 0;
        }
    }
    if (p->nd == 0 && (buf[i] = from_number(p, o, scratch))) return 0;
    Array *x = filtered(f, i, o);
    if (!x) return -1;
    c->held[c->held_count++] = &x->ob;
    buf[i] = load(p, x, env);
    return 0;
}

/* Fill `all` from positional arguments, keywords and defaults. Returns ASKS_SUBSET for a keyword that Python handles. */
enum { ASKS_SUBSET = 1 };
static int sort_arguments(Fn *f, Obj *const *args, Ssize count, Obj *keywords, Obj **all, Call *c)
{
    if (count > f->inputs) {
        PyErr_Format(PyExc_TypeError, "%U() takes %d arguments (%U), got %zd", f->name, f->inputs, f->names, count);
        return -1;
    }
    for (int i = 0; i < f->inputs; i++) all[i] = i < count ? args[i] : NULL;
    for (Ssize k = 0, n = keywords ? PyTuple_Size(keywords) : 0; k < n; k++) {
        Obj *name = PyTuple_GetItem(keywords, k);
        int i = 0;
        while (i < f->inputs && f->port[i]->name != name) i++; /* names are interned: this finds nearly all */
        if (i == f->inputs)
            for (i = 0; i < f->inputs && (f->port[i]->name == None || PyUnicode_Compare(f->port[i]->name, name)); i++) {}
        if (i == f->inputs && !PyUnicode_CompareWithASCIIString(name, "output_subset")) return ASKS_SUBSET;
        if (i == f->inputs) {
            PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument %R; its arguments are: %U", f->name,
                         name, f->names);
            return -1;
        }
        if (all[i]) {
            PyErr_Format(PyExc_TypeError, "%U() got argument %R twice", f->name, name);
            return -1;
        }
        all[i] = args[count + k];
    }
    for (int i = 0; i < f->inputs; i++) {
        if (all[i]) continue;
        if ((all[i] = f->port[i]->dflt)) { /* held: another thread may give another default meanwhile */
            c->held[c->held_count++] = new_ref(all[i]);
            continue;
        }
        PyErr_Format(PyExc_TypeError, "%U() is missing argument %d (%S); its arguments are: %U", f->name, i + 1,
                     f->port[i]->name, f->names);
        return -1;
    }
    return 0;
}

/* ---- cells ---- */
/* Those that are updated are owned; of the others a reference is taken, which protects their numbers. */
static int take_cells(Fn *f, char **buf, int64_t *env, Call *c, tg_status *st)
{
    int again;
    do {
        again = 0;
        if (f->written && own_cells(f->cell, f->written, 1)) return -1;
        for (int i = f->written; i < f->cells && !again; i++)
            if (owned(f->cell[i]) && f->cell[i]->in_place) {
                if (f->written) release_cells(f->cell, f->written);
                if (wait_for_owner(f->cell[i])) return -1;
                again = 1;
            }
    } while (again);
    c->owned = f->written > 0;
    for (int i = 0; i < f->cells; i++) {
        Array *x = (Array *)f->cell[i]->value;
        const Port *p = f->port[f->inputs + i];
        if (!fits(p, x)) return tg_fail(st, TG_CELL, -1, i, 0, 0, 0);
        buf[f->inputs + i] = load(p, x, env);
        if (i >= f->written) c->held[c->held_count++] = new_ref(&x->ob);
    }
    return 0;
}

/* ---- outputs ---- */
static int check_lengths(Fn *f, int i, const int64_t *env, size_t *bytes, tg_status *st)
{
    const Out *o = &f->out[i];
    size_t n = (size_t)o->item;
    int empty = 0;
    for (int k = 0; k < o->nd; k++) {
        int64_t length = env[o->env + k];
        if (length < 0) return tg_fail(st, TG_LENGTH, -1, i, k, length, 0);
        if (!length) empty = 1;
        else if (__builtin_mul_overflow(n, (size_t)length, &n) || n > INT64_MAX)
            return tg_fail(st, TG_NOMEM, -1, INT64_MAX, i, -1, 0); /* NumPy refuses these even if another length is 0 */
    }
    *bytes = empty ? 0 : n;
    return 0;
}
/* An array whose axes lie in memory in another order. */
static RARE Array *fresh_turned(const Out *o, const int64_t *env, void *data)
{
    Ssize dims[MAX_DIMS], steps[MAX_DIMS], step = o->item;
    for (int k = o->nd - 1; k >= 0; k--) {
        const Ssize n = (Ssize)env[o->env + k];
        dims[o->order[k]] = n, steps[o->order[k]] = step;
        step *= n ? n : 1;
    }
    return (Array *)Array_New(ArrayType, o->descr, o->nd, dims, steps, data, data ? ALIGNED | WRITEABLE : 0, NULL);
}
static inline __attribute__((always_inline)) Array *fresh_as(int turned, Fn *f, int i, const int64_t *env, tg_status *st)
{
    const Out *o = &f->out[i];
    Ssize *dims = (Ssize *)env + o->env;
    size_t bytes;
    if (check_lengths(f, i, env, &bytes, st)) return NULL;
    Obj *buffer = NULL;
    void *data = NULL;
    if (bytes >= pool.smallest) {
        if (!(buffer = new_buffer(bytes))) {
            PyErr_Clear(); /* `fail` says it better */
            tg_fail(st, TG_NOMEM, -1, (int64_t)bytes, i, -1, 0);
            return NULL;
        }
        data = ((Buffer *)buffer)->data;
    }
    Py_IncRef(&o->descr->ob);
    Array *x = turned ? fresh_turned(o, env, data)
                      : (Array *)Array_New(ArrayType, o->descr, o->nd, dims, NULL, data, data ? CARRAY : 0, NULL);
    if (x && buffer && Array_SetBase(x, buffer)) {
        Py_DecRef(&x->ob);
        return NULL;
    }
    if (!x) drop(buffer);
    return x;
}
/* Two functions, as the one that most results need keeps fewer registers: 5 ns of a call of 100. */
static __attribute__((noinline)) Array *fresh_in_c_order(Fn *f, int i, const int64_t *env, tg_status *st)
{
    return fresh_as(0, f, i, env, st);
}
static __attribute__((noinline)) Array *fresh_in_order(Fn *f, int i, const int64_t *env, tg_status *st)
{
    return fresh_as(1, f, i, env, st);
}
static inline __attribute__((always_inline)) Array *fresh(Fn *f, int i, const int64_t *env, tg_status *st)
{
    return __builtin_expect(f->out[i].turned, 0) ? fresh_in_order(f, i, env, st) : fresh_in_c_order(f, i, env, st);
}
static int has_lengths(const Array *x, const Out *o, const int64_t *env)
{
    if (x->nd != o->nd || !same_dtype(x->descr, o->descr)) return 0;
    for (int k = 0; k < o->nd; k++)
        if (x->dims[k] != env[o->env + k]) return 0;
    return 1;
}
/* Storage for the new value of a cell: its own if nobody else sees it, its former one, or new memory. */
static Array *storage_for_cell(Fn *f, int i, const int64_t *env, tg_status *st)
{
    const Out *o = &f->out[i];
    Cell *cell = f->cell[o->cell];
    Array *value = (Array *)cell->value, *spare = (Array *)cell->spare;
    if (o->mode != FRESH && alone(value) && has_lengths(value, o, env)) {
        cell->in_place = 1;
        return (Array *)new_ref(&value->ob);
    }
    Array *x;
    if (spare && alone(spare) && has_lengths(spare, o, env)) {
        x = spare;
        cell->spare = NULL;
    } else if (!(x = fresh(f, i, env, st))) return NULL;
    if (o->mode == ACCUMULATE && Array_CopyInto(x, value)) {
        Py_DecRef(&x->ob);
        return NULL;
    }
    return x;
}
/* The storage of a dead intermediate result, if it is its own and has the right shape. */
static RARE Array *donated(const Out *o, Obj *donor, const int64_t *env)
{
    Array *x = (Array *)donor;
    if (donor->type != ArrayType || (x->flags & CARRAY) != CARRAY || !has_lengths(x, o, env)) return NULL;
    if (x->base ? x->base->type != BufferType : !(x->flags & OWNDATA)) return NULL;
    return (Array *)new_ref(donor);
}
static int make_outputs(Fn *f, Obj *const *args, char **buf, const int64_t *env, Call *c, tg_status *st)
{
    char **to = buf + f->inputs + f->cells + f->consts;
    for (int i = 0; i < f->outs; i++) {
        const Out *o = &f->out[i];
        Obj *x = NULL;
        if (o->scalar) {
            if (!(x = o->make_scalar(o->descr->scalar, 0))) return -1;
            c->result[c->result_count++] = x;
            *to++ = SCALAR_VALUE(x);
            continue;
        }
        if (o->cell >= 0) x = (Obj *)storage_for_cell(f, i, env, st);
        else if (o->donor < 0 || !(x = (Obj *)donated(o, args[o->donor], env))) x = (Obj *)fresh(f, i, env, st);
        if (!x) return -1;
        c->result[c->result_count++] = x;
        *to++ = ((Array *)x)->data;
    }
    return 0;
}

/* ---- workspaces: one block per call, kept for the next one unless it is big (then the pool keeps it) ---- */
static int make_spaces(Fn *f, char **buf, const int64_t *env, Call *c, tg_status *st)
{
    char **to = buf + f->inputs + f->cells + f->consts + f->outs;
    size_t total = 0;
    int most = 0; /* the largest is named if there is no room */
    for (int i = 0; i < f->spaces; i++) {
        int64_t bytes = env[f->space_env + i];
        if (bytes > env[f->space_env + most]) most = i;
        if (bytes < 0 || __builtin_add_overflow(total, ((size_t)bytes + 63) & ~(size_t)63, &total))
            return tg_fail(st, TG_NOMEM, -1, INT64_MAX, -1, i, 0);
    }
    if (!total) { /* nothing needs room in this call: no pointer is read through */
        for (int i = 0; i < f->spaces; i++) *to++ = (char *)c;
        return 0;
    }
    total += 64;
    if (total >= pool.smallest) {
        if (!(c->space = pool_get(total, &c->space_size))) return tg_fail(st, TG_NOMEM, -1, (int64_t)total, -1, most, 0);
    } else if (f->arena_user != epoch) {
        if (f->arena_size < total) {
            PyMem_Free(f->arena);
            f->arena_size = 0;
            if (!(f->arena = PyMem_Malloc(total))) return tg_fail(st, TG_NOMEM, -1, (int64_t)total, -1, most, 0);
            f->arena_size = total;
        }
        f->arena_user = epoch;
        c->space = f->arena;
    } else if (!(c->space = PyMem_Malloc(total))) return tg_fail(st, TG_NOMEM, -1, (int64_t)total, -1, most, 0);
    char *at = (char *)(((uintptr_t)c->space + 63) & ~(uintptr_t)63);
    for (int i = 0; i < f->spaces; i++) {
        *to++ = at;
        at += (env[f->space_env + i] + 63) & ~63ll;
    }
    return 0;
}
static void free_space(Fn *f, Call *c)
{
    if (!c->space) return;
    if (c->space_size) pool_put(c->space, c->space_size);
    else if (c->space == f->arena) f->arena_user = 0;
    else PyMem_Free(c->space);
}

/* ---- the end of a call ---- */
static void commit_cells(Fn *f, Call *c)
{
    for (int i = f->returned; i < f->outs; i++) { /* pointers only: nothing here can fail or run Python code */
        Cell *cell = f->cell[f->out[i].cell];
        if (c->result[i] == cell->value) continue;
        Obj *old = swap_value(cell, c->result[i]);
        c->result[i] = cell->spare;
        cell->spare = old;
    }
    for (int i = f->returned; i < f->outs; i++) {
        Cell *cell = f->cell[f->out[i].cell];
        drop(c->result[i]);
        if (!cell->spare || (f->out[i].mode == FRESH && only_ref(cell->spare))) continue;
        Obj *seen = cell->spare; /* somebody looks at the old value, or it is of no use for the next call */
        cell->spare = NULL;
        Py_DecRef(seen);
    }
    c->result_count = f->returned;
}
static Obj *hand_over(Fn *f, Call *c, Obj *box)
{
    if (f->as == AS_NONE) return new_ref(None);
    for (int i = 0; i < f->returned; i++) {
        if (!f->out[i].scalar || f->out[i].descr->number != T_BOOL) continue;
        Obj *truth = Array_Scalar(SCALAR_VALUE(c->result[i]), f->out[i].descr, NULL); /* np.True_ and np.False_ */
        if (!truth) return NULL;
        Py_DecRef(c->result[i]);
        c->result[i] = truth;
    }
    if (f->as == AS_ONE) return c->result_count = 0, c->result[0];
    for (int i = 0; i < f->returned; i++) {
        if (f->as == AS_LIST) PyList_SetItem(box, i, c->result[i]);
        else PyTuple_SetItem(box, i, c->result[i]);
    }
    c->result_count = 0;
    if (f->as == AS_WRAPPED) return PyObject_CallFunction(f->wrap, "(O)", box);
    return new_ref(box);
}
static RARE void report(Fn *f, tg_status *st)
{
    if (PyErr_Occurred()) return;
    drop(PyObject_CallFunction(f->fail, "LLLLLL", st->code, st->op, st->v[0], st->v[1], st->v[2], st->v[3]));
    if (!PyErr_Occurred()) PyErr_Format(PyExc_RuntimeError, "%U() failed with code %d", f->name, (int)st->code);
}
static int run_program(Fn *f, char **buf, const int64_t *env, tg_status *st)
{
    Who who = {NULL, pthread_self(), 0, f->name, NULL};
    int failed;
    st->poll = poll_signals;
    st->who = &who;
    if (env[f->work_env] < long_work) failed = f->run(buf, env, st);
    else {
        who.thread_state = PyEval_SaveThread();
        failed = f->run(buf, env, st);
        PyEval_RestoreThread(who.thread_state);
    }
    if (who.shown && end_steps(&who)) st->stop = 1;
    return failed;
}

/* A call that is answered by a method: `_with_subset` calls again for all outputs and picks some, `_with_layout` calls a
   program for arguments in another order. */
static RARE Obj *call_method(Obj *self, const char *name, Obj *const *args, size_t flagged, Obj *keywords)
{
    Obj *method = PyObject_GetAttrString(self, name);
    if (!method) return NULL;
    Obj *answer = PyObject_Vectorcall(method, args, flagged, keywords);
    Py_DecRef(method);
    return answer;
}

static Obj *call(Obj *self, Obj *const *args, size_t flagged, Obj *keywords)
{
    Fn *f = (Fn *)self;
    Ssize count = (Ssize)(flagged & ~VECTORCALL_OFFSET);
    int buffers = f->inputs + f->cells + f->consts + f->outs + f->spaces;
    size_t words = (size_t)buffers + f->env_size + 5 * f->inputs + f->cells + f->outs;
    char room[ROOM_ON_STACK] __attribute__((aligned(16)));
    char *block = words * 8 <= sizeof room ? room : PyMem_Malloc(words * 8);
    if (!block) return PyErr_NoMemory();

    char *scratch = block, **buf = (char **)(scratch + 16 * f->inputs);
    int64_t *env = (int64_t *)(buf + buffers);
    Obj **all = (Obj **)(env + f->env_size), *box = NULL, *answer = NULL, *const *given = args;
    Call c = {.held = all + f->inputs};
    c.result = c.held + 2 * f->inputs + f->cells; /* of an argument a default and what it was converted to */
    tg_status st; /* field by field: for `= {0}` gcc takes `rep stos`, which needs forty cycles to begin */
    st.code = st.op = st.v[0] = st.v[1] = st.v[2] = st.v[3] = st.loop = st.step = st.steps = 0;
    st.poll = NULL, st.timers = NULL, st.who = NULL, st.stop = 0;
    if (f->timers != None) st.timers = (int64_t *)((Array *)f->timers)->data;

    if (keywords || count != f->inputs) {
        int failed = sort_arguments(f, args, count, keywords, all, &c);
        if (failed == ASKS_SUBSET) answer = call_method(self, "_with_subset", args, flagged, keywords);
        if (failed) goto done;
        args = all;
    }
    for (int i = 0; i < f->inputs; i++)
        if (take_argument(f, i, args[i], buf, env, scratch + 16 * i, &c)) goto done;
    if (f->cells && take_cells(f, buf, env, &c, &st)) goto failed;
    for (int i = 0; i < f->consts; i++) buf[f->inputs + f->cells + i] = f->constant[i]->data;
    env[f->work_env] = 0; /* a plan that says nothing about the work means little work */
    if (f->plan(env, buf, &st)) goto failed;
    if (make_outputs(f, args, buf, env, &c, &st)) goto failed;
    if (f->spaces && make_spaces(f, buf, env, &c, &st)) goto failed;
    if (f->as == AS_LIST && !(box = PyList_New(f->returned))) goto done;
    if ((f->as == AS_TUPLE || f->as == AS_WRAPPED) && !(box = PyTuple_New(f->returned))) goto done;
    if (run_program(f, buf, env, &st) || st.code) goto failed;
    commit_cells(f, &c);
    if (c.owned) release_cells(f->cell, f->written), c.owned = 0;
    f->calls++;
    if (st.stop && PyErr_Occurred()) goto done; /* interrupted, but it has finished: its updates count */
    answer = hand_over(f, &c, box);
    goto done;

failed:
    if (c.owned) release_cells(f->cell, f->written), c.owned = 0;
    if (st.code == TG_LAYOUT) answer = call_method(self, "_with_layout", given, flagged, keywords);
    else report(f, &st);
done:
    if (c.owned) release_cells(f->cell, f->written);
    free_space(f, &c);
    for (int i = 0; i < c.result_count; i++) drop(c.result[i]);
    for (int i = 0; i < c.held_count; i++) Py_DecRef(c.held[i]);
    drop(box);
    if (block != room) PyMem_Free(block);
    return answer;
}

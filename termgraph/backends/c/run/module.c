/* Construction of the callable and the extension module `_glue`; glue.c stands in front. Nothing here runs in a call. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O0") /* the first function on a machine waits for this file to be compiled */
#endif
#include <stdlib.h>

static Port *new_port(Obj *tuple) /* (name, dtype, lengths, env, shift, accept, has a default, default) */
{
    Obj *name, *descr, *lengths, *has_default, *dflt;
    int env, shift, accept;
    if (!PyArg_ParseTuple(tuple, "OOOiiiOO", &name, &descr, &lengths, &env, &shift, &accept, &has_default, &dflt)) return NULL;
    Ssize nd = PyTuple_Size(lengths);
    if (nd < 0 || nd > MAX_DIMS) return NULL;
    Port *p = PyMem_Malloc(sizeof(Port) + (size_t)nd * sizeof(Ssize));
    if (!p) return (Port *)PyErr_NoMemory();
    p->descr = (Descr *)new_ref(descr);
    p->name = new_ref(name);
    p->dflt = has_default == &_Py_TrueStruct ? new_ref(dflt) : NULL;
    p->nd = (int)nd, p->env = env, p->shift = shift, p->accept = accept;
    for (Ssize k = 0; k < nd; k++) p->fixed[k] = (Ssize)PyLong_AsLongLong(PyTuple_GetItem(lengths, k));
    return p;
}
static int fill_out(Out *o, Obj *tuple) /* (dtype, rank, env, scalar, cell, mode, donor, item size, order or None) */
{
    Obj *descr;
    const char *order = NULL;
    if (!PyArg_ParseTuple(tuple, "Oiiiiiinz", &descr, &o->nd, &o->env, &o->scalar, &o->cell, &o->mode, &o->donor, &o->item, &order))
        return -1;
    o->turned = order != NULL;
    for (int k = 0; order && k < o->nd; k++) o->order[k] = order[k] - '0';
    o->descr = (Descr *)new_ref(descr);
    o->make_scalar = (Obj * (*)(Type *, Ssize)) PyType_GetSlot(o->descr->scalar, TP_ALLOC);
    return o->make_scalar ? 0 : -1;
}
static void *zeroed(size_t count, size_t size)
{
    void *p = PyMem_Malloc(count * size + 1);
    if (p) memset(p, 0, count * size + 1);
    else PyErr_NoMemory();
    return p;
}

static int fill_tables(Fn *f, Obj *ports, Obj *cells, Obj *consts, Obj *outs)
{
    int port_count = f->inputs + f->cells;
    if (!(f->port = zeroed((size_t)port_count, sizeof(Port *))) || !(f->out = zeroed((size_t)f->outs, sizeof(Out))) ||
        !(f->cell = zeroed((size_t)f->cells, sizeof(Cell *))) || !(f->constant = zeroed((size_t)f->consts, sizeof(Array *))))
        return -1;
    for (int i = 0; i < port_count; i++)
        if (!(f->port[i] = new_port(PyTuple_GetItem(ports, i)))) return -1;
    for (int i = 0; i < f->cells; i++) {
        Cell *c = (Cell *)PyTuple_GetItem(cells, i);
        if (c->ob.type != CellType || !c->value) {
            PyErr_SetString(PyExc_TypeError, "expected cells that have a value");
            return -1;
        }
        f->cell[i] = (Cell *)new_ref(&c->ob);
    }
    for (int i = 0; i < f->consts; i++) {
        Obj *x = PyTuple_GetItem(consts, i);
        if (x->type != ArrayType || !(((Array *)x)->flags & C_CONTIGUOUS)) {
            PyErr_SetString(PyExc_TypeError, "constants are C-contiguous arrays");
            return -1;
        }
        f->constant[i] = (Array *)new_ref(x);
    }
    for (int i = 0; i < f->outs; i++)
        if (fill_out(&f->out[i], PyTuple_GetItem(outs, i))) return -1;
    return 0;
}

/* Callable(name, names, plan, run, ports, cells, consts, outs, numbers, filter, fail, wrap, keep); see glue.py. */
static int fn_init(Obj *self, Obj *args, Obj *keywords)
{
    Fn *f = (Fn *)self;
    Obj *name, *names, *plan, *run, *ports, *cells, *consts, *outs, *numbers, *filter, *fail, *wrap, *keep;
    if (f->port) {
        PyErr_SetString(PyExc_RuntimeError, "a compiled function cannot be initialised twice");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOO", &name, &names, &plan, &run, &ports, &cells, &consts, &outs, &numbers, &filter,
                          &fail, &wrap, &keep))
        return -1;
    if (!PyArg_ParseTuple(numbers, "iiiiiiii", &f->as, &f->inputs, &f->returned, &f->written, &f->spaces, &f->env_size, &f->space_env,
                          &f->work_env))
        return -1;
    f->cells = (int)PyTuple_Size(cells), f->consts = (int)PyTuple_Size(consts), f->outs = (int)PyTuple_Size(outs);
    f->name = new_ref(name), f->names = new_ref(names), f->keep = new_ref(keep), f->timers = new_ref(None);
    f->filter = new_ref(filter), f->fail = new_ref(fail), f->wrap = new_ref(wrap);
    if (fill_tables(f, ports, cells, consts, outs)) return -1;
    f->plan = (int (*)(int64_t *, char *const *, tg_status *))PyLong_AsVoidPtr(plan);
    f->run = (int (*)(char **, const int64_t *, tg_status *))PyLong_AsVoidPtr(run);
    if (PyErr_Occurred()) return -1;
    f->vectorcall = call;
    return 0;
}

/* ---- life of the callable; it can be part of a reference cycle through its Python functions ---- */
#define EACH_OBJECT(DO)                                                                                              \
    DO(f->names) DO(f->name) DO(f->filter) DO(f->fail) DO(f->wrap) DO(f->keep) DO(f->timers)

static int fn_traverse(Obj *self, Visit visit, void *arg)
{
    Fn *f = (Fn *)self;
    int stop = visit((Obj *)self->type, arg);
#define VISIT(o) if (!stop && (o)) stop = visit((Obj *)(o), arg);
    EACH_OBJECT(VISIT)
    for (int i = 0; i < f->inputs + f->cells && f->port && f->port[i]; i++) VISIT(f->port[i]->dflt)
    return stop;
}
static int fn_clear(Obj *self)
{
    Fn *f = (Fn *)self;
    f->vectorcall = NULL; /* a call now raises instead of meeting what is gone */
#define CLEAR(o) { Obj *old = (Obj *)(o); (o) = NULL; drop(old); }
    EACH_OBJECT(CLEAR)
    for (int i = 0; i < f->inputs + f->cells && f->port && f->port[i]; i++) CLEAR(f->port[i]->dflt)
    return 0;
}
static void free_tables(Fn *f)
{
    for (int i = 0; f->port && i < f->inputs + f->cells && f->port[i]; i++) {
        drop(f->port[i]->name), drop(&f->port[i]->descr->ob);
        PyMem_Free(f->port[i]);
    }
    for (int i = 0; f->out && i < f->outs && f->out[i].descr; i++) drop(&f->out[i].descr->ob);
    for (int i = 0; f->cell && i < f->cells && f->cell[i]; i++) drop(&f->cell[i]->ob);
    for (int i = 0; f->constant && i < f->consts && f->constant[i]; i++) drop(&f->constant[i]->ob);
    PyMem_Free(f->port), PyMem_Free(f->out), PyMem_Free(f->cell), PyMem_Free(f->constant), PyMem_Free(f->arena);
}
static void fn_dealloc(Obj *self)
{
    Type *type = self->type;
    PyObject_GC_UnTrack(self);
    fn_clear(self);
    free_tables((Fn *)self);
    ((void (*)(Obj *))PyType_GetSlot(type, TP_FREE))(self);
    Py_DecRef((Obj *)type);
}

static Obj *get_timers(Obj *self, void *unused) { return new_ref(((Fn *)self)->timers ? ((Fn *)self)->timers : None); }
static int set_timers(Obj *self, Obj *value, void *unused)
{
    Fn *f = (Fn *)self;
    Array *x = (Array *)value;
    if (!value || (value != None && (x->ob.type != ArrayType || x->descr->number != T_INT64 || !(x->flags & C_CONTIGUOUS)))) {
        PyErr_SetString(PyExc_TypeError, "timers is None or a contiguous int64 array as long as the program asks for");
        return -1;
    }
    Obj *old = f->timers;
    f->timers = new_ref(value);
    drop(old);
    return 0;
}
static Obj *get_defaults(Obj *self, void *unused)
{
    Fn *f = (Fn *)self;
    Obj *tuple = PyTuple_New(f->inputs);
    for (int i = 0; tuple && i < f->inputs; i++) PyTuple_SetItem(tuple, i, new_ref(f->port[i]->dflt ? f->port[i]->dflt : None));
    return tuple;
}
static int set_defaults(Obj *self, Obj *value, void *unused) /* only of arguments that have one */
{
    Fn *f = (Fn *)self;
    if (!value || PyTuple_Size(value) != f->inputs) {
        PyErr_SetString(PyExc_TypeError, "argument_defaults is a tuple with one value per argument");
        return -1;
    }
    for (int i = 0; i < f->inputs; i++) {
        Obj *old = f->port[i]->dflt;
        if (!old) continue;
        f->port[i]->dflt = new_ref(PyTuple_GetItem(value, i));
        drop(old);
    }
    return 0;
}
static Obj *get_cells(Obj *self, void *unused)
{
    Fn *f = (Fn *)self;
    Obj *tuple = PyTuple_New(f->cells);
    for (int i = 0; tuple && i < f->cells; i++) PyTuple_SetItem(tuple, i, new_ref(&f->cell[i]->ob));
    return tuple;
}
static GetSet fn_getset[] = {
    {"timers", get_timers, set_timers, "int64 array that the program adds its timings to, or None."},
    {"argument_defaults", get_defaults, set_defaults, "What arguments are that a call leaves out; None for those that it cannot."},
    {"cells", get_cells, NULL, "The cells it uses: first those it updates."},
    {0}};
static Member fn_members[] = {
    {"__vectorcalloffset__", KIND_SSIZE, offsetof(Fn, vectorcall), READ_ONLY, NULL},
    {"calls", KIND_LONGLONG, offsetof(Fn, calls), 0, "How many calls have succeeded."},
    {"library", KIND_OBJECT, offsetof(Fn, keep), READ_ONLY, "The library that holds its code."},
    {0}};
static Slot fn_slots[] = {{TP_CALL, PyVectorcall_Call}, {TP_INIT, fn_init}, {TP_NEW, PyType_GenericNew},
                          {TP_TRAVERSE, fn_traverse}, {TP_CLEAR, fn_clear}, {TP_DEALLOC, fn_dealloc},
                          {TP_MEMBERS, fn_members}, {TP_GETSET, fn_getset},
                          {TP_DOC, "A compiled program; make one with termgraph.backends.c.run.glue.bind()."}, {0, 0}};
static Spec fn_spec = {"termgraph.Callable", sizeof(Fn), 0, DEFAULT_FLAGS | BASETYPE | VECTORCALL | HAVE_GC, fn_slots};

/* ---- functions of the module ---- */
/* A Python subclass that leaves __call__ alone may be called as fast as its base. CPython does this itself from 3.12 on;
   before, the flag has to be set by hand, where the type object is laid out as expected. */
static Obj *allow_vectorcall(Obj *module, Obj *type)
{
    enum { FLAGS_AT = 168 };
    unsigned long *flags = (unsigned long *)((char *)type + FLAGS_AT);
    if (*flags == PyType_GetFlags((Type *)type) && PyType_GetSlot((Type *)type, TP_CALL) == (void *)PyVectorcall_Call)
        *flags |= VECTORCALL;
    return new_ref(None);
}
static Obj *configure(Obj *module, Obj *args)
{
    long long limit, smallest, work, looks = -1;
    if (!PyArg_ParseTuple(args, "LLL|L", &limit, &smallest, &work, &looks)) return NULL;
    pthread_mutex_lock(&pool.mutex);
    if (limit >= 0) pool.limit = (size_t)limit;
    if (smallest >= 0) pool.smallest = (size_t)smallest;
    pthread_mutex_unlock(&pool.mutex);
    if (work >= 0) long_work = work;
    if (looks >= 0) patience = looks;
    pool_trim(0);
    return new_ref(None);
}
static Obj *watch(Obj *module, Obj *type)
{
    drop(steps_type);
    steps_type = new_ref(type);
    return new_ref(None);
}
static Obj *pool_state(Obj *module, Obj *unused)
{
    return Py_BuildValue("{s:n,s:i,s:n,s:n,s:L,s:L,s:L}", "held", (Ssize)pool.held, "free", pool.count, "limit",
                         (Ssize)pool.limit, "smallest", (Ssize)pool.smallest, "hits", (long long)pool.hits, "misses",
                         (long long)pool.misses, "trimmed", (long long)pool.trimmed);
}
static Obj *empty_pool(Obj *module, Obj *unused)
{
    pool_empty();
    return new_ref(None);
}
static Obj *set_threads(Obj *module, Obj *count)
{
    long long n = PyLong_AsLongLong(count);
    if (PyErr_Occurred()) return NULL;
    void *thread = PyEval_SaveThread(); /* another thread's job may have to end first */
    tg_set_threads(n);
    PyEval_RestoreThread(thread);
    return new_ref(None);
}
static Obj *get_runtime(Obj *module, Obj *unused) { return PyLong_FromVoidPtr(&runtime); }

/* Do NumPy and Python lay their objects out as declared in python.h? Asked with objects whose content is known:
   np.arange(6, dtype="f4").reshape(2, 3).T, np.float64(1.5), np.bool_(True). */
static int layout_is_right(const Array *x, Obj *number, Obj *truth)
{
    Obj *tuple = PyTuple_New(1);
    int counted = tuple && only_ref(tuple);
    drop(tuple);
    return counted && x->ob.type == ArrayType && x->nd == 2 && x->dims[0] == 3 && x->dims[1] == 2 && x->strides[0] == 4 &&
           x->strides[1] == 12 && ((float *)x->data)[5] == 5 && x->base && !(x->flags & (C_CONTIGUOUS | OWNDATA)) &&
           (x->flags & (ALIGNED | WRITEABLE)) == (ALIGNED | WRITEABLE) && x->descr->number == T_FLOAT32 &&
           x->descr->byteorder == '=' && x->descr->kind == 'f' && *(double *)SCALAR_VALUE(number) == 1.5 &&
           *SCALAR_VALUE(truth) == 1;
}
static Obj *start(Obj *module, Obj *args)
{
    Obj *capsule, *array, *number, *truth;
    if (!PyArg_ParseTuple(args, "OOOO", &capsule, &array, &number, &truth)) return NULL;
    if (!(numpy = PyCapsule_GetPointer(capsule, NULL))) return NULL;
    if (layout_is_right((Array *)array, number, truth)) return new_ref(None);
    PyErr_SetString(PyExc_RuntimeError, "this Python or NumPy lays out its objects differently");
    return NULL;
}

static Method methods[] = {
    {"start", start, METH_VARARGS, "start(array API, three samples): connect to NumPy."},
    {"allow_vectorcall", allow_vectorcall, METH_O, "Make a subclass of Callable as fast to call as Callable."},
    {"configure", configure, METH_VARARGS,
     "configure(pool limit, smallest pooled size, long work in ns, ns between looks at signals and steps); -1 keeps."},
    {"watch", watch, METH_O, "watch(type): what shows the steps of loops; called with the name of a function."},
    {"pool_state", pool_state, METH_NOARGS, "What the pool holds, as a dict."},
    {"empty_pool", empty_pool, METH_NOARGS, "Give all free buffers back to the system."},
    {"set_threads", set_threads, METH_O, "Size of the team of threads."},
    {"runtime", get_runtime, METH_NOARGS, "Address of the tg_runtime table."},
    {"own", own, METH_O, "own(cells): keep other threads from changing them; all or none."},
    {"disown", disown, METH_O, "disown(cells): the end of own()."},
    {"files", listed_files, METH_VARARGS, "files(folder, inside): its sources, as _installed names them, and its folders."},
    {"commit", commit, METH_VARARGS, "commit(cells, arrays): give owned cells new values, all at once."},
    {0}};
static Module definition = {.base = {1, NULL}, .name = "_glue", .size = -1, .methods = methods};

static void in_child(void)
{
    pool_in_child();
    cells_in_child();
}
static Type *add_type(Obj *module, Spec *spec, const char *name)
{
    Obj *type = PyType_FromSpec(spec);
    if (!type || PyModule_AddObject(module, name, new_ref(type))) return NULL;
    return (Type *)type;
}
/* Routines ask malloc for room in each call and free it again. glibc gives what is large, or the end of the heap, back to
   the system each time and gets fresh pages for the next call, until it has seen a large block freed: then it keeps
   blocks of that size. It sees one here; a process in which a program was compiled, or a large array dropped, has. */
static void keep_room(void)
{
    void *volatile block = malloc((size_t)16 << 20);
    free(block);
}
TG_EXPORT Obj *PyInit__glue(void);
TG_EXPORT Obj *PyInit__glue(void)
{
    enum { STABLE_ABI = 3 };
    Obj *module = PyModule_Create2(&definition, STABLE_ABI);
    if (!module) return NULL;
    keep_room();
    BufferType = add_type(module, &buffer_spec, "Buffer");
    CellType = add_type(module, &cell_spec, "Cell");
    FnType = add_type(module, &fn_spec, "Callable");
    if (!BufferType || !CellType || !FnType || pthread_atfork(pool_before_fork, pool_in_parent, in_child)) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        return NULL;
    }
    return module;
}

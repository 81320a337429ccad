/* Buffers from the pool as owners of arrays, and cells: the storage of shared variables.

   A cell is changed by one thread at a time. A program owns it from before it reads the cell's pointer until it has
   committed, also while it runs without the GIL. Whoever only reads takes a reference to the value instead, so that a
   writer sees it is not alone and leaves those numbers as they are. All fields are guarded by the GIL. To Python a cell
   is also a list of one element and a re-entrant lock, so it can stand in for the storage and lock of a container. */
#include <errno.h>
#include <stddef.h>

/* ---- owners of pool memory ---- */
typedef struct {
    Obj ob;
    void *data;
    size_t capacity;
} Buffer;
static Type *BufferType;

static RARE void buffer_dealloc(Obj *self)
{
    Buffer *b = (Buffer *)self;
    Type *type = self->type;
    if (b->data) pool_put(b->data, b->capacity);
    ((void (*)(Obj *))PyType_GetSlot(type, TP_FREE))(self);
    Py_DecRef((Obj *)type);
}
static Slot buffer_slots[] = {{TP_DEALLOC, buffer_dealloc}, {TP_DOC, "Memory from the pool; it goes back with the last array."}, {0, 0}};
static Spec buffer_spec = {"termgraph.Buffer", sizeof(Buffer), 0, DEFAULT_FLAGS, buffer_slots};

static Obj *new_buffer(size_t bytes)
{
    Buffer *b = (Buffer *)PyType_GenericAlloc(BufferType, 0);
    if (b && !(b->data = pool_get(bytes, &b->capacity))) {
        Py_DecRef((Obj *)b);
        return PyErr_NoMemory();
    }
    return (Obj *)b;
}

/* Nobody else can see these numbers: one reference, and the memory belongs to this array alone. */
static int alone(const Array *x)
{
    if (!only_ref(&x->ob) || (x->flags & CARRAY) != CARRAY) return 0;
    return x->base ? x->base->type == BufferType && only_ref(x->base) : (x->flags & OWNDATA) != 0;
}

/* ---- waiting for a cell ---- */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    uint64_t moves;
    int waiting; /* guarded by the GIL, like the cells */
} gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
static int64_t epoch = 1; /* counts forks: owners of an earlier epoch are threads that do not exist here */

typedef struct {
    Obj ob;
    Obj *value, *spare;
    void *owner; /* the thread that may change it, or NULL */
    int64_t epoch;
    int depth;    /* how many times the owner has taken it */
    int running;  /* a program of the owner is running on it */
    int in_place; /* and writes into the value itself */
} Cell;
static Type *CellType;

static void *me(void) { return (void *)pthread_self(); }
static int owned(const Cell *c) { return c->owner && c->epoch == epoch; }
static int mine(const Cell *c) { return owned(c) && c->owner == me(); }

/* Called with the GIL; lets others run until some cell was released or 50 ms have passed. Nonzero: exception set. */
static RARE int wait_for_release(void)
{
    struct timespec until;
    uint64_t seen = gate.moves;
    gate.waiting++;
    void *thread = PyEval_SaveThread();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&gate.mutex);
    while (gate.moves == seen && pthread_cond_timedwait(&gate.moved, &gate.mutex, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&gate.mutex);
    PyEval_RestoreThread(thread);
    gate.waiting--;
    return PyErr_CheckSignals();
}
static RARE int refuse_own(void)
{
    PyErr_SetString(PyExc_RuntimeError, "a function that updates this shared variable is running in this very thread; "
                                        "a signal handler or callback cannot use the variable until it has finished");
    return -1;
}
static int wait_for_owner(const Cell *c) { return c->owner == me() ? refuse_own() : wait_for_release(); }

static void release_cells(Cell **cells, int count)
{
    for (int i = 0; i < count; i++) {
        Cell *c = cells[i];
        if (!mine(c)) continue;
        c->running = c->in_place = 0;
        if (--c->depth == 0) c->owner = NULL;
    }
    if (!gate.waiting) return;
    pthread_mutex_lock(&gate.mutex);
    gate.moves++;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.mutex);
}

/* Take all cells or none, so that nobody holds one while waiting for another. */
static int own_cells(Cell **cells, int count, int running)
{
    for (int i = 0; i < count; i++) {
        if (!owned(cells[i]) || (mine(cells[i]) && !cells[i]->running)) continue;
        if (wait_for_owner(cells[i])) return -1;
        i = -1; /* anything may have happened meanwhile: look at all of them again */
    }
    for (int i = 0; i < count; i++) {
        Cell *c = cells[i];
        if (!mine(c)) c->owner = me(), c->epoch = epoch, c->depth = 0;
        c->depth++;
        c->running = running, c->in_place = 0;
    }
    return 0;
}

/* Give a cell a value that it takes over; returns what it held, to be dropped when all cells are done. */
static Obj *swap_value(Cell *c, Obj *value)
{
    Obj *old = c->value;
    c->value = value;
    return old;
}

/* ---- the type ---- */
static RARE Obj *cell_get(Obj *self, void *unused)
{
    Cell *c = (Cell *)self;
    while (owned(c) && c->in_place)
        if (wait_for_owner(c)) return NULL;
    if (c->value) return new_ref(c->value);
    PyErr_SetString(PyExc_ValueError, "this cell has no value yet");
    return NULL;
}
static RARE int cell_set(Obj *self, Obj *value, void *unused)
{
    Cell *c = (Cell *)self;
    if (!value || value->type != ArrayType) {
        PyErr_SetString(PyExc_TypeError, "the value of a cell is a numpy.ndarray");
        return -1;
    }
    while (owned(c) && !(mine(c) && !c->running))
        if (wait_for_owner(c)) return -1;
    Obj *old = swap_value(c, new_ref(value)), *spare = c->spare;
    c->spare = NULL;
    drop(old);
    drop(spare);
    return 0;
}
static RARE int cell_init(Obj *self, Obj *args, Obj *keywords)
{
    Obj *value;
    if (!PyArg_ParseTuple(args, "O", &value)) return -1;
    return cell_set(self, value, NULL);
}
static RARE void cell_dealloc(Obj *self)
{
    Cell *c = (Cell *)self;
    Type *type = self->type;
    drop(c->value);
    drop(c->spare);
    ((void (*)(Obj *))PyType_GetSlot(type, TP_FREE))(self);
    Py_DecRef((Obj *)type);
}
/* As a list of one element. */
static Ssize cell_length(Obj *self) { return 1; }
static RARE Obj *cell_item(Obj *self, Ssize i)
{
    if (i == 0) return cell_get(self, NULL);
    PyErr_SetString(PyExc_IndexError, "a cell has one element");
    return NULL;
}
static RARE int cell_set_item(Obj *self, Ssize i, Obj *value)
{
    if (i == 0) return cell_set(self, value, NULL);
    PyErr_SetString(PyExc_IndexError, "a cell has one element");
    return -1;
}
/* As a re-entrant lock. */
static RARE Obj *cell_enter(Obj *self, Obj *unused)
{
    Cell *c = (Cell *)self;
    return own_cells(&c, 1, 0) ? NULL : new_ref(self);
}
static RARE Obj *cell_exit(Obj *self, Obj *unused)
{
    Cell *c = (Cell *)self;
    release_cells(&c, 1);
    return new_ref(None);
}
static Method cell_methods[] = {{"__enter__", cell_enter, METH_NOARGS, "Keep other threads from changing the value."},
                                {"__exit__", cell_exit, METH_VARARGS, "The end of __enter__()."},
                                {"acquire", cell_enter, METH_NOARGS, "Keep other threads from changing the value."},
                                {"release", cell_exit, METH_VARARGS, "The end of acquire()."},
                                {0}};
static GetSet cell_getset[] = {{"value", cell_get, cell_set, "The array. Reading and setting wait for a function that is changing it."}, {0}};
static Slot cell_slots[] = {{TP_DEALLOC, cell_dealloc}, {TP_INIT, cell_init}, {TP_NEW, PyType_GenericNew},
                            {TP_GETSET, cell_getset},
                            {TP_METHODS, cell_methods}, {SQ_LENGTH, cell_length}, {SQ_ITEM, cell_item}, {SQ_SET_ITEM, cell_set_item},
                            {TP_DOC, "Storage of a shared variable: Cell(array)."}, {0, 0}};
static Spec cell_spec = {"termgraph.Cell", sizeof(Cell), 0, DEFAULT_FLAGS, cell_slots};

/* ---- for programs that are run piece by piece from Python: own(cells), commit(cells, values), disown(cells) ---- */
static RARE int unpack_cells(Obj *tuple, Cell **cells, Ssize room)
{
    Ssize count = PyTuple_Size(tuple);
    if (count < 0 || count > room) {
        if (count > room) PyErr_SetString(PyExc_ValueError, "too many cells");
        return -1;
    }
    for (Ssize i = 0; i < count; i++) {
        cells[i] = (Cell *)PyTuple_GetItem(tuple, i);
        if (cells[i]->ob.type == CellType) continue;
        PyErr_SetString(PyExc_TypeError, "expected a tuple of cells");
        return -1;
    }
    return (int)count;
}
enum { MAX_CELLS = 4096 };

static RARE Obj *own(Obj *module, Obj *tuple)
{
    Cell *cells[MAX_CELLS];
    int count = unpack_cells(tuple, cells, MAX_CELLS);
    return count < 0 || own_cells(cells, count, 0) ? NULL : new_ref(None);
}
static RARE Obj *disown(Obj *module, Obj *tuple)
{
    Cell *cells[MAX_CELLS];
    int count = unpack_cells(tuple, cells, MAX_CELLS);
    if (count < 0) return NULL;
    release_cells(cells, count);
    return new_ref(None);
}
static RARE Obj *commit(Obj *module, Obj *args)
{
    Cell *cells[MAX_CELLS];
    Obj *tuple, *values, *old[MAX_CELLS];
    if (!PyArg_ParseTuple(args, "OO", &tuple, &values)) return NULL;
    int count = unpack_cells(tuple, cells, MAX_CELLS);
    if (count < 0 || PyTuple_Size(values) != count) {
        if (count >= 0) PyErr_SetString(PyExc_ValueError, "as many values as cells are needed");
        return NULL;
    }
    for (int i = 0; i < count; i++)
        if (PyTuple_GetItem(values, i)->type != ArrayType || !mine(cells[i])) {
            PyErr_SetString(PyExc_TypeError, "commit needs arrays, and cells that this thread owns");
            return NULL;
        }
    for (int i = 0; i < count; i++) old[i] = swap_value(cells[i], new_ref(PyTuple_GetItem(values, i)));
    for (int i = 0; i < count; i++) drop(old[i]);
    return new_ref(None);
}

static RARE void cells_in_child(void)
{
    epoch++;
    gate.waiting = 0;
    pthread_mutex_init(&gate.mutex, NULL);
    pthread_cond_init(&gate.moved, NULL);
}

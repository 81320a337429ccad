/* The part of CPython's stable ABI and of NumPy's published array layout that the glue needs, declared here, so that
   it builds on machines without Python's headers. One library serves CPython 3.11 to 3.13 (not free-threaded builds);
   `check_layout` below is asked at load time whether the machine agrees. */
#if defined(__GNUC__) && !defined(__clang__)
#define RARE __attribute__((noinline, optimize("O0"))) /* the first function on a machine waits for the compiler */
#else
#define RARE
#endif

typedef intptr_t Ssize;
typedef struct Type Type;
typedef struct Obj {
    Ssize refs;
    Type *type;
} Obj;
typedef Obj *(*Vectorcall)(Obj *, Obj *const *, size_t, Obj *);
typedef int (*Visit)(Obj *, void *);
typedef struct {
    int slot;
    void *function;
} Slot;
typedef struct {
    const char *name;
    int size, item_size;
    unsigned flags;
    Slot *slots;
} Spec;
typedef struct {
    const char *name;
    int kind;
    Ssize offset;
    int flags;
    const char *doc;
} Member;
typedef struct {
    const char *name;
    Obj *(*get)(Obj *, void *);
    int (*set)(Obj *, Obj *, void *);
    const char *doc;
    void *closure;
} GetSet;
typedef struct {
    const char *name;
    Obj *(*function)(Obj *, Obj *);
    int flags;
    const char *doc;
} Method;
typedef struct {
    Obj base;
    void *init;
    Ssize index;
    Obj *copy;
    const char *name, *doc;
    Ssize size;
    Method *methods;
    void *slots, *traverse, *clear, *free;
} Module;

enum { METH_VARARGS = 1, METH_NOARGS = 4, METH_O = 8 };
enum { KIND_SSIZE = 19, KIND_OBJECT = 6, KIND_LONGLONG = 17, READ_ONLY = 1 };
enum { SQ_SET_ITEM = 39, SQ_ITEM = 44, SQ_LENGTH = 45, TP_ALLOC = 47, TP_CALL = 50, TP_CLEAR = 51, TP_DEALLOC = 52, TP_DOC = 56, TP_INIT = 60, TP_METHODS = 64, TP_NEW = 65, TP_TRAVERSE = 71,
       TP_MEMBERS = 72, TP_GETSET = 73, TP_FREE = 74 };
enum { BASETYPE = 1 << 10, VECTORCALL = 1 << 11, HAVE_GC = 1 << 14, DEFAULT_FLAGS = 1 << 18 };
#define VECTORCALL_OFFSET ((size_t)1 << 63)

extern Type PyFloat_Type, PyLong_Type, PyBool_Type;
extern Obj *PyExc_TypeError, *PyExc_RuntimeError, *PyExc_ValueError, *PyExc_MemoryError, *PyExc_IndexError, *PyExc_OSError, _Py_NoneStruct, _Py_TrueStruct;
#define None (&_Py_NoneStruct)

void Py_IncRef(Obj *), Py_DecRef(Obj *);
void PyErr_Clear(void), PyErr_Fetch(Obj **, Obj **, Obj **), PyErr_Restore(Obj *, Obj *, Obj *), PyErr_SetString(Obj *, const char *), PyEval_RestoreThread(void *), *PyEval_SaveThread(void), *PyMem_Malloc(size_t);
void PyMem_Free(void *), PyObject_GC_UnTrack(void *), *PyType_GetSlot(Type *, int), *PyLong_AsVoidPtr(Obj *);
void *PyCapsule_GetPointer(Obj *, const char *);
int PyErr_CheckSignals(void), PyArg_ParseTuple(Obj *, const char *, ...), PyUnicode_Compare(Obj *, Obj *), PyUnicode_CompareWithASCIIString(Obj *, const char *);
int PyList_Append(Obj *, Obj *), PyList_SetItem(Obj *, Ssize, Obj *), PyTuple_SetItem(Obj *, Ssize, Obj *), PyModule_AddObject(Obj *, const char *, Obj *);
Ssize PyTuple_Size(Obj *);
long long PyLong_AsLongLong(Obj *), PyLong_AsLongLongAndOverflow(Obj *, int *);
double PyFloat_AsDouble(Obj *);
unsigned long PyType_GetFlags(Type *);
Obj *PyType_FromSpec(Spec *), *PyVectorcall_Call(Obj *, Obj *, Obj *), *PyErr_Format(Obj *, const char *, ...);
Obj *PyErr_NoMemory(void), *PyErr_SetFromErrno(Obj *), *PyUnicode_DecodeFSDefault(const char *), *PyUnicode_FromFormat(const char *, ...);
Obj *PyErr_Occurred(void), *PyList_New(Ssize), *PyTuple_New(Ssize), *PyTuple_GetItem(Obj *, Ssize);
Obj *PyObject_CallFunction(Obj *, const char *, ...), *PyObject_CallMethod(Obj *, const char *, const char *, ...);
Obj *PyType_GenericNew(Type *, Obj *, Obj *);
Obj *PyType_GenericAlloc(Type *, Ssize), *PyLong_FromVoidPtr(void *), *PyLong_FromLongLong(long long);
Obj *PyBytes_FromStringAndSize(const char *, Ssize);
Obj *PyObject_GetAttrString(Obj *, const char *), *PyObject_Vectorcall(Obj *, Obj *const *, size_t, Obj *);
Obj *Py_BuildValue(const char *, ...), *PyModule_Create2(Module *, int);

static inline Obj *new_ref(Obj *o)
{
    Py_IncRef(o);
    return o;
}
static inline void drop(Obj *o)
{
    if (o) Py_DecRef(o);
}
static inline int only_ref(const Obj *o) { return (uint32_t)o->refs == 1; }

/* ---- NumPy ---- */
typedef struct {
    Obj ob;
    Type *scalar;
    char kind, letter, byteorder, unused;
    int number;
} Descr;
typedef struct {
    Obj ob;
    char *data;
    int nd;
    Ssize *dims, *strides;
    Obj *base;
    Descr *descr;
    int flags;
} Array;
enum { C_CONTIGUOUS = 1, OWNDATA = 4, ALIGNED = 0x100, WRITEABLE = 0x400, CARRAY = C_CONTIGUOUS | ALIGNED | WRITEABLE };
enum { T_BOOL, T_INT8, T_UINT8, T_INT16, T_UINT16, T_INT32, T_UINT32, T_INT64, T_UINT64, T_LONGLONG, T_ULONGLONG,
       T_FLOAT32, T_FLOAT64, T_COMPLEX64 = 14, T_COMPLEX128 = 15 };

static void **numpy; /* NumPy's table of functions */
#define ArrayType ((Type *)numpy[2])
#define Array_CopyInto ((int (*)(Array *, Array *))numpy[50])
#define Array_Scalar ((Obj *(*)(void *, Descr *, Obj *))numpy[60])
#define Array_New ((Obj *(*)(Type *, Descr *, int, Ssize *, Ssize *, void *, int, Obj *))numpy[94])
#define Array_SetBase ((int (*)(Array *, Obj *))numpy[282])
/* The value of a NumPy scalar stands right behind its head, whatever its type. */
#define SCALAR_VALUE(o) ((char *)(o) + sizeof(Obj))

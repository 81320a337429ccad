/* Floor of calls.py: what a hand-written extension pays to check its arrays, allocate the results and compute. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>

static double *doubles(PyObject *o, npy_intp *n) {
    PyArrayObject *a = (PyArrayObject *)o;
    if (!PyArray_CheckExact(o) || PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_IS_C_CONTIGUOUS(a)) {
        PyErr_SetString(PyExc_TypeError, "expected a contiguous float64 array");
        return NULL;
    }
    *n = PyArray_SIZE(a);
    return PyArray_DATA(a);
}

static PyObject *fresh(PyObject *like) {
    return PyArray_SimpleNew(PyArray_NDIM((PyArrayObject *)like), PyArray_DIMS((PyArrayObject *)like), NPY_DOUBLE);
}

static PyObject *plus(PyObject *x, double k) {
    npy_intp n;
    double *in = doubles(x, &n), *out;
    PyObject *made = in ? fresh(x) : NULL;
    if (!made) return NULL;
    out = PyArray_DATA((PyArrayObject *)made);
    for (npy_intp i = 0; i < n; i++) out[i] = in[i] + k;
    return made;
}

static PyObject *one(PyObject *self, PyObject *const *args, Py_ssize_t count) { return plus(args[0], 1.0); }

static PyObject *chain(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    npy_intp n, m;
    double *in[20], *out;
    for (int k = 0; k < 20; k++) {
        if (!(in[k] = doubles(args[k], &m))) return NULL;
        if (k && m != n) return PyErr_Format(PyExc_ValueError, "lengths differ");
        n = m;
    }
    PyObject *made = fresh(args[0]);
    if (!made) return NULL;
    out = PyArray_DATA((PyArrayObject *)made);
    for (npy_intp i = 0; i < n; i++) {
        double z = in[0][i];
        for (int k = 1; k < 20; k++) z = k % 2 ? z + in[k][i] : z * in[k][i];
        out[i] = z + 1.0;
    }
    return made;
}

static PyObject *many(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyObject *list = PyList_New(20);
    for (int k = 0; list && k < 20; k++) {
        PyObject *made = plus(args[k], k + 1.0);
        if (!made) Py_CLEAR(list);
        else PyList_SET_ITEM(list, k, made);
    }
    return list;
}

static PyMethodDef methods[] = {
    {"one", (PyCFunction)(void (*)(void))one, METH_FASTCALL, NULL},
    {"chain", (PyCFunction)(void (*)(void))chain, METH_FASTCALL, NULL},
    {"many", (PyCFunction)(void (*)(void))many, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "calls", NULL, -1, methods};
PyMODINIT_FUNC PyInit_calls(void) {
    import_array();
    return PyModule_Create(&module);
}

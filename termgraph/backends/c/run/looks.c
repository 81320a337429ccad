/* What a long program makes the thread that called look at, every 50 ms at most: signals, and the steps of its loops.

   Both may run Python code, whose exception ends the call. Needs abi.h and python.h in front. */

typedef struct {
    void *thread_state; /* NULL when the GIL is held */
    pthread_t thread;
    int64_t last;
    Obj *name, *shown; /* of the function; what shows its steps, NULL as long as there are none */
} Who;
static int64_t patience = 50000000; /* nanoseconds between two looks */
static Obj *steps_type;             /* termgraph.progress.Steps */

/* These two are called with the GIL. Nonzero: a signal handler raised while the line was drawn. */
static RARE int show_steps(Who *who, const tg_status *st)
{
    if (!who->shown && (!st->loop || !steps_type)) return 0;
    if (!who->shown && !(who->shown = PyObject_CallFunction(steps_type, "O", who->name))) return 1;
    Obj *none = PyObject_CallMethod(who->shown, "show", "LLL", st->loop, st->step, st->steps);
    drop(none);
    return !none;
}
static RARE int end_steps(Who *who)
{
    Obj *type, *value, *trace; /* the line goes before the traceback is printed */
    PyErr_Fetch(&type, &value, &trace);
    Obj *none = PyObject_CallMethod(who->shown, "end", NULL);
    drop(none);
    Py_DecRef(who->shown);
    if (type) PyErr_Restore(type, value, trace);
    return !none;
}
static RARE int poll_signals(tg_status *st)
{
    Who *who = st->who;
    struct timespec t;
    if (st->stop) return 1;
    if (!pthread_equal(pthread_self(), who->thread)) return 0;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    int64_t now = t.tv_sec * 1000000000ll + t.tv_nsec;
    if (!who->last) who->last = now;
    if (now - who->last < patience) return 0;
    who->last = now;
    if (who->thread_state) PyEval_RestoreThread(who->thread_state);
    int raised = PyErr_CheckSignals() || show_steps(who, st);
    if (who->thread_state) who->thread_state = PyEval_SaveThread();
    if (raised) st->stop = 1;
    return raised;
}

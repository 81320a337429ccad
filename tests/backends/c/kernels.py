"""Small programs written by hand against the ABI, and the two ways of calling them."""

import numpy as np

from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.run import glue
from termgraph.backends.c.signature import CellInput, Input, Output, Signature, Update

PROVIDERS = {"glue": glue.load_glue, "ctypes": glue.load_fallback}


class Programs:
    """Builds programs for one provider: `programs.bind(text, signature, ...)`."""

    def __init__(self, module):
        self.module = module

    def bind(self, text, signature, name="f", *, build=None, **arguments):
        library = build_library(text, name, **(build or {}))
        return glue.bind(library, signature, name=name, module=self.module, **arguments)

    def cell(self, value):
        return self.module.Cell(value)

    def add_one(self, dtype="float64", ndim=1, **options):
        """x + 1 of any rank up to 1."""
        ctype = CTYPES[dtype]
        signature = Signature(
            [Input("x", dtype, (None,) * ndim)], outputs=[Output(dtype, ndim, **options)], returns="one"
        )
        if ndim == 0:
            text = (
                PLAN_NOTHING
                + f"int tg_run(char **buf, const int64_t *env, tg_status *st) {{ {ctype} *o = (void *)buf[1]; "
            )
            text += f"*o = *({ctype} *)buf[0] + 1; return 0; }}"
        else:
            text = VECTOR_ADD_ONE.replace("TYPE", ctype)
        return self.bind(text, signature, f"add_one_{dtype}_{ndim}")


CTYPES = {
    "float64": "double",
    "float32": "float",
    "int64": "int64_t",
    "int32": "int32_t",
    "int8": "int8_t",
    "uint64": "uint64_t",
    "bool": "uint8_t",
    "complex128": "_Complex double",
}
PLAN_NOTHING = "int tg_plan(int64_t *env, char *const *buf, tg_status *st) { return 0; }\n"
SCALAR_ADD_ONE = """
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    *(TYPE *)buf[1] = *(TYPE *)buf[0] + 1;
    return 0;
}
"""
VECTOR_ADD_ONE = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[2] = env[0]; env[3] = env[0]; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    const TYPE *x = (void *)buf[0];
    TYPE *o = (void *)buf[1];
    for (int64_t i = 0; i < env[0]; i++) o[i] = x[i * env[1]] + 1;
    return 0;
}
"""


def sum_of(count, ndim, returns="one", outputs=1):
    """Text and signature of a program that adds `count` arguments into each of `outputs` results."""
    shape = (None,) * ndim
    signature = Signature(
        [Input(f"x{i}", "float64", shape) for i in range(count)],
        outputs=[Output("float64", ndim)] * outputs,
        returns=returns,
    )
    lengths = [f"env[{signature.output_env(k)}] = env[0];" for k in range(outputs)] if ndim else []
    plan = (
        "int tg_plan(int64_t *env, char *const *buf, tg_status *st) { "
        + " ".join(lengths)
        + f" env[{signature.work_env}] = 0; return 0; }}\n"
    )
    total = " + ".join(f"((double *)buf[{i}])[i]" for i in range(count))
    stores = " ".join(f"((double *)buf[{signature.output_buf(k)}])[i] = s + {k};" for k in range(outputs))
    n = "env[0]" if ndim else "1"
    run = "int tg_run(char **buf, const int64_t *env, tg_status *st)\n{\n"
    run += f"    for (int64_t i = 0; i < {n}; i++) {{ double s = {total}; {stores} }}\n    return 0;\n}}\n"
    return plan + run, signature


def descend(mode):
    """W -= x for a vector W: one update in the given mode. The old W is returned."""
    signature = Signature(
        [Input("x", "float64", (None,))],
        [CellInput("float64", (None,))],
        outputs=[Output("float64", 1)],
        updates=[Update(0, "float64", 1, mode)],
        returns="one",
    )
    source = 3 if mode == "accumulate" else 1
    text = f"""
int tg_plan(int64_t *env, char *const *buf, tg_status *st)
{{
    if (env[0] != env[2]) return tg_fail(st, 1, 7, env[0], env[2], 0, 0);
    env[4] = env[5] = env[2];
    return 0;
}}
int tg_run(char **buf, const int64_t *env, tg_status *st)
{{
    const double *x = (void *)buf[0], *old = (void *)buf[1], *from = (void *)buf[{source}];
    double *out = (void *)buf[2], *w = (void *)buf[3];
    for (int64_t i = 0; i < env[0]; i++) out[i] = old[i * env[3]];
    for (int64_t i = 0; i < env[0]; i++)
        if (x[i * env[1]] != x[i * env[1]]) return tg_fail(st, 2, 9, i, 0, 0, 0);
    for (int64_t i = 0; i < env[0]; i++) w[i] = from[i * {"1" if mode == "accumulate" else "env[3]"}] - x[i * env[1]];
    return 0;
}}
"""
    return text, signature


WAIT = """
int tg_plan(int64_t *env, char *const *buf, tg_status *st) { env[0] = 1000000; return 0; }
int tg_run(char **buf, const int64_t *env, tg_status *st)
{
    int64_t end = tg_rt->clock_ns() + (int64_t)(*(double *)buf[0] * 1e9);
    while (tg_rt->clock_ns() < end)
        if (TG_POLL(st)) return TG_INTERRUPT;
    return 0;
}
"""
WAIT_SIGNATURE = Signature([Input("seconds", "float64")], returns="none")


def ramp(n):
    return np.arange(n, dtype=np.float64)

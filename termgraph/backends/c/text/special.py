"""C text of special functions that are SciPy's own loops, called with one element.

Pure text.
"""

from __future__ import annotations

# So the digits are those of SciPy.
_CALL = """static double tg_scipy(int native, double a, double b, double c, int count)
{
    double out;
    char *args[] = {(char *)&a, (char *)&b, (char *)&c, (char *)&out};
    const int64_t one = 1, steps[4] = {0};
    args[count] = (char *)&out;
    ((tg_loop)tg_native[native])(args, &one, steps, tg_native[native + 1]);
    return out;
}"""
# Beyond the first derivative; float32 as SciPy, where either factor may overflow.
_POLYGAMMA_FAR = """static double tg_polygamma_far_f64(double n, double x)
{
    return pow(-1, n + 1) * tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
_POLYGAMMA_FAR_F32 = """static float tg_polygamma_far_f32(float n, float x)
{
    return (float)pow(-1, n + 1) * (float)tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           (float)tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
# Functions of two or three numbers that need nothing but the call; each is computed in double.
_CALLED = {"jv": 2, "iv": 2, "betainc": 3}


def _called(name: str, count: int) -> dict[str, str]:
    """The text of a function that is a call of SciPy's loop, for both widths."""
    native, args = (
        f"TG_NATIVE_special__{name}__{'d' * count}_d",
        ", ".join(["a", "b", "c"][:count] + ["0"] * (3 - count)),
    )
    takes, given = ", ".join(f"double {x}" for x in "abc"[:count]), ", ".join("abc"[:count])
    wide = f"static double tg_{name}_f64({takes})\n{{\n    return tg_scipy({native}, {args}, {count});\n}}"
    narrow = (
        f"static float tg_{name}_f32({takes.replace('double', 'float')}) {{ return (float)tg_{name}_f64({given}); }}"
    )
    return {f"{name}_f64": wide, f"{name}_f32": narrow}


_SCIPY = {
    **{key: text for name, count in _CALLED.items() for key, text in _called(name, count).items()},
    "scipy": _CALL,
    "polygamma_far_f64": _POLYGAMMA_FAR,
    "polygamma_far_f32": _POLYGAMMA_FAR_F32,
}


def functions(_: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    return {f"tg_{name}": text for name, text in _SCIPY.items()}

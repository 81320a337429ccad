/* Elements of matrices by the names that cuBLAS gives to their types; part of the emulated libraries. */
enum { R_32F, R_64F, R_16F, C_32F = 4, C_64F, R_16BF = 14 }; /* cudaDataType_t */
enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };

static double _Complex get(int type, const char *x, long long i)
{
    union { unsigned bits; float value; } wide;
    switch (type) {
    case R_32F: return ((const float *)x)[i];
    case R_64F: return ((const double *)x)[i];
    case R_16F: return (double)((const _Float16 *)x)[i];
    case C_32F: return ((const float _Complex *)x)[i];
    case C_64F: return ((const double _Complex *)x)[i];
    }
    wide.bits = (unsigned)((const unsigned short *)x)[i] << 16;
    return wide.value;
}
static void put(int type, char *x, long long i, double _Complex v)
{
    union { float value; unsigned bits; } wide = {(float)v};
    switch (type) {
    case R_32F: ((float *)x)[i] = (float)v; return;
    case R_64F: ((double *)x)[i] = (double)v; return;
    case R_16F: ((_Float16 *)x)[i] = (_Float16)(float)v; return;
    case C_32F: ((float _Complex *)x)[i] = (float _Complex)v; return;
    case C_64F: ((double _Complex *)x)[i] = v; return;
    }
    if (v != v) wide.bits = 0x7fc00000;
    else wide.bits += 0x7fff + (wide.bits >> 16 & 1); /* to the nearest, ties to even */
    ((unsigned short *)x)[i] = (unsigned short)(wide.bits >> 16);
}

/* Operands of float32 as the product takes them: the compute types FAST_16F, FAST_16BF and FAST_TF32 round them. */
static double _Complex operand(int compute, int type, const char *x, long long i)
{
    union { float value; unsigned bits; } f;
    const int behind = compute == 75 ? 16 : 13;
    if (type != R_32F || (compute != 74 && compute != 75 && compute != 77)) return get(type, x, i);
    f.value = ((const float *)x)[i];
    if (compute == 74) return (double)(_Float16)f.value;
    if (f.value - f.value == 0) f.bits = (f.bits + (1u << (behind - 1)) - 1 + (f.bits >> behind & 1)) >> behind << behind;
    return f.value;
}
static int can_compute(int type, int compute)
{
    if (type == R_64F || type == C_64F) return compute == 70;
    return compute == 68 || (type == R_32F && (compute == 74 || compute == 75 || compute == 77));
}

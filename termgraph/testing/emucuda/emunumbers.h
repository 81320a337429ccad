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

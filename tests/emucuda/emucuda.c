/* libcuda.so.1 without a GPU: the driver API over memory of the host and kernels built by cuda_on_cpu.h.

   An "image" is the ELF file of a library that TG_KERNEL made. Work is queued and runs when somebody waits, so a missing
   wait shows as stale data; EMUCUDA_LAZY=0 runs it at once. Each stream has a queue of its own, and each device a context.
   What a real driver would refuse is refused: grids beyond the limits, a stream or kernel of another context than the
   thread is in, memory of another device, and what may not be done while work is captured. EMUCUDA_DEVICES=0 is a machine
   without a GPU, EMUCUDA_INIT an error of cuInit, EMUCUDA_MEMORY the size of the memory in bytes, EMUCUDA_TRACE=1 prints what
   the caller wants and is not here.
   Build: gcc -shared -fPIC -I<folder of cuda.h> -Wl,-soname,libcuda.so.1 emucuda.c -ldl */
#define _GNU_SOURCE
#define CUDA_API_PER_THREAD_DEFAULT_STREAM_DISABLED
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default"))) CUresult CUDAAPI
#define FINE(...) { __VA_ARGS__; return CUDA_SUCCESS; }

#include "emuqueue.h"

/* ------------------------------------------------------------------ device and context */
static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text && *text ? atoi(text) : otherwise;
}

API cuInit(unsigned flags)
{
    lazy = setting("EMUCUDA_LAZY", 1);
    if (getenv("EMUCUDA_MEMORY")) limit = strtoull(getenv("EMUCUDA_MEMORY"), 0, 10);
    for (int i = 0; i < 16; i++) primary[i].device = i;
    if (setting("EMUCUDA_INIT", 0)) return setting("EMUCUDA_INIT", 0);
    return setting("EMUCUDA_DEVICES", 1) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
API cuDriverGetVersion(int *v) FINE(*v = 13000)
API cuDeviceGetCount(int *n) FINE(*n = setting("EMUCUDA_DEVICES", 1))
API cuDeviceGet(CUdevice *d, int i)
{
    *d = i;
    return i < setting("EMUCUDA_DEVICES", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
API cuDeviceGetName(char *s, int n, CUdevice d) FINE(snprintf(s, n, "emulated CUDA device"))
API cuDeviceGetUuid_v2(CUuuid *u, CUdevice d) FINE(memset(u, 7 + d, sizeof *u))
API cuDeviceTotalMem_v2(size_t *n, CUdevice d) FINE(*n = limit)
API cuDeviceComputeCapability(int *a, int *b, CUdevice d) FINE(*a = 9, *b = 0)
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d)
{
    switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 9; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 4; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *v = 49152; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 232448; break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: *v = 1; break;
    default: *v = 0;
    }
    return CUDA_SUCCESS;
}
API cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
    if (setting("EMUCUDA_BUSY", 0)) return CUDA_ERROR_DEVICE_UNAVAILABLE;
    FINE(*c = &primary[d])
}
API cuDevicePrimaryCtxRelease_v2(CUdevice d) FINE()
API cuCtxSetCurrent(CUcontext c) FINE(current = c)
API cuCtxGetCurrent(CUcontext *c) FINE(*c = current)
API cuCtxGetDevice(CUdevice *d)
{
    *d = current ? current->device : 0;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
API cuCtxGetDevice_v2(CUdevice *d, CUcontext c) FINE(*d = c->device)
static __thread CUcontext below[64];
static __thread int depth;
API cuCtxPushCurrent_v2(CUcontext c) FINE(below[depth++ & 63] = current, current = c)
API cuCtxPopCurrent_v2(CUcontext *c)
{
    if (c) *c = current;
    current = depth ? below[--depth & 63] : 0;
    return CUDA_SUCCESS;
}
API cuCtxSynchronize(void) { return flush(); }
API cuCtxGetStreamPriorityRange(int *a, int *b)
{
    if (a) *a = 0;
    if (b) *b = -5;
    return CUDA_SUCCESS;
}
API cuCtxGetApiVersion(CUcontext c, unsigned *v) FINE(*v = 13000)
API cuCtxGetId(CUcontext c, unsigned long long *i) FINE(*i = 1)
API cuCtxGetFlags(unsigned *f) FINE(*f = 0)
API cuCtxDetach(CUcontext c) FINE()
API cuCtxDestroy_v2(CUcontext c) FINE(current = 0)
API cuCtxAttach(CUcontext *c, unsigned f) FINE(*c = current)
API cuCtxCreate_v4(CUcontext *c, CUctxCreateParams *p, unsigned f, CUdevice d)
    FINE(current = *c = calloc(1, sizeof **c), current->device = d)
API cuGetErrorName(CUresult e, const char **s)
{
    static char text[32];
    snprintf(text, sizeof text, "CUDA_ERROR_%d", e);
    *s = e ? text : "CUDA_SUCCESS";
    return CUDA_SUCCESS;
}
API cuGetErrorString(CUresult e, const char **s)
{
    switch (e) {
    case CUDA_SUCCESS: *s = "no error"; break;
    case CUDA_ERROR_NO_DEVICE: *s = "no CUDA-capable device is detected"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS: *s = "an illegal memory access was encountered"; break;
    case CUDA_ERROR_LAUNCH_FAILED: *s = "unspecified launch failure"; break;
    case CUDA_ERROR_SYSTEM_NOT_READY: *s = "system not yet initialized"; break;
    case CUDA_ERROR_DEVICE_UNAVAILABLE: *s = "CUDA-capable device(s) is/are busy or unavailable"; break;
    default: *s = "an error of the emulated driver";
    }
    return CUDA_SUCCESS;
}

/* ------------------------------------------------------------------ memory: not a number until somebody writes */
static CUresult make(CUdeviceptr *p, size_t n, int device)
{
    if (held + n > limit) return CUDA_ERROR_OUT_OF_MEMORY;
    char *block = malloc(n + 768);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t *head = (size_t *)(((size_t)block + 255) / 256 * 256);
    head[0] = n, head[1] = (size_t)block;
    memset((char *)head + 256, 0xff, n);
    *p = (CUdeviceptr)head + 256;
    known((void *)*p, n, device);
    held += n, allocations++;
    return CUDA_SUCCESS;
}
API cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    if (not_now()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return make(p, n, current->device);
}
API cuMemFree_v2(CUdeviceptr p)
{
    if (not_now()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    flush();
    give_back((void *)p);
    return CUDA_SUCCESS;
}
API cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s)
{
    if (stream_of(s)->capturing) return not_now(); /* it would belong to the graph */
    if (stream_of(s) == &default_stream) return cuMemAlloc_v2(p, n);
    return make(p, n, s->context->device);
}
API cuMemAllocFromPoolAsync(CUdeviceptr *p, size_t n, CUmemoryPool m, CUstream s) { return cuMemAllocAsync(p, n, s); }
API cuMemFreeAsync(CUdeviceptr p, CUstream s)
{
    if (stream_of(s)->capturing) return not_now(); /* it is none of the graph's */
    return add(s, (Work){.kind = FREE, .to = (void *)p});
}
API cuMemHostAlloc(void **p, size_t n, unsigned f) FINE(*p = malloc(n), known(*p, n, -1))
API cuMemFreeHost(void *p) FINE(flush(), unknown(p), free(p))
API cuMemGetInfo_v2(size_t *f, size_t *t) FINE(*f = limit - held, *t = limit)
API cuDeviceGetMemPool(CUmemoryPool *p, CUdevice d) FINE(*p = (CUmemoryPool)&the_pool)
API cuDeviceGetDefaultMemPool(CUmemoryPool *p, CUdevice d) FINE(*p = (CUmemoryPool)&the_pool)
API cuDeviceSetMemPool(CUdevice d, CUmemoryPool p) FINE()
API cuMemGetMemPool(CUmemoryPool *p, CUmemLocation *l, CUmemAllocationType t) FINE(*p = (CUmemoryPool)&the_pool)
API cuMemGetDefaultMemPool(CUmemoryPool *p, CUmemLocation *l, CUmemAllocationType t) FINE(*p = (CUmemoryPool)&the_pool)
API cuMemPoolCreate(CUmemoryPool *p, const CUmemPoolProps *q) FINE(*p = (CUmemoryPool)&the_pool)
API cuMemPoolDestroy(CUmemoryPool p) FINE()
API cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute a, void *v) FINE()
API cuMemPoolGetAttribute(CUmemoryPool p, CUmemPool_attribute a, void *v) FINE(*(cuuint64_t *)v = 0)
API cuMemPoolTrimTo(CUmemoryPool p, size_t n) FINE()
API cuPointerGetAttribute(void *v, CUpointer_attribute a, CUdeviceptr p)
{
    pthread_mutex_lock(&one);
    const Range *found = range_of((void *)p), r = found ? *found : (Range){0};
    pthread_mutex_unlock(&one);
    if (!found) return CUDA_ERROR_INVALID_VALUE; /* memory of the host that nobody has told the driver of */
    *(unsigned *)v = a == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? (r.device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE)
                   : a == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (r.device < 0 ? 0 : r.device) : 0;
    return CUDA_SUCCESS;
}
API cuPointerGetAttributes(unsigned n, CUpointer_attribute *a, void **v, CUdeviceptr p)
    FINE(for (unsigned i = 0; i < n; i++) cuPointerGetAttribute(v[i], a[i], p))

static CUresult copy(void *to, const void *from, size_t n, CUstream s, int keep)
{
    Work w = {.kind = COPY, .to = to, .from = from, .size = n};
    if (elsewhere(s)) return CUDA_ERROR_INVALID_CONTEXT;
    if (keep && stream_of(s)->capturing) return not_now(); /* the recording would read it again and again */
    if (keep && !range_of(from)) { /* pageable: the caller may change its memory at once */
        w.from = memcpy(malloc(n ? n : 1), from, n);
        w.owns = 1;
    }
    return add(s, w);
}
static CUresult copy_now(void *to, const void *from, size_t n)
{
    CUresult before = not_now();
    if (!before) before = finish(0);
    if (!before) memmove(to, from, n);
    return before;
}
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream st) { return copy((void *)d, s, n, st, 1); }
API cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream st) { return copy(d, (void *)s, n, st, 0); }
API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st)
{
    return copy((void *)d, (void *)s, n, st, 0);
}
API cuMemcpyAsync(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st) { return copy((void *)d, (void *)s, n, st, 0); }
API cuMemcpyPeerAsync(CUdeviceptr d, CUcontext dc, CUdeviceptr s, CUcontext sc, size_t n, CUstream st)
{
    return copy((void *)d, (void *)s, n, st, 0);
}
API cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { return copy_now((void *)d, s, n); }
API cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { return copy_now(d, (void *)s, n); }
API cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) { return copy_now((void *)d, (void *)s, n); }
API cuMemcpy(CUdeviceptr d, CUdeviceptr s, size_t n) { return copy_now((void *)d, (void *)s, n); }
static CUresult set(CUdeviceptr d, unsigned v, size_t n, size_t width, CUstream s)
{
    if (elsewhere(s)) return CUDA_ERROR_INVALID_CONTEXT;
    return add(s, (Work){.kind = SET, .to = (void *)d, .value = v, .size = n, .width = width});
}
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { return set(d, v, n, 1, s); }
API cuMemsetD16Async(CUdeviceptr d, unsigned short v, size_t n, CUstream s) { return set(d, v, n, 2, s); }
API cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s) { return set(d, v, n, 4, s); }

/* ------------------------------------------------------------------ streams and events */
API cuStreamCreate(CUstream *s, unsigned f)
{
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    *s = calloc(1, sizeof **s);
    (*s)->id = ++streams, (*s)->context = current, (*s)->apart = f & CU_STREAM_NON_BLOCKING;
    pthread_mutex_lock(&one);
    (*s)->next = all, all = *s;
    pthread_mutex_unlock(&one);
    return CUDA_SUCCESS;
}
API cuStreamCreateWithPriority(CUstream *s, unsigned f, int p) { return cuStreamCreate(s, f); }
API cuStreamDestroy_v2(CUstream s) FINE(flush()) /* it stays in the list */
API cuStreamSynchronize(CUstream s) { return stream_of(s)->capturing ? not_now() : finish(s); }
API cuStreamQuery(CUstream s) { return stream_of(s)->capturing ? not_now() : finish(s); }
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned f)
{
    if (stream_of(s)->capturing) return not_now(); /* the event is none of the recording's */
    if (!e->stream) return CUDA_SUCCESS;
    return add(s, (Work){.kind = WAIT, .stream = e->stream, .number = e->number});
}
static CUcontext context_of(CUstream s) { return stream_of(s) == &default_stream ? current : s->context; }
API cuStreamGetCtx(CUstream s, CUcontext *c) FINE(*c = context_of(s))
API cuStreamGetCtx_v2(CUstream s, CUcontext *c, CUgreenCtx *g) FINE(*c = context_of(s); if (g) *g = 0)
API cuStreamGetPriority(CUstream s, int *p) FINE(*p = 0)
API cuStreamGetFlags(CUstream s, unsigned *f) FINE(*f = 1)
API cuStreamGetDevice(CUstream s, CUdevice *d) FINE(*d = context_of(s)->device)
API cuStreamGetId(CUstream s, unsigned long long *i) FINE(*i = stream_of(s)->id)
API cuEventCreate(CUevent *e, unsigned f) FINE(*e = calloc(1, sizeof **e))
API cuEventDestroy_v2(CUevent e) FINE(free(e))
API cuEventRecord(CUevent e, CUstream s)
{
    if (elsewhere(s)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream_of(s)->capturing) return not_now();
    e->stream = queue_of(s), e->number = e->stream->added;
    return CUDA_SUCCESS;
}
API cuEventSynchronize(CUevent e) { return e->stream ? flush_to(e->stream, e->number) : CUDA_SUCCESS; }
API cuEventQuery(CUevent e) { return cuEventSynchronize(e); }
API cuEventElapsedTime_v2(float *t, CUevent a, CUevent b) FINE(*t = 0)

/* ------------------------------------------------------------------ graphs */
API cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode m)
    FINE(s->capturing = 1, s->invalid = 0, recording = s, memset(&s->recorded, 0, sizeof(List)))
API cuStreamEndCapture(CUstream s, CUgraph *g)
{
    const int lost = s->invalid;
    s->capturing = s->invalid = 0, recording = 0;
    *g = lost ? 0 : calloc(1, sizeof **g);
    if (lost) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    (*g)->work = s->recorded;
    return CUDA_SUCCESS;
}
API cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *st)
    FINE(*st = stream_of(s)->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE)
API cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *m) FINE()
API cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long f)
{
    *e = calloc(1, sizeof **e);
    (*e)->work.item = malloc(sizeof(Work) * (g->work.count + 1));
    memcpy((*e)->work.item, g->work.item, sizeof(Work) * g->work.count);
    (*e)->work.count = g->work.count;
    return CUDA_SUCCESS;
}
API cuGraphInstantiateWithParams(CUgraphExec *e, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    if (p) p->result_out = 0;
    return cuGraphInstantiateWithFlags(e, g, 0);
}
API cuGraphUpload(CUgraphExec e, CUstream s) FINE()
API cuGraphDestroy(CUgraph g) FINE(free(g->work.item), free(g))
API cuGraphExecDestroy(CUgraphExec e) FINE(flush(), free(e->work.item), free(e))
API cuGraphLaunch(CUgraphExec e, CUstream s)
{
    if (elsewhere(s)) return CUDA_ERROR_INVALID_CONTEXT;
    graph_launches++;
    for (int i = 0; i < e->work.count; i++) {
        Work w = e->work.item[i];
        w.owns = 0;
        add(s, w);
    }
    return broken;
}

/* ------------------------------------------------------------------ kernels */
static Library *load(const void *image)
{
    const unsigned char *p = image;
    if (memcmp(p, "\177ELF", 4)) return 0;
    const unsigned machine = *(unsigned short *)(p + 18);
    if (machine != 62 && machine != 183) {
        fprintf(stderr, "emucuda: this image is for a real device\n");
        return 0;
    }
    const size_t sections = *(unsigned long long *)(p + 40);
    const size_t size = sections + *(unsigned short *)(p + 58) * (size_t) * (unsigned short *)(p + 60);
    char path[64];
    const int file = memfd_create("emulated image", 0);
    if (write(file, image, size) != (ssize_t)size) return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    Library *l = calloc(1, sizeof *l);
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) fprintf(stderr, "emucuda: %s\n", dlerror());
    return l->handle ? l : 0;
}

static CUresult find(Library *l, const char *name, Kernel **out)
{
    char symbol[160];
    for (int i = 0; i < l->count; i++)
        if (!strcmp(l->kernel[i]->name, name)) FINE(*out = l->kernel[i])
    snprintf(symbol, sizeof symbol, "tg_launch_%s", name);
    launch_function f = (launch_function)dlsym(l->handle, symbol);
    if (!f || l->count == MOST) return CUDA_ERROR_NOT_FOUND;
    Kernel *k = l->kernel[l->count++] = calloc(1, sizeof *k);
    k->run = f, k->library = l;
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(symbol, sizeof symbol, "tg_params_%s", name);
    k->count = ((int (*)(size_t *))dlsym(l->handle, symbol))(k->size);
    for (int i = 0; i < k->count; i++) {
        const size_t align = k->size[i] >= 16 ? 16 : k->size[i];
        k->place[i] = (k->total + align - 1) / align * align;
        k->total = k->place[i] + k->size[i];
    }
    FINE(*out = k)
}
static CUresult loaded(void **out, const void *image, CUcontext context)
{
    if (not_now()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    *out = load(image);
    if (*out) ((Library *)*out)->context = context;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}
API cuModuleLoadData(CUmodule *m, const void *image)
{
    return current ? loaded((void **)m, image, current) : CUDA_ERROR_INVALID_CONTEXT;
}
API cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *o, void **v)
{
    return cuModuleLoadData(m, image);
}
API cuLibraryLoadData(CUlibrary *l, const void *image, CUjit_option *a, void **b, unsigned n, CUlibraryOption *d, void **e,
                      unsigned m)
{
    return loaded((void **)l, image, 0); /* for all contexts */
}
API cuModuleUnload(CUmodule m) FINE()
API cuLibraryUnload(CUlibrary l) FINE()
API cuModuleGetLoadingMode(CUmoduleLoadingMode *m) FINE(*m = CU_MODULE_LAZY_LOADING)
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *n) { return find((Library *)m, n, (Kernel **)f); }
API cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *n) { return find((Library *)l, n, (Kernel **)k); }
API cuKernelGetFunction(CUfunction *f, CUkernel k) FINE(*f = (CUfunction)k)
API cuFuncGetModule(CUmodule *m, CUfunction f) FINE(*m = ((Kernel *)f)->library)
API cuFuncGetParamInfo(CUfunction f, size_t i, size_t *place, size_t *size)
{
    const Kernel *k = (Kernel *)f;
    if (i >= (size_t)k->count) return CUDA_ERROR_INVALID_VALUE;
    if (place) *place = k->place[i];
    if (size) *size = k->size[i];
    return CUDA_SUCCESS;
}
API cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f)
    FINE(*v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0)
API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) FINE()
API cuFuncSetCacheConfig(CUfunction f, CUfunc_cache c) FINE()
API cuFuncSetBlockShape(CUfunction f, int x, int y, int z) FINE()
API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned dynamic, CUstream s, void **arguments, void **extra)
{
    Kernel *k = (Kernel *)f;
    const CUcontext home = ((Library *)k->library)->context;
    if (!current) return CUDA_ERROR_INVALID_CONTEXT;
    if (elsewhere(s) || (home && home != current)) return CUDA_ERROR_INVALID_HANDLE;
    if (!gx || !gy || !gz || gx > 2147483647u || gy > 65535 || gz > 65535) return CUDA_ERROR_INVALID_VALUE;
    if (!bx || !by || !bz || bx > 1024 || by > 1024 || bz > 64 || bx * by * bz > 1024) return CUDA_ERROR_INVALID_VALUE;
    if (dynamic > 49152) return CUDA_ERROR_INVALID_VALUE; /* without the attribute that asks for more */
    Work w = {.kind = KERNEL, .device = current->device, .kernel = k, .grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic = dynamic};
    w.arguments = malloc(k->total + 16);
    w.owns = 1;
    launches++;
    if (arguments)
        for (int i = 0; i < k->count; i++) memcpy(w.arguments + k->place[i], arguments[i], k->size[i]);
    else
        for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2)
            if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) memcpy(w.arguments, extra[i + 1], k->total);
    return add(s, w);
}
API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **a, void **e)
{
    return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                          c->sharedMemBytes, c->hStream, a, e);
}

/* ------------------------------------------------------------------ finding all this */
API cuGetProcAddress_v2(const char *symbol, void **found, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *st)
{
    static const char *suffix[] = {"_v4", "_v3", "_v2", ""};
    char name[128];
    Dl_info info;
    void *self = dladdr((void *)cuInit, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : 0;
    *found = 0;
    for (int i = 0; i < 4 && !*found; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, suffix[i]);
        *found = dlsym(self, name);
    }
    if (!*found && setting("EMUCUDA_TRACE", 0)) fprintf(stderr, "emucuda: no %s\n", symbol);
    if (st) *st = *found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Libraries queue their work here too, so it is recorded into graphs like kernels. */
__attribute__((visibility("default"))) int emucuda_call(CUstream s, void (*call)(const void *), const void *data, size_t n)
{
    return add(s, (Work){.kind = CALL, .call = call, .from = memcpy(malloc(n), data, n), .owns = 1});
}

/* Kernels launched, arrays made, bytes held, graphs launched: for tests. */
__attribute__((visibility("default"))) void emucuda_counts(unsigned long long *n)
{
    n[0] = launches, n[1] = allocations, n[2] = held, n[3] = graph_launches;
}

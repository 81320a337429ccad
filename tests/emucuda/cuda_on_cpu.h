/* CUDA kernels on the CPU, unchanged: each thread of a block is a fiber, blocks run one after another.

   g++ 10 or later, Linux on x86-64 or aarch64. No STL, so that a kernel compiles in a fraction of a second. What is
   checked besides the result:
     - shared memory holds NaN before each block, the dynamic size is limited as on a device (of
       the static one ptxas says if it is too much);
     - threads of a block run in the order TG_ORDER (0 forward, 1 backward, 2 random with TG_SEED);
     - divergent barriers, threads that leave early and wrong shuffle masks are reported instead of hanging;
     - with -DTG_TSAN and -fsanitize=thread a fiber is a thread to ThreadSanitizer: races inside a block are found;
     - with -DTG_RACES and tests/races so are races between blocks, and between threads that never wait;
     - with -DTG_ASAN shared arrays are plain globals, so that AddressSanitizer sees their ends.
   Not seen: weak memory order, registers and occupancy, the device's own math library. */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define __CUDA_ON_CPU__ 1
#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#ifdef TG_ASAN
#define __shared__ static
#else
#define __shared__ static __attribute__((section("tg_shared")))
#endif
#define TG_DYN_SHARED(T, name) T *name = (T *)tg::g.dynamic /* CUDA: extern __shared__ T name[]; */

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };

#include "fibers.h"

#include "builtins.h"

/* TG_KERNEL(name, fibers) exports a launch function, with cuLaunchKernel's own array of argument addresses, and the
   sizes of the kernel's parameters. `fibers` says whether threads wait for each other. */
#define TG_EXPORT extern "C" __attribute__((visibility("default")))
#define TG_KERNEL(name, fibers)                                                                                  \
    static void tg_entry_##name(void **a) { tg::apply(name, a); }                                                \
    TG_EXPORT int tg_launch_##name(const unsigned *grid, const unsigned *block, size_t dynamic, void **arguments, \
                                   char *error, size_t room)                                                     \
    {                                                                                                            \
        return tg::launch(tg_entry_##name, fibers, grid, block, dynamic, arguments, error, room);                \
    }                                                                                                            \
    TG_EXPORT int tg_params_##name(size_t *sizes) { return tg::params(name, sizes); }

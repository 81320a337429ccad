/* What watched C text is compiled with (-include): memory that a part finds and gives back is its own, and the blocks it
   copies are seen. */
#ifndef RACES_H
#define RACES_H
void *races_malloc(__SIZE_TYPE__), *races_calloc(__SIZE_TYPE__, __SIZE_TYPE__), *races_aligned(__SIZE_TYPE__, __SIZE_TYPE__);
void *races_copy(void *, const void *, __SIZE_TYPE__), *races_move(void *, const void *, __SIZE_TYPE__);
void *races_set(void *, int, __SIZE_TYPE__);
#define malloc races_malloc
#define calloc races_calloc
#define aligned_alloc races_aligned
#define __builtin_malloc races_malloc
#define __builtin_calloc races_calloc
/* a copy of a known size is a load and a store, which are seen as such */
#define __builtin_memcpy(to, from, n) \
    (__builtin_constant_p(n) ? __builtin_memcpy(to, from, n) : races_copy(to, from, n))
#define __builtin_memmove(to, from, n) races_move(to, from, n)
#define __builtin_memset(to, value, n) races_set(to, value, n)
#define memcpy(to, from, n) __builtin_memcpy(to, from, n)
#define memmove(to, from, n) races_move(to, from, n)
#define memset(to, value, n) races_set(to, value, n)
#endif

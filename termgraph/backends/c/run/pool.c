/* A pool of big buffers in huge pages, so that large results do not pay for fresh pages at every call.
   Knows nothing of Python. From 1 MiB on buffers are whole huge pages of 2 MiB; smaller ones are whole multiples of
   64 KiB, which malloc would give back to the system at once. The newest free one is handed out first. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_FREE = 256 };
#define PAGE ((size_t)2 << 20)

typedef struct {
    void *data;
    size_t capacity;
} Slab;

static struct {
    pthread_mutex_t mutex;
    Slab free[MAX_FREE]; /* oldest first */
    int count;
    size_t held, limit; /* bytes in free slabs now, and at most */
    size_t smallest;    /* requests below this are not for the pool */
    int64_t hits, misses, trimmed;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .limit = (size_t)1 << 30, .smallest = (size_t)1 << 17};

static size_t slab_size(size_t bytes) /* four sizes per octave, so that at most a quarter is wasted */
{
    size_t step = bytes < PAGE / 2 ? PAGE / 32 : PAGE;
    while (step * 8 <= bytes) step *= 2;
    return (bytes + step - 1) / step * step;
}

static void *map_slab(size_t capacity) /* aligned to 2 MiB, or huge pages cannot be used */
{
    if (capacity < PAGE) {
        void *small = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return small == MAP_FAILED ? NULL : small;
    }
    char *raw = mmap(NULL, capacity + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    char *data = (char *)(((uintptr_t)raw + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    size_t before = (size_t)(data - raw);
    if (before) munmap(raw, before);
    if (before < PAGE) munmap(data + capacity, PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(data, capacity, MADV_HUGEPAGE);
#endif
    return data;
}

static void remove_free(int i)
{
    pool.held -= pool.free[i].capacity;
    memmove(&pool.free[i], &pool.free[i + 1], (size_t)(--pool.count - i) * sizeof(Slab));
}

/* Give the oldest free slabs back to the system until `room` more bytes may be held. */
static void pool_trim(size_t room)
{
    Slab gone[MAX_FREE];
    int count = 0;
    pthread_mutex_lock(&pool.mutex);
    while (pool.count && (pool.held + room > pool.limit || pool.count == MAX_FREE)) {
        gone[count++] = pool.free[0];
        remove_free(0);
    }
    pool.trimmed += count;
    pthread_mutex_unlock(&pool.mutex);
    while (count--) munmap(gone[count].data, gone[count].capacity);
}

static void pool_empty(void)
{
    pthread_mutex_lock(&pool.mutex);
    size_t limit = pool.limit;
    pool.limit = 0;
    pthread_mutex_unlock(&pool.mutex);
    pool_trim(1);
    pthread_mutex_lock(&pool.mutex);
    pool.limit = limit;
    pthread_mutex_unlock(&pool.mutex);
}

static void *pool_get(size_t bytes, size_t *capacity)
{
    if (bytes > (size_t)1 << 47) return NULL; /* more than a process can address */
    size_t wanted = slab_size(bytes);
    void *data = NULL;
    pthread_mutex_lock(&pool.mutex);
    for (int i = pool.count - 1; i >= 0 && !data; i--) { /* newest first: still warm in the cache */
        if (pool.free[i].capacity != wanted) continue;
        data = pool.free[i].data;
        remove_free(i);
    }
    if (data) pool.hits++;
    else pool.misses++;
    pthread_mutex_unlock(&pool.mutex);
    *capacity = wanted;
    if (!data) data = map_slab(wanted);
    if (!data) {
        pool_empty();
        data = map_slab(wanted);
    }
    return data;
}

static void pool_put(void *data, size_t capacity)
{
    int kept = 0;
    pool_trim(capacity);
    pthread_mutex_lock(&pool.mutex);
    if (pool.count < MAX_FREE && pool.held + capacity <= pool.limit) {
        pool.free[pool.count++] = (Slab){data, capacity};
        pool.held += capacity;
        kept = 1;
    }
    pthread_mutex_unlock(&pool.mutex);
    if (!kept) munmap(data, capacity);
}

/* fork: the child gives its free slabs back, because writing to them would copy the parent's pages. */
static void pool_before_fork(void) { pthread_mutex_lock(&pool.mutex); }
static void pool_in_parent(void) { pthread_mutex_unlock(&pool.mutex); }
static void pool_in_child(void)
{
    for (int i = 0; i < pool.count; i++) munmap(pool.free[i].data, pool.free[i].capacity);
    pool.count = 0;
    pool.held = 0;
    pthread_mutex_init(&pool.mutex, NULL);
}

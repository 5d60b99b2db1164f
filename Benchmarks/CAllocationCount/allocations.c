#define _GNU_SOURCE
#include "events.h"

#include <errno.h>
#include <stddef.h>

/*
 * glibc's allocator under the names by which it stays reachable when a program has its own malloc. What is not defined
 * here, such as malloc_usable_size, goes on to work, because the memory is glibc's.
 */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

_Thread_local struct ccount_events ccount_events;

struct ccount_events ccount_now(void) {
    return ccount_events;
}

static inline void count(size_t bytes) {
    ccount_events.allocations += 1;
    ccount_events.bytes += bytes;
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count(size);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    count(size);
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}

void free(void *memory) {
    __libc_free(memory);
}

#ifndef ROUTERD_CALLOCATIONCOUNT_H
#define ROUTERD_CALLOCATIONCOUNT_H

#include <stdint.h>

/*
 * Counts what the calling thread does to the heap and to reference counts.
 *
 *     malloc & co. ── defined here, found before glibc's ─────────────▶ count ──▶ glibc
 *     swift_retain & co. ── the linker puts ours in their place ──────▶ count ──▶ the Swift runtime
 *
 * Counts are of the calling thread alone, so what other threads do is not in them. They never go back.
 */
struct ccount_events {
    /* Calls that asked the heap for memory. */
    uint64_t allocations;
    /* The bytes that they asked for. */
    uint64_t bytes;
    /* Strong retains of objects. For nothing, a literal or a small string there is no object, and none is counted. */
    uint64_t retains;
    /* Strong releases, likewise. */
    uint64_t releases;
};

/* The counts of this thread so far. */
struct ccount_events ccount_now(void);

#endif

#include "events.h"

#include <stdbool.h>

/*
 * Package.swift tells the linker to let every `swift_retain` mean `__wrap_swift_retain`, here and in the standard
 * library, which is linked statically for that; `__real_swift_retain` is the runtime's own. Retains of strings and arrays
 * end in it.
 *
 * The runtime has hooks for the same, which cannot be used: its 6.3 release strips the marks of small strings before it
 * calls them, and what then comes looks like the address of an object.
 *
 * This is known to work on x86-64, where the runtime's functions keep no more registers than C's do.
 */
void *__real_swift_retain(void *object);
void *__real_swift_retain_n(void *object, uint32_t number);
void *__real_swift_tryRetain(void *object);
void __real_swift_release(void *object);
void __real_swift_release_n(void *object, uint32_t number);

/* A word in the place of an object that is none is zero, or has the top bit set, as in small strings. */
static inline bool is_object(const void *object) {
    return (intptr_t)object > 0;
}

void *__wrap_swift_retain(void *object) {
    ccount_events.retains += is_object(object);
    return __real_swift_retain(object);
}

void *__wrap_swift_retain_n(void *object, uint32_t number) {
    ccount_events.retains += is_object(object);
    return __real_swift_retain_n(object, number);
}

void *__wrap_swift_tryRetain(void *object) {
    ccount_events.retains += is_object(object);
    return __real_swift_tryRetain(object);
}

void __wrap_swift_release(void *object) {
    ccount_events.releases += is_object(object);
    __real_swift_release(object);
}

void __wrap_swift_release_n(void *object, uint32_t number) {
    ccount_events.releases += is_object(object);
    __real_swift_release_n(object, number);
}

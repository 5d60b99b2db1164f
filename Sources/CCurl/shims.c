#define _GNU_SOURCE
#include "CCurl.h"

#include <pthread.h>

/* Not inline: the declaration of pthread_setname_np needs _GNU_SOURCE, which a header cannot ask of its users. */
void ccurl_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

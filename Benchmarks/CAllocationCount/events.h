#ifndef ROUTERD_CALLOCATIONCOUNT_EVENTS_H
#define ROUTERD_CALLOCATIONCOUNT_EVENTS_H

#include "CAllocationCount.h"

/* The counts of this thread so far. */
extern _Thread_local struct ccount_events ccount_events;

#endif

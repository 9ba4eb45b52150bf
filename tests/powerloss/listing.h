/* A trace as text, a line for each event, for people who look for the reason of a finding. */
#ifndef POWERLOSS_LISTING_H
#define POWERLOSS_LISTING_H

#include "trace.h"

/* Print the event at an offset. `began_us` is the time of the first event. */
void listing_print(const struct trace_event *event, uint64_t at, uint64_t began_us);

#endif

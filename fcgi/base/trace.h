/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a client says its request belongs to: W3C Trace Context, header traceparent. */
#pragma once

#include <stdbool.h>

#define TRACE_ID_SIZE 33

/* Read the trace's id from a header's value. False: the value has no id (NULL, another form, an id
 * of zeros); such a header counts as absent, without an error. */
bool trace_id_read(const char *traceparent, char id[TRACE_ID_SIZE]);

/* Start the trace of a request: from now on the log lines of this thread have the field trace_id.
 * The header's value may be NULL. */
void trace_begin(const char *traceparent);
void trace_end(void);

/* Return this thread's trace: its id, and the header line for requests to other services. NULL: no
 * trace. Both are valid until trace_end(). */
const char *trace_id(void);
const char *trace_header(void);

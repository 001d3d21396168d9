/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a client says its request belongs to: W3C Trace Context, header traceparent. */
#pragma once

#include <stdbool.h>

#define TRACE_ID_SIZE 33

/* The trace's id out of a header's value. False: there is none in it (NULL, another form, an id of
 * zeros); such a header is nobody's error and counts as absent. */
bool trace_id_read(const char *traceparent, char id[TRACE_ID_SIZE]);

/* From now on this thread works for a request with that value of the header, which may be none: its
 * lines of the log have the field trace_id. */
void trace_begin(const char *traceparent);
void trace_end(void);

/* What this thread works for: the trace's id, and the line of a head in whose words others are
 * asked in its name. NULL: no trace. Both hold until trace_end(). */
const char *trace_id(void);
const char *trace_header(void);

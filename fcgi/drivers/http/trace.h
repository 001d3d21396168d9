/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace that a client says its request belongs to: W3C Trace Context, header traceparent. */
#pragma once

#include <stdbool.h>

#define TRACE_ID_SIZE 33

/* The trace's id out of a header's value. False: there is none in it (NULL, another form, an id of
 * zeros); such a header is nobody's error and counts as absent. */
bool trace_id_read(const char *traceparent, char id[TRACE_ID_SIZE]);

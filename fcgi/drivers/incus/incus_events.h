/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stream of lifecycle events of the instances in one project, over a connection of its own.
 * Incus does not keep events for later, so a caller that needs all changes lists the instances
 * whenever the stream begins.
 */
#pragma once

#include "incus/incus.h"
#include "incus/incus_event.h"

struct incus_events;

/* Connect and ask for the stream; that the server agrees is not waited for. `incus` is borrowed
 * until incus_events_close(). Errors: ERR_RUNTIME_UNAVAILABLE. */
int incus_events_open(struct incus *incus, struct incus_events **events, struct error **err);
void incus_events_close(struct incus_events *events); /* NULL is allowed */

enum incus_heard {
    INCUS_HEARD_NOTHING, /* the time is over, or a signal came */
    INCUS_HEARD_BEGIN,   /* from now on nothing is missed */
    INCUS_HEARD_EVENT,   /* never INCUS_EVENT_OTHER */
};

/* Wait at most wait_ms for the next one; 0 only looks. A server that says nothing for long, not
 * even to a ping, is away. Errors: ERR_RUNTIME_UNAVAILABLE: the stream is over, close it. */
int incus_events_next(struct incus_events *events, unsigned wait_ms, enum incus_heard *heard,
                      struct incus_event *event, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read the stream of lifecycle events of the instances in one project, over a connection of its
 * own. Incus does not store events. A caller that needs all changes therefore lists the instances
 * whenever the stream begins.
 */
#pragma once

#include "incus/incus.h"
#include "incus/incus_event.h"

struct incus_events;

/* Connect, within 1.5 s. incus_events_next() then requests the stream. `incus` is borrowed until
 * incus_events_close(). Errors: ERR_RUNTIME_UNAVAILABLE. */
int incus_events_open(struct incus *incus, struct incus_events **events, struct error **err);
void incus_events_close(struct incus_events *events); /* NULL is allowed */

enum incus_heard {
    INCUS_HEARD_NOTHING, /* the time is over, or a signal interrupted the wait */
    INCUS_HEARD_BEGIN,   /* from now on all events arrive */
    INCUS_HEARD_EVENT,   /* never INCUS_EVENT_OTHER */
};

/* Wait at most wait_ms for the next event; 0: do not wait. Errors: ERR_RUNTIME_UNAVAILABLE: the
 * connection ended, or the server has sent nothing for 5 s, not even the answer to a ping. The
 * caller then closes the stream. */
int incus_events_next(struct incus_events *events, unsigned wait_ms, enum incus_heard *heard,
                      struct incus_event *event, struct error **err);

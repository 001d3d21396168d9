/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_timers.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "helper/criu/records.h"

/* CRIU's list of open files. */
#define FILES_IMAGE "files.img"

/* file_entry.tfd */
#define FIELD_TIMER 12

/* timerfd_entry */
enum timer_field {
    TIMER_TICKS = 5,
    TIMER_VALUE_S = 7,
    TIMER_VALUE_NS = 8,
    TIMER_INTERVAL_S = 9,
    TIMER_INTERVAL_NS = 10,
    TIMER_FIELDS
};

static void mend_timer(struct message timer)
{
    uint64_t values[TIMER_FIELDS] = {0};
    uint8_t *places[TIMER_FIELDS] = {NULL};
    struct message_field field;
    while (timer.at < timer.end) {
        if (!message_take(&timer, &field))
            return;
        if (field.inner.at || field.id >= TIMER_FIELDS)
            continue;
        values[field.id] = field.number;
        places[field.id] = field.start;
    }
    bool is_periodic = values[TIMER_INTERVAL_S] || values[TIMER_INTERVAL_NS];
    bool is_due = !values[TIMER_VALUE_S] && !values[TIMER_VALUE_NS];
    if (places[TIMER_VALUE_NS] && values[TIMER_TICKS] && is_periodic && is_due)
        *places[TIMER_VALUE_NS] = 1; /* one byte, as 0 was */
}

static void mend_file(struct message file)
{
    struct message_field field;
    while (message_take(&file, &field))
        if (field.id == FIELD_TIMER && field.inner.at)
            mend_timer(field.inner);
}

void image_mend_timers(const char *folder)
{
    autofree char *path = xasprintf("%s/" FILES_IMAGE, folder);
    records_change(path, mend_file);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_timers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "helper/criu/message.h"

/* CRIU's list of open files: two words of magic, then messages of protobuf, each after its size.
 * Numbers are little-endian. */
#define FILES_IMAGE "files.img"
#define FILES_MOST  (1 << 30)
#define MAGIC_SIZE  8
#define WORD        4

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

static void mend_files(struct message files)
{
    while (files.end - files.at >= WORD) {
        uint32_t size = files.at[0] | (uint32_t)files.at[1] << 8 | (uint32_t)files.at[2] << 16 |
                        (uint32_t)files.at[3] << 24;
        files.at += WORD;
        if (size > (size_t)(files.end - files.at))
            return;
        mend_file((struct message){files.at, files.at + size});
        files.at += size;
    }
}

void image_mend_timers(const char *folder)
{
    autofree char *path = xasprintf("%s/" FILES_IMAGE, folder);
    struct stat found;
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0 || found.st_size <= MAGIC_SIZE ||
        found.st_size > FILES_MOST)
        return;
    size_t size = (size_t)found.st_size;
    uint8_t *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        fprintf(stderr, "sandlot-criu: cannot read %s: %s\n", path, strerror(errno));
        return;
    }
    mend_files((struct message){data + MAGIC_SIZE, data + size});
    munmap(data, size);
}

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
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

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

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* The unread rest of a message. */
struct message {
    uint8_t *at, *end;
};

static bool take_varint(struct message *message, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Read a field. A number starts at *start; bytes are in *inner. CRIU writes no other kinds here. */
static bool take_field(struct message *message, unsigned *field, uint64_t *number, uint8_t **start,
                       struct message *inner)
{
    uint64_t tag, size;
    if (!take_varint(message, &tag))
        return false;
    *field = (unsigned)(tag >> 3);
    *start = message->at;
    *inner = (struct message){NULL, NULL};
    if ((tag & 7) == WIRE_VARINT)
        return take_varint(message, number);
    if ((tag & 7) != WIRE_BYTES || !take_varint(message, &size) ||
        size > (uint64_t)(message->end - message->at))
        return false;
    *inner = (struct message){message->at, message->at + size};
    message->at += size;
    return true;
}

static void mend_timer(struct message timer)
{
    uint64_t values[TIMER_FIELDS] = {0}, number = 0;
    uint8_t *places[TIMER_FIELDS] = {NULL}, *start;
    struct message inner;
    unsigned field;
    while (timer.at < timer.end) {
        if (!take_field(&timer, &field, &number, &start, &inner))
            return;
        if (inner.at || field >= TIMER_FIELDS)
            continue;
        values[field] = number;
        places[field] = start;
    }
    bool is_periodic = values[TIMER_INTERVAL_S] || values[TIMER_INTERVAL_NS];
    bool is_due = !values[TIMER_VALUE_S] && !values[TIMER_VALUE_NS];
    if (places[TIMER_VALUE_NS] && values[TIMER_TICKS] && is_periodic && is_due)
        *places[TIMER_VALUE_NS] = 1; /* one byte, as 0 was */
}

static void mend_file(struct message file)
{
    uint64_t number = 0;
    uint8_t *start;
    struct message inner;
    unsigned field;
    while (file.at < file.end && take_field(&file, &field, &number, &start, &inner))
        if (field == FIELD_TIMER && inner.at)
            mend_timer(inner);
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
        fprintf(stderr, "sandlot-criu: %s cannot be read: %s\n", path, strerror(errno));
        return;
    }
    mend_files((struct message){data + MAGIC_SIZE, data + size});
    munmap(data, size);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives of tar that a sandbox has made, entry by entry. Nothing in them is trusted: a name leads
 * downwards from the archive's folder, numbers and lengths have bounds, and other kinds of entries
 * than those below end the reading with an error. Formats: POSIX (ustar, pax) and GNU.
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* ARCHIVE_SPECIAL: a device or a FIFO. */
enum archive_kind {
    ARCHIVE_FILE,
    ARCHIVE_FOLDER,
    ARCHIVE_LINK,
    ARCHIVE_HARD_LINK,
    ARCHIVE_SPECIAL,
};

struct archive_entry {
    enum archive_kind kind;
    /* Without "." and ".." and doubled slashes; "": the archive's folder itself. */
    char path[PATH_MAX];
    char target[PATH_MAX]; /* of a link: any text; of a hard link: a path like the other */
    mode_t mode;           /* of permissions alone: at most 0777 */
    struct timespec modified;
    int64_t size; /* bytes of a file */
};

struct archive {
    FILE *file;
    int64_t left, padding; /* of the entry that was read last, in bytes */
    uint64_t entries;
};

/* Read the next entry; unread bytes of the previous one are skipped. Returns 1, 0 at the end, or
 * -1: the archive is broken, is longer than any honest one, or leads elsewhere. */
int archive_next(struct archive *archive, struct archive_entry *entry, struct error **err);

/* Read bytes of the entry, at most size. Returns how many (0: all are read), or -1. */
ssize_t archive_read(struct archive *archive, void *out, size_t size, struct error **err);

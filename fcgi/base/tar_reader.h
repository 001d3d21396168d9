/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives of tar from outside, entry by entry. The reader trusts nothing in them. A name leads
 * downwards from the archive's folder, and numbers and lengths have bounds. Other kinds of entries
 * than those below end the reading with an error. Formats: POSIX (ustar, pax) and GNU.
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

/* TAR_SPECIAL: a device or a FIFO. */
enum tar_kind {
    TAR_FILE,
    TAR_FOLDER,
    TAR_LINK,
    TAR_HARD_LINK,
    TAR_SPECIAL,
};

struct tar_entry {
    enum tar_kind kind;
    /* Without "." and ".." and doubled slashes; "": the archive's folder itself. */
    char path[PATH_MAX];
    char target[PATH_MAX]; /* of a link: any text; of a hard link: a path like the other */
    mode_t mode;           /* of permissions alone: at most 0777 */
    mode_t set_ids;        /* the bits for set-user-id, set-group-id and sticky */
    struct timespec modified;
    int64_t size; /* bytes of a file */
};

struct tar_reader {
    FILE *file;
    int64_t left, padding; /* of the entry that was read last, in bytes */
    uint64_t entries;
};

/* Read the next entry; unread bytes of the previous one are skipped. Returns 1, 0 at the end, or
 * -1: the archive is broken, is longer than any honest one, or leads elsewhere. */
int tar_reader_next(struct tar_reader *reader, struct tar_entry *entry, struct error **err);

/* Read bytes of the entry, at most size. Returns how many (0: all are read), or -1. */
ssize_t tar_reader_read(struct tar_reader *reader, void *out, size_t size, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognise the calls of incusd to btrfs that the wrapper answers. */
#pragma once

#include <stdint.h>

enum asked_kind {
    ASKED_OTHER,
    ASKED_SNAPSHOT, /* subvolume snapshot FROM PATH */
    ASKED_DELETE,   /* subvolume delete PATH */
    ASKED_SIZE,     /* qgroup limit [-e] BYTES GROUP PATH */
    ASKED_GROUP,    /* qgroup show -e -f --raw PATH */
    ASKED_SEAL,     /* property set -f -ts PATH ro true */
    ASKED_UNSEAL,   /* property set -f -ts PATH ro false */
    ASKED_SEALED,   /* property get -ts PATH */
    ASKED_SEND,     /* send PATH */
    ASKED_RECEIVE,  /* receive -e PATH */
};

/* A recognised call. Fields that the kind does not have are not set. */
struct asked {
    enum asked_kind kind;
    const char *from, *path;
    uint64_t group; /* of a subvolume: the number after "0/" */
    uint64_t limit; /* BTRFS_QGROUP_LIMIT_MAX_RFER, or with -e _MAX_EXCL */
    uint64_t bytes; /* UINT64_MAX: no limit */
};

/* Read a call. words: the arguments after "btrfs", up to a NULL; they must outlive asked. */
void asked_read(char *const words[], struct asked *asked);

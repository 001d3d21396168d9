/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of incusd's calls of btrfs are answered before it. */
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

/* What the kind does not have is not set. */
struct asked {
    enum asked_kind kind;
    const char *from, *path;
    uint64_t group; /* of a subvolume: what is behind "0/" */
    uint64_t limit; /* BTRFS_QGROUP_LIMIT_MAX_RFER, or with -e _MAX_EXCL */
    uint64_t bytes; /* UINT64_MAX: none */
};

/* words: what follows "btrfs", up to a NULL; they must outlive it. */
void asked_read(char *const words[], struct asked *asked);

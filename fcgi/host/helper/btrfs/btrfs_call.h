/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognise the calls of incusd to btrfs that the wrapper answers. */
#pragma once

#include <stdint.h>

enum btrfs_call_kind {
    BTRFS_CALL_OTHER,
    BTRFS_CALL_SNAPSHOT, /* subvolume snapshot FROM PATH */
    BTRFS_CALL_DELETE,   /* subvolume delete PATH */
    BTRFS_CALL_SIZE,     /* qgroup limit [-e] BYTES GROUP PATH */
    BTRFS_CALL_GROUP,    /* qgroup show -e -f --raw PATH */
    BTRFS_CALL_SEAL,     /* property set -f -ts PATH ro true */
    BTRFS_CALL_UNSEAL,   /* property set -f -ts PATH ro false */
    BTRFS_CALL_SEALED,   /* property get -ts PATH */
    BTRFS_CALL_SEND,     /* send PATH */
    BTRFS_CALL_RECEIVE,  /* receive -e PATH */
};

/* A recognised call. Fields that the kind does not have are not set. */
struct btrfs_call {
    enum btrfs_call_kind kind;
    const char *from, *path;
    uint64_t group; /* of a subvolume: the number after "0/" */
    uint64_t limit; /* BTRFS_QGROUP_LIMIT_MAX_RFER, or with -e _MAX_EXCL */
    uint64_t bytes; /* UINT64_MAX: no limit */
};

/* Read a call. words: the arguments after "btrfs", up to a NULL; they must outlive asked. */
void btrfs_call_read(char *const words[], struct btrfs_call *asked);

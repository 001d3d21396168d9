/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Into the archive, and out of it again: the same for all kinds. */
#pragma once

#include "archive/archive.h"
#include "runtime/runtime.h"

/* What there is of one that a copy is made of. */
struct archive_subject {
    char id[ID_SIZE], team_id[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t host_id;
    uint32_t incarnation; /* another one: it is not what was copied any more */
    bool is_still;        /* nothing of it changes now */
    bool fits;            /* one of its sort can be copied */
};

/* Look at one of a kind. lock: inside a transaction, and it stays so until that ends. */
typedef int archive_look(struct db *db, const char *id, bool lock, struct archive_subject *subject,
                         struct error **err);

/* Make one copy of what is due, or go on with one whose worker is gone. looks: of each kind.
 * *worked: there was one. */
int archive_store_next(struct worker *worker, archive_look *const looks[ARCHIVE_KINDS],
                       bool *worked, struct error **err);

/* Whether the storage has the object of a copy that is whole. */
int archive_look_for(struct objects *objects, const struct archive *archive, bool *there,
                     struct error **err);

/* Where a copy goes. */
struct archive_target {
    struct worker *worker;
    struct runtime *runtime;
    uint32_t host_id; /* the runtime's */
    const char *instance_name;
    bool hurry; /* somebody waits */
    /* Called while the storage is waited for. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
};

/* Make the instance of a copy that is whole. What is there of its name and was not made of this
 * copy is replaced. Errors: ERR_SANDBOX_NOT_STARTABLE (the copy is gone or damaged), those of the
 * storage and of the runtime's take_in(). */
int archive_fetch(const struct archive *archive, const struct archive_target *target,
                  struct error **err);

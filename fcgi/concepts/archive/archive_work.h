/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make copies and fetch them, for all kinds of objects. */
#pragma once

#include "archive/archive.h"
#include "runtime/runtime.h"

/* The state of a sandbox or checkpoint to copy. */
struct archive_subject {
    char id[ID_SIZE], team_id[ID_SIZE];
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t host_id;
    uint32_t incarnation; /* a different value: it has changed since the copy */
    bool is_still;        /* it does not change now */
    bool fits;            /* it can be copied: no virtual machine, no volumes */
};

/* Read the state of one object. lock: the caller is in a transaction, and the row stays locked
 * until its end. */
typedef int archive_look(struct db *db, const char *id, bool lock, struct archive_subject *subject,
                         struct error **err);

/* Make one copy that is due, or continue one whose worker is gone. looks: a function for each kind.
 * *worked: there was one. */
int archive_store_next(struct worker *worker, archive_look *const looks[ARCHIVE_KINDS],
                       bool *worked, struct error **err);

/* Check whether the storage has the object of a complete copy. */
int archive_look_for(struct objects *objects, const struct archive *archive, bool *there,
                     struct error **err);

/* The place where a copy is restored. */
struct archive_target {
    struct worker *worker;
    struct runtime *runtime;
    uint32_t host_id; /* the host of runtime */
    const char *instance_name;
    bool hurry; /* a client waits */
    /* Called while the fetch waits for the storage. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
};

/* Make the instance of a complete copy. It replaces an instance of the same name that was not made
 * from this copy. Errors: ERR_SANDBOX_NOT_STARTABLE (the copy is missing or damaged), those of the
 * storage and of the runtime's take_in(). */
int archive_fetch(const struct archive *archive, const struct archive_target *target,
                  struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the objects to back up, and the facts that a restore needs from the database. */
#pragma once

#include "base/ulid.h"
#include "ctl/backup.h"
#include "db/db.h"
#include "runtime/runtime.h"

/* The table of an object; the order of the list. */
enum backup_place {
    BACKUP_OF_VOLUME = 1,
    BACKUP_OF_SOURCE,
    BACKUP_OF_CHECKPOINT,
    BACKUP_OF_SANDBOX,
};

/* An object on a host, as its row describes it. */
struct backup_object {
    enum backup_place place;
    enum backup_kind kind; /* BACKUP_VOLUME or BACKUP_INSTANCE */
    char id[ID_SIZE];
    uint32_t host_id;
    char host[64];
    char name[INSTANCE_NAME_SIZE];
    char stamp[32]; /* struct backup_file */
    char state[17]; /* of a sandbox, or "building" of a build's sandbox, or "archived" of one that
                     * only the archive has; "" for others */
};

/* List the objects, volumes first, since instances mount them. The caller frees the array. */
int backup_db_objects(struct db *db, struct backup_object **objects, size_t *count,
                      struct error **err);

/* The state of an object since backup_db_objects(). A sandbox is unchanged while it is paused and
 * on its host, another object while it is on its host. */
enum backup_fate { BACKUP_UNCHANGED, BACKUP_CHANGED, BACKUP_DELETED };
int backup_db_fate(struct db *db, const struct backup_object *object, enum backup_fate *fate,
                   struct error **err);

/* Count sandboxes, volumes and checkpoints. */
int backup_db_count(struct db *db, uint64_t *count, struct error **err);

/* Remove the rows of warm instances and of caches of builds, which no backup has. */
int backup_db_dismiss(struct db *db, struct error **err);

/* Find the first column or index that one of two databases has and the other has not, or has
 * otherwise; "": none. */
int backup_db_difference(struct db *db, const char *one, const char *other, char out[256],
                         struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checkpoints: named copies of a sandbox's disk, on request with its memory, that outlive the
 * sandbox. On its host a checkpoint is a stopped instance, copied on write; new sandboxes are
 * copied from it as from a template.
 *
 * An operation of the sandbox makes a checkpoint (sandbox/lifecycle.h); checkpoint_removal.h
 * deletes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/ulid.h"
#include "db/db.h"
#include "naming/naming.h"
#include "runtime/runtime.h"

#define CHECKPOINT_NAME_MAX 63
#define CHECKPOINT_UNNAMED  "checkpoint-" /* the name's prefix, before the ULID of its id */
/* Clients of E2B also send a tag. Here <name>:<tag> is a separate name. */
#define CHECKPOINT_TAG_MAX   128
#define CHECKPOINT_NAME_SIZE (CHECKPOINT_NAME_MAX + 1 + CHECKPOINT_TAG_MAX + 1)

enum checkpoint_state {
#define STATE(symbol, name) symbol,
#include "checkpoint/checkpoint_state.def"
#undef STATE
    CHECKPOINT_STATE_COUNT
};
extern const char *const checkpoint_state_names[CHECKPOINT_STATE_COUNT];

struct checkpoint {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char created_by[ID_SIZE];
    char sandbox_id[ID_SIZE];
    char sandbox_name[THING_NAME_SIZE]; /* the present one, or "" */
    uint32_t incarnation;               /* of the sandbox during the operation that makes it */
    char name[CHECKPOINT_NAME_SIZE];
    uint32_t version; /* among the team's checkpoints with this name, from 1 */
    enum checkpoint_state state;
    char template_slug[SLUG_MAX + 1];
    char template_version_id[ID_SIZE];
    bool virtual_machine;
    char parent_id[ID_SIZE]; /* the checkpoint that its sandbox was started from, or "" */
    uint32_t cpu, memory_mb, disk_gb;
    uint32_t size_mb; /* its size in the storage pool beyond its template */
    uint32_t host_id;
    char instance_name[INSTANCE_NAME_SIZE];
    bool memory;   /* it has memory: sandboxes that are made from it continue at that moment */
    bool for_fork; /* hidden from clients and not counted in the plan; not an instance, but a
                    * snapshot of its sandbox's instance */
    char agent_instance[INSTANCE_NAME_SIZE]; /* memory: the instance whose secret its agent knows */
    uint16_t agent_key_id;                   /* memory: the secret's key */
    int64_t created_at_ms;
    int64_t cleanup_at_ms; /* when the cleanup removes it for its age; 0: no date */
};

/* Return the state of the finished checkpoint. Without a name it is of a fork, of a template
 * version, or of a step of a build. */
enum checkpoint_state checkpoint_state_made(const struct checkpoint *checkpoint);

/* Write the name of the source from which the runtime makes instances. */
#define CHECKPOINT_SOURCE_SIZE (2 * INSTANCE_NAME_SIZE)
void checkpoint_source(const struct checkpoint *checkpoint, char out[CHECKPOINT_SOURCE_SIZE]);

/* Check a name: 1 to 63 letters, digits, dots, underscores and hyphens. It begins with a letter or
 * a digit. */
bool checkpoint_name_is_valid(const char *name);
/* Check a tag: 1 to 128 lower-case letters, digits, dots, underscores and hyphens. */
bool checkpoint_tag_is_valid(const char *tag);

/* Read a checkpoint in state ready. Errors: ERR_NOT_FOUND. */
int checkpoint_get(struct db *db, const char *id, struct checkpoint *checkpoint,
                   struct error **err);

/* Find the team's checkpoint that a request names: by an id, [team/]name[:version] or
 * [team/]name:tag. Without a version, and with `latest` or `default`, the newest version is found.
 * A tag has precedence over a version with the same text. Errors: ERR_NOT_FOUND. */
int checkpoint_resolve(struct db *db, const struct team *team, const char *reference,
                       struct checkpoint *checkpoint, struct error **err);

/* Read a row in any state, deleted ones included. lock: FOR UPDATE, inside a transaction. Errors:
 * ERR_NOT_FOUND. */
int checkpoint_get_any(struct db *db, const char *id, bool lock, struct checkpoint *checkpoint,
                       struct error **err);

/* The checkpoints of a team to list, newest first. sandbox_id: only those of this sandbox; NULL:
 * all. name: only those with this name or id; NULL: all. any_tag: also those with a tag after the
 * name. Their ids are before `before` (NULL: from the newest). last_alone: only the last version of
 * each name. The caller of checkpoint_list() frees the array, also after an error. */
struct checkpoint_filter {
    const char *team_id, *sandbox_id, *name, *before;
    bool any_tag, last_alone;
    unsigned limit;
};
int checkpoint_list(struct db *db, const struct checkpoint_filter *filter, struct checkpoint **list,
                    unsigned *count, struct error **err);

/* List a team's checkpoints with this name and any tag, by name, the newest version first. The
 * caller frees the array, also after an error. */
int checkpoint_list_tags(struct db *db, const char *team_id, const char *name,
                         struct checkpoint **list, unsigned *count, struct error **err);

/* Return whether it was made without a name. Such a checkpoint's name follows from its id. */
bool checkpoint_is_unnamed(const struct checkpoint *checkpoint);

/* Find a checkpoint in state kept. id "": it is gone. */
int checkpoint_kept(struct db *db, const char *id, struct checkpoint *checkpoint,
                    struct error **err);

/* Lock a checkpoint inside a transaction that makes something from it: it cannot be deleted or
 * moved before the transaction ends. *host_id: its host. Errors: ERR_NOT_FOUND (also for one that
 * cannot be used). */
int checkpoint_hold(struct db *db, const char *id, uint32_t *host_id, struct error **err);

/* Count a team's checkpoints, with unfinished ones. */
int checkpoint_count(struct db *db, const char *team_id, unsigned *count, struct error **err);

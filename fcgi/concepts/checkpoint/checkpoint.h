/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a checkpoint: a named copy of a sandbox's disk, with its memory if that was wanted,
 * that outlives the sandbox. On its
 * host it is a stopped instance of its own, copied on write, from which new sandboxes are copied as
 * they are from a template. Making one is a move of its sandbox (sandbox/lifecycle.h);
 * checkpoint_removal.h ends it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/ulid.h"
#include "db/db.h"
#include "runtime/runtime.h"

#define CHECKPOINT_NAME_MAX 63
#define CHECKPOINT_UNNAMED  "checkpoint-" /* before the ULID of its id */
/* Clients of E2B also give a tag; <name>:<tag> is a name of its own here. */
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
    uint32_t incarnation; /* of the sandbox while it is made */
    char name[CHECKPOINT_NAME_SIZE];
    uint32_t version; /* of those of the team that have this name, counted from 1 */
    enum checkpoint_state state;
    char template_slug[SLUG_MAX + 1];
    char template_version_id[ID_SIZE];
    bool virtual_machine;
    char parent_id[ID_SIZE]; /* the checkpoint that its sandbox was started from, or "" */
    uint32_t cpu, memory_mb, disk_gb;
    uint32_t size_mb; /* what the pool keeps for it beside its template */
    uint32_t host_id;
    char instance_name[INSTANCE_NAME_SIZE];
    bool memory;   /* sandboxes that are made from it go on where it was made */
    bool for_fork; /* nobody is shown it, it counts against no plan, and it is no instance but a
                      snapshot of its sandbox's */
    char agent_instance[INSTANCE_NAME_SIZE]; /* memory: whose secret the agent in it knows, */
    uint16_t agent_key_id;                   /* made with this key */
    int64_t created_at_ms;
    int64_t cleanup_at_ms; /* when it is removed for its age; 0: not foreseen */
};

/* What the runtime makes instances from. */
#define CHECKPOINT_SOURCE_SIZE (2 * INSTANCE_NAME_SIZE)
void checkpoint_source(const struct checkpoint *checkpoint, char out[CHECKPOINT_SOURCE_SIZE]);

/* 1 to 63 letters, digits, dots, underscores and hyphens, beginning with a letter or a digit. */
bool checkpoint_name_is_valid(const char *name);
/* 1 to 128 lower-case letters, digits, dots, underscores and hyphens. */
bool checkpoint_tag_is_valid(const char *tag);

/* A checkpoint that can be used. Errors: ERR_NOT_FOUND. */
int checkpoint_get(struct db *db, const char *id, struct checkpoint *checkpoint,
                   struct error **err);

/* What a request names: an id, [team/]name[:version] or [team/]name:tag. The newest is meant
 * without a version, and with `latest` or `default`. A tag goes before a version of the same text.
 * Only those of the team are found. Errors: ERR_NOT_FOUND. */
int checkpoint_resolve(struct db *db, const struct team *team, const char *reference,
                       struct checkpoint *checkpoint, struct error **err);

/* A row in whatever state, deleted ones included. lock: FOR UPDATE, inside a transaction. Errors:
 * ERR_NOT_FOUND. */
int checkpoint_get_any(struct db *db, const char *id, bool lock, struct checkpoint *checkpoint,
                       struct error **err);

/* The newest checkpoints of a team, or of a sandbox if sandbox_id is not NULL, of this name or id
 * if name is not NULL, with an id before `before` (NULL: from the newest), at most limit.
 * last_alone: of each name the last version only. The caller frees, also after an error. */
struct checkpoint_filter {
    const char *team_id, *sandbox_id, *name, *before;
    bool last_alone;
    unsigned limit;
};
int checkpoint_list(struct db *db, const struct checkpoint_filter *filter, struct checkpoint **list,
                    unsigned *count, struct error **err);

/* Those of a team that have the name, with any tag: by name, the newest version first. The caller
 * frees, also after an error. */
int checkpoint_list_tags(struct db *db, const char *team_id, const char *name,
                         struct checkpoint **list, unsigned *count, struct error **err);

/* Whether it was made without a name: the one that it has follows from its id. */
bool checkpoint_is_unnamed(const struct checkpoint *checkpoint);

/* Inside a transaction that makes something from it: it can be used, and can neither be deleted nor
 * go to another host before the transaction ends. *host_id: where it is. Errors: ERR_NOT_FOUND. */
int checkpoint_hold(struct db *db, const char *id, uint32_t *host_id, struct error **err);

/* How many a team has, those being made included. */
int checkpoint_count(struct db *db, const char *team_id, unsigned *count, struct error **err);

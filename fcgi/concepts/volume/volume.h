/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The volume record: a team's disk with a name, on one host, which sandboxes of the team mount.
 * Here are its rows and their rules; volume_store.h has the work on the host.
 *
 * Three acts exclude each other: a sandbox starts with the volume, the volume is deleted, a change
 * of its files is allowed. Each one holds the lock of the volume's row during its decision.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/ulid.h"
#include "db/db.h"

#define VOLUME_NAME_MAX          63
#define VOLUME_INSTANCE_SIZE     64 /* of the name on its host */
#define VOLUME_KEEPER_EPOCH_SIZE 33
#define VOLUME_USER_NAME_SIZE    64

/* The volume with the caches of a team's builds (recipe/recipe_mount.h). The name is not valid in a
 * request, and no list has the volume. It counts in no quota and no usage. */
#define VOLUME_BUILD_CACHE ".build-cache"
/* Its mount point, in a folder that is in memory: no disk of a sandbox gets it. */
#define VOLUME_BUILD_CACHE_PATH "/dev/sandlot-caches"

enum volume_state {
#define STATE(symbol, name) symbol,
#include "volume/volume_state.def"
#undef STATE
    VOLUME_STATE_COUNT
};
extern const char *const volume_state_names[VOLUME_STATE_COUNT];

/* A sandbox that mounts a volume. */
struct volume_user {
    char id[ID_SIZE];
    char name[VOLUME_USER_NAME_SIZE]; /* "": it has none */
};

struct volume {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char name[VOLUME_NAME_MAX + 1];
    enum volume_state state;
    uint32_t host_id;
    uint32_t size_gb;
    uint64_t generation;
    char keeper_epoch[VOLUME_KEEPER_EPOCH_SIZE];
    int64_t files_used_at_ms; /* 0: never */
    int64_t created_at_ms;
    struct volume_user *attached_to; /* by id; only after volume_read_attached() */
    unsigned attached_count;
};
void volume_deinit(struct volume *volume);

static inline void volume_autodeinit_(struct volume *volume)
{
    volume_deinit(volume);
}
/* `volume_auto volume = {0};` frees its contents at the end of its block. */
#define volume_auto __attribute__((cleanup(volume_autodeinit_))) struct volume

/* Check for 1 to 63 lower-case letters, digits, hyphens and underscores, without a hyphen at the
 * beginning, and not beginning like an id. */
bool volume_name_is_valid(const char *text);

/* Write the volume's name on its host. Returns out. */
const char *volume_instance_name(const char *id, char out[VOLUME_INSTANCE_SIZE]);

/* Read a volume that is ready and not deleted. Errors: ERR_NOT_FOUND. */
int volume_get(struct db *db, const char *id, struct volume *volume, struct error **err);

/* Read a row in any state, deleted ones included. lock: FOR UPDATE, inside a transaction. */
int volume_get_any(struct db *db, const char *id, bool lock, struct volume *volume,
                   struct error **err);

/* List the newest volumes of a team with an id before `before` (NULL: from the newest), at most
 * limit. The caller deinits each and frees the array, also after an error. */
int volume_list(struct db *db, const char *team_id, const char *before, unsigned limit,
                struct volume **volumes, unsigned *count, struct error **err);

/* Fill in attached_to: the sandboxes that mount the volume, paused ones included, deleted ones
 * not. */
int volume_read_attached(struct db *db, struct volume *volumes, unsigned count, struct error **err);

/* Return the name of a sandbox that mounts a volume, or its id if it has no name. */
static inline const char *volume_user_called(const struct volume_user *user)
{
    return *user->name ? user->name : user->id;
}

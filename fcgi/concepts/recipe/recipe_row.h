/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of recipes; for this folder. */
#pragma once

#include "base/buffer.h"
#include "db/lease.h"
#include "recipe/recipe.h"

#define RECIPE_SEALED_MAX ((size_t)8 << 20)

struct recipe_row {
    char version_id[ID_SIZE];
    char team_id[ID_SIZE];
    char user_id[ID_SIZE];
    enum recipe_state state;
    char sandbox_id[ID_SIZE]; /* "": none yet */
    unsigned step;            /* how many are over */
    bool begun;               /* the next one runs */
    uint64_t output_at;       /* bytes that were read of what it writes */
    unsigned attempts;
    json_t *tags;                      /* owned by whoever has taken it */
    char failure[RECIPE_FAILURE_SIZE]; /* of recipe_give_up() */
};

/* Take one that is due, for lease_s; version_id "": none. sealed: what recipe_begin() has sealed.
 * In a transaction of its own. */
int recipe_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                    struct recipe_row *row, struct buffer *sealed, struct error **err);
void recipe_row_keep(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t lease_s, struct lease *lease);
int recipe_row_defer(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t delay_ms, struct error **err);

/* Inside the transaction that makes its sandbox. Errors: ERR_LEASE_LOST. */
int recipe_row_set_sandbox(struct db *db, const char *version_id, const char *lease_owner,
                           const char *sandbox_id, struct error **err);
/* Write step, begun and output_at. Errors: ERR_LEASE_LOST. */
int recipe_row_progress(struct db *db, const struct recipe_row *row, const char *lease_owner,
                        struct error **err);
/* The steps are over: the version is copied from that instance. Errors: ERR_LEASE_LOST,
 * ERR_NOT_FOUND. */
int recipe_row_hand_over(struct db *db, const struct recipe_row *row, const char *lease_owner,
                         uint32_t host_id, const char *instance_name, struct error **err);
/* Nothing of it is left to do. failed_step NULL: it did not fail here. */
int recipe_row_done(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    struct error **err);
/* The steps cannot go on: the version has failed, and the sandbox is still to be removed. Errors:
 * ERR_LEASE_LOST, ERR_NOT_FOUND. */
int recipe_row_fail(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    const char *failed_step, const char *failure, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of recipes; for this folder. */
#pragma once

#include "base/buffer.h"
#include "db/lease.h"
#include "recipe/recipe.h"

#define RECIPE_SEALED_MAX ((size_t)8 << 20)
/* A member of the sealed recipe: it has logins of registries or secrets. */
#define RECIPE_HAS_LOGIN "login"

struct recipe_row {
    char version_id[ID_SIZE];
    char team_id[ID_SIZE];
    char user_id[ID_SIZE];
    enum recipe_state state;
    char sandbox_id[ID_SIZE]; /* "": none yet */
    unsigned step;            /* how many steps have finished */
    bool begun;               /* the next step has started */
    uint64_t output_at;       /* bytes that were read of its output */
    int64_t cached_at_ms;     /* when its sandbox began, or a step was cached */
    unsigned attempts;
    json_t
        *times; /* owned by the caller that has taken the row: of the steps (recipe_progress.h) */
    char failure[RECIPE_FAILURE_SIZE]; /* of recipe_give_up() */
};

/* Take a recipe that is due, for lease_s; version_id "": none. sealed: the bytes that
 * recipe_begin() has sealed. This is a transaction of its own. */
int recipe_row_take(struct db *db, const char *lease_owner, uint64_t lease_s,
                    struct recipe_row *row, struct buffer *sealed, struct error **err);
/* Open the bytes that recipe_begin() has sealed. *whole: a new reference. */
int recipe_open_sealed(const struct keyring *ring, const char *version_id, const void *sealed,
                       size_t size, json_t **whole, struct error **err);
/* Begin to keep the lease of a recipe that was taken, or release the recipe for delay_ms. */
void recipe_row_keep(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t lease_s, struct lease *lease);
int recipe_row_defer(struct db *db, const struct recipe_row *row, const char *lease_owner,
                     uint64_t delay_ms, struct error **err);

/* Record the sandbox, and how many steps its disk has already, inside the transaction that creates
 * it. Errors: ERR_LEASE_LOST. */
int recipe_row_set_sandbox(struct db *db, const struct recipe_row *row, const char *lease_owner,
                           const char *sandbox_id, unsigned steps, struct error **err);
/* Make another sandbox in the next turn. Errors: ERR_LEASE_LOST. */
int recipe_row_no_sandbox(struct db *db, const struct recipe_row *row, const char *lease_owner,
                          struct error **err);
/* Write cached_at_ms. Errors: ERR_LEASE_LOST. */
int recipe_row_cached(struct db *db, const struct recipe_row *row, const char *lease_owner,
                      struct error **err);
/* Write step, begun, output_at and times. Errors: ERR_LEASE_LOST. */
int recipe_row_progress(struct db *db, const struct recipe_row *row, const char *lease_owner,
                        struct error **err);
/* Replace the sealed recipe of recipe_begin(), and the titles of its steps. Errors: ERR_LEASE_LOST.
 */
int recipe_row_seal(struct db *db, const struct keyring *ring, const struct recipe_row *row,
                    const char *lease_owner, const json_t *whole, struct error **err);
/* Make the version ready with the files of another one (template_version_same()). Errors:
 * ERR_LEASE_LOST, ERR_NOT_FOUND. */
struct recipe_same {
    const char *key; /* of the result; borrowed */
    const char *id;  /* of the other version; borrowed */
    uint32_t host_id;
};
int recipe_row_same(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    const struct template_version *version, const struct recipe_same *same,
                    struct error **err);
/* End the steps: the version is then copied from that instance. key: of the result; "":
 * not known. Errors: ERR_LEASE_LOST, ERR_NOT_FOUND. */
int recipe_row_hand_over(struct db *db, const struct recipe_row *row, const char *lease_owner,
                         uint32_t host_id, const char *instance_name, enum template_start start,
                         const char *key, struct error **err);
/* After the copy: continue with row->step in a new sandbox. Errors: ERR_LEASE_LOST. */
int recipe_row_starting(struct db *db, const struct recipe_row *row, const char *lease_owner,
                        struct error **err);
/* Make the version ready. Errors: ERR_LEASE_LOST, ERR_NOT_FOUND. */
int recipe_row_started(struct db *db, const struct recipe_row *row, const char *lease_owner,
                       const struct template_version *version, enum template_start start,
                       struct error **err);
/* End the recipe, after its sandbox is gone. keeps: keep the sealed recipe if the version has
 * failed. No effect when the lease is lost. */
int recipe_row_done(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    bool keeps, struct error **err);
/* Restore the steps of a recipe without ONBUILD of bases (recipe_trigger.c). Another build has
 * other steps if a base has changed. */
void recipe_triggers_drop(json_t *recipe);
/* Return whether an opened recipe may be kept after a failed build. */
bool recipe_may_be_kept(const json_t *whole);
struct recipe_failure {
    const char *step;    /* its name (recipe_step_name()) */
    const char *message; /* for people */
    const char *no_user; /* the user of a command whom the sandbox does not have; NULL: another
                          * reason */
};
/* Fail the version because a step failed. The sandbox is still to be deleted. Errors:
 * ERR_LEASE_LOST, ERR_NOT_FOUND. */
int recipe_row_fail(struct db *db, const struct recipe_row *row, const char *lease_owner,
                    const struct recipe_failure *failure, struct error **err);

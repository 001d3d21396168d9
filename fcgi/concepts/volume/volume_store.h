/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done to volumes on their hosts: made, removed, compared with their rows. A row comes
 * before its volume and goes after it; whoever dies in between leaves a lease behind, and the
 * dispatcher removes what nobody was told of.
 */
#pragma once

#include "volume/volume.h"
#include "worker/worker.h"

struct volume_create {
    const char *user_id;
    const struct team *team;
    const char *name; /* checked */
    /* Called inside the transaction that inserts the volume; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *volume_id, void *context, struct error **err);
    void *claim_context;
};

/* Make a volume. Whatever fails, nothing is left behind for long. Errors: ERR_NAME_TAKEN,
 * ERR_PLAN_RESTRICTS_RESOURCES, ERR_NO_CAPACITY, ERR_INSUFFICIENT_STORAGE, ERR_RUNTIME_UNAVAILABLE.
 */
int volume_create(struct worker *worker, const struct volume_create *request, struct volume *volume,
                  struct error **err);

/* Go on with one whose first attempt was interrupted. Errors: those of volume_create(),
 * ERR_NOT_FOUND when it has been given up. */
int volume_create_again(struct worker *worker, const char *id, struct volume *volume,
                        struct error **err);

/* Delete it with all that is in it. Success means that it is gone as far as anyone can see; what is
 * left to do on the host follows in the background. Errors: ERR_VOLUME_ATTACHED, ERR_NOT_FOUND. */
int volume_delete(struct worker *worker, const char *id, struct error **err);

/* --- the dispatcher's share --- */

/* Remove one whose making or removal has no lease owner any more. *worked: there was one. */
int volume_recover_next(struct worker *worker, bool *worked, struct error **err);

/* Compare rows and volumes of every host: what belongs to nobody is removed, what is missing is
 * reported. */
int volume_sweep(struct worker *worker, struct error **err);

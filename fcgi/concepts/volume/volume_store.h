/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Create and delete volumes on their hosts, and compare them with their rows. A row is written
 * before its volume is created, and deleted after it. A process that dies in between leaves a
 * lease; when it ends, the dispatcher deletes the volume.
 */
#pragma once

#include "volume/volume.h"
#include "worker/worker.h"

struct volume_create {
    const char *user_id;
    const struct team *team;
    const char *name; /* checked */
    uint32_t size_gb; /* 0: as the plan says */
    /* Called inside the transaction that inserts the volume; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *volume_id, void *context, struct error **err);
    void *claim_context;
};

/* Create a volume. After a failure nothing stays for long. Errors: ERR_NAME_TAKEN,
 * ERR_VOLUME_QUOTA_EXCEEDED, ERR_NO_CAPACITY, ERR_INSUFFICIENT_STORAGE,
 * ERR_RUNTIME_UNAVAILABLE. */
int volume_create(struct worker *worker, const struct volume_create *request, struct volume *volume,
                  struct error **err);

/* Continue a creation whose first attempt was interrupted. Errors: those of volume_create(),
 * ERR_NOT_FOUND when it was given up. */
int volume_create_again(struct worker *worker, const char *id, struct volume *volume,
                        struct error **err);

/* Delete a volume with all its files. On success no client sees it any more; the data on the host
 * is deleted in the background. Errors: ERR_VOLUME_ATTACHED, ERR_NOT_FOUND. */
int volume_delete(struct worker *worker, const char *id, struct error **err);

/* --- for the dispatcher --- */

/* Delete a volume whose creation or deletion has no lease owner any more. *worked: there was
 * one. */
int volume_recover_next(struct worker *worker, bool *worked, struct error **err);

/* Compare rows and volumes of every host: delete volumes without a row, report missing volumes. */
int volume_sweep(struct worker *worker, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory images of paused sandboxes and of checkpoints: rows of memory_images. An image uses
 * paused_memory_gb of its team's plan, and of its user's share in all teams of the user together.
 * It is also promised on the disk of its host. It counts with the whole memory of its sandbox,
 * because no image is larger.
 */
#pragma once

#include "account/account.h"

struct memory_image {
    const char *id; /* of the sandbox or checkpoint; all texts are borrowed */
    const char *team_id, *user_id;
    uint32_t host_id, size_mb;
    bool in_transit; /* a move makes and ends it: it is counted, and never refused */
};

/* Insert the image's row inside a transaction, unless the row exists. Locks the user, the team and
 * the storage pool. Errors: ERR_STOPPED_QUOTA_EXCEEDED with limit and used in MiB;
 * ERR_INSUFFICIENT_STORAGE. */
int memory_image_take(struct db *db, const struct memory_image *image, struct error **err);

/* Delete the row of an image, if it exists. */
int memory_image_drop(struct db *db, const char *id, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove checkpoints. */
#pragma once

#include "checkpoint/checkpoint.h"
#include "worker/worker.h"

/* Delete a checkpoint. After success no client sees it any more. Its disk is removed in the
 * background if the runtime does not answer or a sandbox is being made from it. Errors:
 * ERR_NOT_FOUND. */
int checkpoint_delete(struct worker *worker, const char *id, struct error **err);

/* Delete a checkpoint whose disk is lost, unless the archive has a copy. *archived: the archive has
 * one, and the checkpoint stays. Errors: ERR_NOT_FOUND. */
int checkpoint_lose(struct worker *worker, const char *id, bool *archived, struct error **err);

/* Remove the disk of one checkpoint that is deleted, or was never finished; for the dispatcher.
 * *worked: there was one. */
int checkpoint_remove_next(struct worker *worker, bool *worked, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of checkpoints. */
#pragma once

#include "checkpoint/checkpoint.h"
#include "worker/worker.h"

/* Delete a checkpoint. Success means that it is gone for good as far as anyone can see; its disk
 * goes in the background when the runtime is away or a sandbox is still being made from it. Errors:
 * ERR_NOT_FOUND. */
int checkpoint_delete(struct worker *worker, const char *id, struct error **err);

/* Its disk is gone: the same, unless the archive has it. *archived: it has, and the checkpoint
 * stays. Errors: ERR_NOT_FOUND. */
int checkpoint_lose(struct worker *worker, const char *id, bool *archived, struct error **err);

/* For the dispatcher: remove the disk of one checkpoint that is deleted, or was never finished.
 * *worked: there was one. */
int checkpoint_remove_next(struct worker *worker, bool *worked, struct error **err);

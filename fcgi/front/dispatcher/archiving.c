/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of objects that are copied into the archive. */
#include "checkpoint/checkpoint_archive.h"
#include "dispatcher/jobs.h"
#include "sandbox/sandbox_archive.h"

int archive_next(struct worker *worker, bool *worked, struct error **err)
{
    static archive_look *const looks[ARCHIVE_KINDS] = {
        [ARCHIVE_SANDBOX] = sandbox_archive_look,
        [ARCHIVE_CHECKPOINT] = checkpoint_archive_look,
    };
    return archive_store_next(worker, looks, worked, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of all that was on a host which will not come back. */
#pragma once

#include "host/host.h"
#include "worker/worker.h"

struct host_loss {
    unsigned sandboxes, checkpoints, volumes;
    unsigned archived, archived_checkpoints; /* sandboxes and checkpoints that the archive has */
};

/* Sandboxes are stopped for good: their quota is free, a resume says what has happened, and
 * clean-up removes them after the time that their plan warns for. One that is in the archive is
 * stopped, and resumes from there on another host. Volumes are deleted, and so are checkpoints that
 * are not in the archive. May be repeated until it has succeeded: what is done is not done again.
 */
int sandbox_host_lost(struct worker *worker, const struct host *host, struct host_loss *loss,
                      struct error **err);

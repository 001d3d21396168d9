/* SPDX-License-Identifier: GPL-2.0-or-later */
/* End everything on a host that will not come back. */
#pragma once

#include "host/host.h"
#include "worker/worker.h"

struct host_loss {
    unsigned sandboxes, checkpoints, volumes;
    unsigned archived, archived_checkpoints; /* sandboxes and checkpoints that are in the archive */
};

/* Stop the host's sandboxes for good. Their quota is free, and a resume gives the reason. Clean-up
 * deletes them after the warning time of their plan. A sandbox in the archive is stopped, and
 * resumes from there on another host. Volumes are deleted, and so are checkpoints that are not in
 * the archive. You can repeat the call until it succeeds: it does nothing twice. */
int sandbox_host_lost(struct worker *worker, const struct host *host, struct host_loss *loss,
                      struct error **err);

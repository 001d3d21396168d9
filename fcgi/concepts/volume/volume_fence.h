/* SPDX-License-Identifier: GPL-2.0-or-later */
/* End the changes of a volume's files from outside, before an act that needs the volume for
 * itself. */
#pragma once

#include "volume/keeper_client.h"

struct volume_fencing {
    struct runtime *runtime; /* of the volume's host */
    /* Called before an act that would harm the work of a process that has taken over. Errors:
     * ERR_LEASE_LOST. */
    int (*still_ours)(void *context, struct error **err);
    void *context;
};

/* Make the volume server refuse changes that were allowed in an older generation. A volume server
 * that does not answer is deleted. */
int volume_fence_raise(struct worker *worker, const struct volume_fencing *by,
                       const struct volume_fence *fence, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before nothing but what we begin may write to a volume: changes of its files from outside end. */
#pragma once

#include "volume/keeper_client.h"

struct volume_fencing {
    struct runtime *runtime; /* of the volume's host */
    /* Before an act that would harm who has gone on without us. Errors: ERR_LEASE_LOST. */
    int (*still_ours)(void *context, struct error **err);
    void *context;
};

/* The keeper refuses what was allowed in an older generation; one that does not answer is ended. */
int volume_fence_raise(struct worker *worker, const struct volume_fencing *by,
                       const struct volume_fence *fence, struct error **err);

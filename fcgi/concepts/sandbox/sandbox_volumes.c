/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before a sandbox starts with volumes: no change of their files that was allowed before is made
 * from now on. */
#include "base/fault_point.h"
#include "base/mem.h"
#include "sandbox/lifecycle_steps.h"
#include "volume/volume_fence.h"

static int still_ours(void *context, struct error **err)
{
    return work_still_ours(context, err);
}

int work_fence_volumes(struct work *work, struct error **err)
{
    autofree struct volume_fence *fences = NULL;
    const struct volume_fencing by = {work->runtime, still_ours, work};
    unsigned count;
    if (!sandbox_has_volumes(&work->sandbox))
        return 0;
    fault_point(FAULT_VOLUMES_LOCKED);
    if (volume_fences(work->worker->db, work->sandbox.id, &fences, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (volume_fence_raise(work->worker, &by, &fences[i], err) < 0)
            return -1;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before a sandbox starts with volumes: end every change of their files that was allowed before. */
#include "base/fault_point.h"
#include "base/mem.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"
#include "volume/volume_fence.h"

static int still_ours(void *context, struct error **err)
{
    return work_still_ours(context, err);
}

int work_lock_volumes(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    uint32_t host_id;
    if (!sandbox_has_volumes(sandbox))
        return 0;
    if (volume_mounts_lock_again(db, sandbox->id, err) < 0 ||
        sandbox_row_volumes_host(db, sandbox, &host_id, err) < 0)
        return -1;
    if (host_id == sandbox->host_id)
        return 0;
    error_set(err, ERR_NO_CAPACITY,
              "The sandbox's volumes have moved to another host, which has no room for the sandbox "
              "now; try again soon.");
    (*err)->retry_after_s = SANDBOX_FOLLOW_RETRY_S;
    return -1;
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

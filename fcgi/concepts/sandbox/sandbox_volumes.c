/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before a sandbox starts with volumes: no change of their files that was allowed before is made
 * from now on. */
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/lifecycle_steps.h"
#include "volume/keeper_client.h"

/* A keeper that does not answer is ended, and with it whatever it had in hand; the next one that is
 * needed is made anew. */
static int end_keeper(struct work *work, const struct keeper *keeper, struct error **err)
{
    enum runtime_status status;
    if (work->runtime->ops->inspect(work->runtime, keeper->instance_name, &status, err) < 0)
        return -1;
    if (status == RUNTIME_ABSENT || status == RUNTIME_STOPPED)
        return 0;
    if (work_still_ours(work, err) < 0)
        return -1;
    log_warning("stopping a volume server that does not answer",
                LOG_STR("instance", keeper->instance_name));
    return work->runtime->ops->destroy(work->runtime, keeper->instance_name, err);
}

static int fence(struct work *work, const struct volume_fence *fence, struct error **err)
{
    struct worker *worker = work->worker;
    struct keeper keeper;
    bool reached = false;
    if (keeper_get(worker->db, fence->host_id, &keeper, err) < 0)
        return -1;
    if (keeper.instance_name[0] &&
        (keeper_fence(worker, &keeper, fence->volume_id, fence->generation, &reached, err) < 0 ||
         (!reached && end_keeper(work, &keeper, err) < 0)))
        return -1;
    fault_point(FAULT_VOLUMES_FENCED);
    return volume_fence_done(worker->db, fence, err);
}

int work_fence_volumes(struct work *work, struct error **err)
{
    autofree struct volume_fence *fences = NULL;
    unsigned count;
    if (!sandbox_has_volumes(&work->sandbox))
        return 0;
    fault_point(FAULT_VOLUMES_LOCKED);
    if (volume_fences(work->worker->db, work->sandbox.id, &fences, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (fence(work, &fences[i], err) < 0)
            return -1;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/volume_fence.h"

#include "base/fault_point.h"
#include "base/log.h"

/* Delete a volume server that does not answer, which ends all its requests. The next request
 * creates a new one. */
static int end_keeper(const struct volume_fencing *by, const struct keeper *keeper,
                      struct error **err)
{
    enum runtime_status status;
    if (by->runtime->ops->inspect(by->runtime, keeper->instance_name, &status, err) < 0)
        return -1;
    if (status == RUNTIME_ABSENT || status == RUNTIME_STOPPED)
        return 0;
    if (by->still_ours(by->context, err) < 0)
        return -1;
    log_warning("stopping a volume server that does not answer",
                LOG_STR("instance", keeper->instance_name));
    return by->runtime->ops->destroy(by->runtime, keeper->instance_name, err);
}

int volume_fence_raise(struct worker *worker, const struct volume_fencing *by,
                       const struct volume_fence *fence, struct error **err)
{
    struct keeper keeper;
    bool reached = false;
    if (keeper_get(worker->db, fence->host_id, &keeper, err) < 0)
        return -1;
    if (keeper.instance_name[0] &&
        (keeper_fence(worker, &keeper, fence->volume_id, fence->generation, &reached, err) < 0 ||
         (!reached && end_keeper(by, &keeper, err) < 0)))
        return -1;
    fault_point(FAULT_VOLUMES_FENCED);
    return volume_fence_done(worker->db, fence, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_lost.h"

#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "account/usage.h"
#include "account/usage_kept.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/mem.h"
#include "checkpoint/checkpoint_removal.h"
#include "checkpoint/checkpoint_row.h"
#include "checkpoint/memory_image.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"
#include "volume/volume_row.h"

#define AT_ONCE 100
#define HOUR_MS (60 * 60 * (int64_t)1000)

static int note_body(struct db *db, void *context, struct error **err)
{
    const uint32_t *host_id = context;
    return host_note_lost(db, *host_id, err);
}

/* --- sandboxes --- */

struct losing {
    const struct host *host;
    const char *id;
    bool is_made; /* its create still runs, and undoes it */
    bool lost, archived;
};

/* Set the time at which clean-up deletes it. */
static int foresee_removal(struct db *db, struct sandbox *sandbox, struct error **err)
{
    struct team team;
    struct plan plan;
    if (team_get_by_slug(db, sandbox->team_slug, &team, err) < 0 ||
        plan_get(db, team.plan, &plan, err) < 0)
        return -1;
    sandbox->cleanup_at_ms = clock_now_ms() + plan.cleanup_warning_hours * HOUR_MS;
    return 0;
}

/* End the operation. Its worker notices that at its next renewal. */
static int end_operation(struct db *db, struct sandbox *sandbox, struct error **err)
{
    char id[ID_SIZE];
    if (!sandbox->operation_id[0])
        return 0;
    memcpy(id, sandbox->operation_id, sizeof id);
    sandbox->operation_id[0] = '\0';
    return operation_drop(db, id, "the host is lost", err);
}

/* End the usage at the time when the host stopped answering; the rest is not billed. What the
 * archive has stays stored. */
static int end_usage(struct db *db, const struct losing *losing, struct error **err)
{
    int64_t down_ms = losing->host->condition.down_since_ms;
    if (!down_ms)
        down_ms = losing->host->condition.silent_since_ms;
    return usage_follow(db, losing->id, losing->archived ? USAGE_STORAGE : USAGE_NONE,
                        down_ms ? down_ms : clock_now_ms(), err);
}

/* Check whether the sandbox is still to be ended. A paused sandbox in the archive loses nothing
 * and stays as it is. */
static bool may_lose(const struct losing *losing, const struct sandbox *sandbox)
{
    bool is_stopped = sandbox->state == SANDBOX_STOPPED;
    bool done = losing->host->condition.lost_at_ms && is_stopped && sandbox->cleanup_at_ms;
    return sandbox_state_is_shown(sandbox->state) && !losing->is_made && !done &&
           !(is_stopped && losing->archived);
}

static int lose_body(struct db *db, void *context, struct error **err)
{
    struct losing *losing = context;
    sandbox_auto sandbox = {0};
    losing->lost = losing->archived = false;
    if (sandbox_get_any(db, losing->id, true, &sandbox, err) < 0 ||
        archive_has(db, losing->id, &losing->archived, err) < 0 ||
        operation_makes(db, sandbox.operation_id, &losing->is_made, err) < 0)
        return -1;
    if (!may_lose(losing, &sandbox))
        return 0;
    if (sandbox_state_next(sandbox.state, SANDBOX_EVENT_LOST, &sandbox.state, err) < 0 ||
        end_operation(db, &sandbox, err) < 0 ||
        (!losing->archived && foresee_removal(db, &sandbox, err) < 0))
        return -1;
    sandbox.incarnation++;
    sandbox_apply_event(&sandbox, SANDBOX_EVENT_LOST);
    losing->lost = !losing->archived;
    if (sandbox_row_update(db, &sandbox, err) < 0 || end_usage(db, losing, err) < 0 ||
        memory_image_drop(db, sandbox.id, err) < 0)
        return -1;
    return sandbox_tell_move(db, &sandbox, SANDBOX_EVENT_LOST, false, err);
}

static int lose_sandboxes(struct worker *worker, const struct host *host, struct host_loss *loss,
                          struct error **err)
{
    char ids[AT_ONCE][ID_SIZE], after[ID_SIZE] = "";
    unsigned found;
    do {
        if (sandbox_row_kept_on_host(worker->db, host->id, after, AT_ONCE, ids, &found, err) < 0)
            return -1;
        for (unsigned i = 0; i < found; i++) {
            struct losing losing = {.host = host, .id = ids[i]};
            if (db_transaction(worker->db, lose_body, &losing, err) < 0)
                return -1;
            loss->sandboxes += losing.lost;
            loss->archived += losing.archived;
            memcpy(after, ids[i], sizeof after);
        }
    } while (found == AT_ONCE);
    return 0;
}

/* --- checkpoints and volumes --- */

static int lose_checkpoints(struct worker *worker, const struct host *host, struct host_loss *loss,
                            struct error **err)
{
    autofree struct checkpoint *list = NULL;
    unsigned found;
    if (checkpoint_row_on_host(worker->db, host->id, &list, &found, err) < 0)
        return -1;
    for (unsigned i = 0; i < found; i++) {
        error_auto failure = NULL;
        bool archived;
        int result = checkpoint_lose(worker, list[i].id, &archived, &failure);
        if (result < 0 && failure->code != ERR_NOT_FOUND) /* deleted meanwhile */
            return error_move(err, &failure);
        loss->checkpoints += result == 0 && !archived;
        loss->archived_checkpoints += archived;
    }
    return 0;
}

struct volume_loss {
    const char *id;
    bool lost;
};

static int lose_volume_body(struct db *db, void *context, struct error **err)
{
    struct volume_loss *loss = context;
    volume_auto volume = {0};
    loss->lost = false;
    if (volume_get_any(db, loss->id, true, &volume, err) < 0)
        return -1;
    if (volume.state != VOLUME_READY)
        return 0;
    loss->lost = true;
    return usage_kept_end(db, loss->id, err) < 0 ? -1 : volume_row_delete(db, loss->id, 0, err);
}

static int lose_volumes(struct worker *worker, const struct host *host, unsigned *count,
                        struct error **err)
{
    autofree char(*ids)[ID_SIZE] = NULL;
    size_t found;
    if (volume_row_list_on_host(worker->db, host->id, &ids, &found, err) < 0)
        return -1;
    for (size_t i = 0; i < found; i++) {
        struct volume_loss loss = {.id = ids[i]};
        if (db_transaction(worker->db, lose_volume_body, &loss, err) < 0)
            return -1;
        *count += loss.lost;
    }
    return 0;
}

int sandbox_host_lost(struct worker *worker, const struct host *host, struct host_loss *loss,
                      struct error **err)
{
    uint32_t host_id = host->id;
    *loss = (struct host_loss){0};
    if (db_transaction(worker->db, note_body, &host_id, err) < 0 ||
        lose_sandboxes(worker, host, loss, err) < 0 ||
        lose_checkpoints(worker, host, loss, err) < 0)
        return -1;
    return lose_volumes(worker, host, &loss->volumes, err);
}

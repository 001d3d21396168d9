/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of an instance with its memory, and instances that continue from such a copy.
 *
 * Incus starts an instance from an image only if its own records say that it was paused. A copy
 * under another name loses this record, and keeps the image, which is in its volume. If the
 * configuration of such an instance says so, fcgi/host/helper/launcher replaces its first start by
 * a restore. Otherwise a snapshot of the copy does: a "stateful" restore of the snapshot checks
 * only that an image exists. The wrapper of CRIU gives the restored processes the addresses of the
 * copy before one of its processes runs.
 *
 * For a running instance, CRIU writes the image first, and does not end the instance. Then Incus
 * copies the disk. The wrapper of CRIU lets the instance continue when both exist. Otherwise files
 * would be newer than the memory of the processes that have them open. If Incus froze the instance,
 * it would stand still for a second more (freezer.c of liblxc).
 */
#include "base/fault_point.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

static bool is_busy(const struct runtime_incus *runtime)
{
    return incus_last_error(runtime->incus) == INCUS_ERROR_BUSY;
}

static int unfreeze(struct runtime_incus *runtime, const char *name, struct error **err)
{
    struct incus_state_change order = {.action = INCUS_UNFREEZE};
    return incus_instance_change(runtime->incus, name, &order, err);
}

int runtime_incus_snapshot_drop(struct runtime *base, const char *name, const char *snapshot,
                                struct error **err)
{
    if (incus_instance_snapshot_delete(runtime_incus_of(base)->incus, name, snapshot, err) == 0)
        return 0;
    return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
}

/* --- the copy --- */

struct capture {
    struct runtime_incus *runtime;
    const char *name, *copy, *owner;
    struct incus_instance original;
};

static int not_kept(struct error **err)
{
    if ((*err)->code != ERR_RUNTIME_REFUSED)
        return -1;
    return error_recode(err, runtime_memory_refusal((*err)->message));
}

/* The snapshot is called like the copy that is made from it, so that the clean-up finds it. An
 * earlier version may have left the instance frozen. */
static int dump(struct capture *capture, enum runtime_status status, struct error **err)
{
    struct runtime_incus *runtime = capture->runtime;
    if (status == RUNTIME_FROZEN && unfreeze(runtime, capture->name, err) < 0)
        return -1;
    if (incus_instance_snapshot(runtime->incus, capture->name, capture->copy, true, err) < 0)
        return not_kept(err);
    fault_point(FAULT_COPY_DUMPED);
    return 0;
}

static int copy_from(struct capture *capture, const char *source, struct error **err)
{
    json_auto_t *body =
        runtime_copy_body(capture->copy, source, capture->original.devices, false, capture->owner);
    return incus_instance_create(capture->runtime->incus, body, err);
}

/* An earlier attempt may have left one, or half of one. */
static int drop_snapshot(struct capture *capture, struct error **err)
{
    return runtime_incus_snapshot_drop(&capture->runtime->base, capture->name, capture->copy, err);
}

static int copy_running(struct capture *capture, enum runtime_status status, struct error **err)
{
    autofree char *source = xasprintf("%s/%s", capture->name, capture->copy);
    if (drop_snapshot(capture, err) < 0 || dump(capture, status, err) < 0 ||
        copy_from(capture, source, err) < 0)
        return -1;
    return drop_snapshot(capture, err);
}

/* An earlier attempt may have made the copy, or a part. *whole: it is complete. */
static int look_at_copy(struct capture *capture, bool *whole, struct error **err)
{
    incus_instance_auto found = {0};
    enum runtime_status status;
    *whole = false;
    if (runtime_look(capture->runtime, capture->copy, &found, &status, err) < 0)
        return -1;
    if (status == RUNTIME_ABSENT)
        return 0;
    *whole = str_equal(incus_instance_config(&found, RUNTIME_KEY_ROLE), "checkpoint");
    return *whole ? 0 : runtime_incus_destroy(&capture->runtime->base, capture->copy, err);
}

/* Returns 1 when somebody else is at work on the original. */
static int look_at_original(struct capture *capture, enum runtime_status *status,
                            struct error **err)
{
    if (runtime_look(capture->runtime, capture->name, &capture->original, status, err) < 0)
        return -1;
    switch (*status) {
    case RUNTIME_PAUSED:
    case RUNTIME_RUNNING:
    case RUNTIME_FROZEN:
        return 0;
    case RUNTIME_STOPPED:
        return error_set(err, ERR_MEMORY_NOT_KEPT, "instance %s has no saved memory",
                         capture->name);
    case RUNTIME_ABSENT:
        return error_set(err, ERR_NOT_FOUND, "instance %s is not on its host", capture->name);
    default:
        return 1;
    }
}

/* One attempt. Returns 1 when it must be looked at again later. */
static int copy_step(struct capture *capture, struct error **err)
{
    struct runtime_incus *runtime = capture->runtime;
    enum runtime_status status;
    bool whole;
    if (look_at_copy(capture, &whole, err) < 0)
        return -1;
    int result = whole ? 0 : look_at_original(capture, &status, err);
    if (whole || result)
        return result;
    result = status == RUNTIME_PAUSED ? copy_from(capture, capture->name, err)
                                      : copy_running(capture, status, err);
    json_auto_t *config = json_pack("{s:s}", RUNTIME_KEY_ROLE, "checkpoint");
    if (result == 0 && incus_instance_patch(runtime->incus, capture->copy, config, NULL, err) == 0)
        return 0;
    return is_busy(runtime) ? 1 : -1;
}

/* The memory of a paused one lies beside its disk. */
static int snapshot_step(struct capture *capture, struct error **err)
{
    struct runtime_incus *runtime = capture->runtime;
    enum runtime_status status;
    int result = look_at_original(capture, &status, err);
    if (result)
        return result;
    result = drop_snapshot(capture, err);
    if (result == 0)
        result = status == RUNTIME_PAUSED ? incus_instance_snapshot(runtime->incus, capture->name,
                                                                    capture->copy, false, err)
                                          : dump(capture, status, err);
    return result < 0 && is_busy(runtime) ? 1 : result;
}

static int capture_by(struct capture *capture,
                      int (*step)(struct capture *capture, struct error **err), struct error **err)
{
    struct runtime_turns turns = runtime_turns_begin();
    int result;
    while ((result = step(capture, err)) > 0)
        if ((result = runtime_turn(capture->runtime, &turns, err)) < 0)
            break;
    incus_instance_deinit(&capture->original);
    return result ? error_context(err, "cannot create copy %s of instance %s with its memory",
                                  capture->copy, capture->name)
                  : 0;
}

int runtime_incus_copy_memory(struct runtime *base, const char *name, const char *copy,
                              const char *owner, uint32_t *size_mb, struct error **err)
{
    struct capture capture = {runtime_incus_of(base), name, copy, owner, {.name = ""}};
    if (capture_by(&capture, copy_step, err) < 0)
        return -1;
    return runtime_incus_measure_copy(base, name, copy, false, size_mb, err);
}

int runtime_incus_snapshot_memory(struct runtime *base, const char *name, const char *snapshot,
                                  struct error **err)
{
    struct capture capture = {runtime_incus_of(base), name, snapshot, NULL, {.name = ""}};
    return capture_by(&capture, snapshot_step, err);
}

int runtime_incus_undo_copy_memory(struct runtime *base, const char *name, const char *copy,
                                   struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    enum runtime_status status;
    bool busy;
    if (runtime_look(runtime, name, NULL, &status, err) < 0)
        return -1;
    if (status == RUNTIME_ABSENT)
        return 0;
    if (status == RUNTIME_FROZEN && unfreeze(runtime, name, err) < 0)
        return -1;
    /* An order whose giver is gone may still make the snapshot. */
    if (incus_instance_busy(runtime->incus, name, &busy, err) < 0)
        return -1;
    if (busy)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "instance %s is still being copied", name);
    return runtime_incus_snapshot_drop(base, name, copy, err);
}

/* --- going on from it --- */

static int make(struct runtime_incus *runtime, const struct runtime_instance *instance,
                struct error **err)
{
    json_auto_t *body = runtime_create_body(runtime, instance);
    if (!body)
        return error_set(err, ERR_INTERNAL, "%s is not an IPv4 address", instance->address);
    if (instance->step_by_step)
        json_object_set_new(body, "start", json_false());
    if (incus_instance_create(runtime->incus, body, err) == 0)
        return 0;
    error_context(err, "cannot create instance %s from %s", instance->name, instance->source);
    /* The missing object is its source. */
    return (*err)->code == ERR_NOT_FOUND ? error_recode(err, ERR_RUNTIME_REFUSED) : -1;
}

/* One order starts it, or three. */
static int bring_up(struct runtime_incus *runtime, const struct runtime_instance *instance,
                    struct error **err)
{
    if (make(runtime, instance, err) < 0)
        return -1;
    if (!instance->step_by_step)
        return 0;
    return incus_instance_snapshot(runtime->incus, instance->name, RUNTIME_MEMORY_SNAPSHOT, false,
                                   err) < 0
               ? -1
               : incus_instance_restore(runtime->incus, instance->name, RUNTIME_MEMORY_SNAPSHOT,
                                        err);
}

/* An instance that an earlier attempt has started is whole; of one that does not run it cannot be
 * told how far it came, and it is made again. Returns 1 when there is nothing to do but wait. */
static int continue_step(struct runtime_incus *runtime, const struct runtime_instance *instance,
                         struct error **err)
{
    enum runtime_status status;
    if (runtime_look(runtime, instance->name, NULL, &status, err) < 0)
        return -1;
    if (status == RUNTIME_OTHER)
        return 1;
    if (!runtime_is_down(status))
        return 0;
    if (status != RUNTIME_ABSENT && runtime_incus_destroy(&runtime->base, instance->name, err) < 0)
        return -1;
    if (bring_up(runtime, instance, err) == 0)
        return 0;
    return is_busy(runtime) ? 1 : -1;
}

int runtime_incus_continue(struct runtime *base, const struct runtime_instance *instance,
                           struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct runtime_turns turns = runtime_turns_begin();
    int result;
    while ((result = continue_step(runtime, instance, err)) > 0)
        if (runtime_turn(runtime, &turns, err) < 0)
            return -1;
    return result;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopped copies of an instance's disk. Incus copies a running instance in one order; on btrfs that
 * is a snapshot of the subvolume, which first flushes the guest's writes. The copy therefore holds
 * every write that had returned before the order.
 */
#include "base/str.h"
#include "runtime/runtime_incus.h"

static const char *const roles[] = {
    [RUNTIME_CHECKPOINT] = "checkpoint",
    [RUNTIME_SOURCE] = "source",
};

struct copying {
    struct runtime_incus *runtime;
    const char *name, *copy, *role, *owner;
    bool virtual_machine;
};

static bool is_busy(const struct copying *copying)
{
    return incus_last_error(copying->runtime->incus) == INCUS_ERROR_BUSY;
}

/* Returns 1 when somebody else is at work on the original. */
static int make(struct copying *copying, struct error **err)
{
    struct incus *incus = copying->runtime->incus;
    incus_instance_auto original = {0};
    if (incus_instance_get(incus, copying->name, &original, err) < 0)
        return -1;
    copying->virtual_machine = original.virtual_machine;
    json_auto_t *body = runtime_copy_body(copying->copy, copying->name, original.devices,
                                          original.virtual_machine, copying->owner);
    if (incus_instance_create(incus, body, err) == 0)
        return 0;
    return is_busy(copying) ? 1 : -1;
}

/* The role says that the copy is whole. */
static int finish(struct copying *copying, struct error **err)
{
    json_auto_t *config = json_pack("{s:s}", RUNTIME_KEY_ROLE, copying->role);
    if (incus_instance_patch(copying->runtime->incus, copying->copy, config, NULL, err) == 0)
        return 0;
    return is_busy(copying) ? 1 : -1;
}

/* One attempt. Returns 1 when it must be looked at again later. */
static int step(struct copying *copying, bool *made, struct error **err)
{
    struct runtime_incus *runtime = copying->runtime;
    incus_instance_auto found = {0};
    enum runtime_status status;
    int result = 0;
    if (*made)
        return finish(copying, err);
    if (runtime_look(runtime, copying->copy, &found, &status, err) < 0)
        return -1;
    if (status != RUNTIME_ABSENT) {
        copying->virtual_machine = found.virtual_machine;
        if (str_equal(incus_instance_config(&found, RUNTIME_KEY_ROLE), copying->role))
            return 0;
        /* The leftover of an interrupted attempt: it is not marked as complete. */
        if (runtime_incus_destroy(&runtime->base, copying->copy, err) < 0)
            return -1;
    }
    result = make(copying, err);
    if (result)
        return result;
    *made = true;
    return finish(copying, err);
}

int runtime_incus_measure_copy(struct runtime *base, const char *name, const char *copy,
                               bool virtual_machine, uint32_t *size_mb, struct error **err)
{
    uint64_t own = 0, copied = 0;
    /* Where the pool counts data for whom wrote it, that is the original; elsewhere a copy counts
     * in full. */
    if (runtime_incus_measure_disk(base, name, virtual_machine, &own, err) < 0 ||
        runtime_incus_measure_disk(base, copy, virtual_machine, &copied, err) < 0)
        return -1;
    uint64_t bytes = own > copied ? own : copied;
    *size_mb = (uint32_t)((bytes + (1 << 20) - 1) >> 20);
    return 0;
}

int runtime_incus_copy(struct runtime *base, const char *name, const char *copy,
                       enum runtime_copy kind, const char *owner, uint32_t *size_mb,
                       struct error **err)
{
    struct copying copying = {runtime_incus_of(base), name, copy, roles[kind], owner, false};
    struct runtime_turns turns = runtime_turns_begin();
    bool made = false;
    int result;
    while ((result = step(&copying, &made, err)) > 0)
        if (runtime_turn(copying.runtime, &turns, err) < 0)
            return -1;
    if (result)
        return error_context(err, "cannot create copy %s of instance %s", copy, name);
    return size_mb
               ? runtime_incus_measure_copy(base, name, copy, copying.virtual_machine, size_mb, err)
               : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making and removing instances. */
#include "base/log.h"
#include "base/mem.h"
#include "runtime/runtime_incus.h"

/* A refusal that another caller of the same instance explains: look again. */
static bool somebody_else(const struct runtime_incus *runtime, const struct error *err)
{
    switch (incus_last_error(runtime->incus)) {
    case INCUS_ERROR_BUSY:
    case INCUS_ERROR_EXISTS:
    case INCUS_ERROR_RUNNING:
    case INCUS_ERROR_STOPPED:
        return err->code == ERR_RUNTIME_REFUSED;
    default:
        return false;
    }
}

/* --- create --- */

/* A create that somebody else is at, or left unfinished. */
struct creation {
    struct runtime_incus *runtime;
    const struct runtime_instance *instance;
    bool remade; /* an unfinished one was removed once */
};

static int make(struct creation *creation, struct error **err)
{
    json_auto_t *body = runtime_create_body(creation->runtime, creation->instance);
    if (!body)
        return error_set(err, ERR_INTERNAL, "%s is not an IPv4 address",
                         creation->instance->address);
    if (incus_instance_create(creation->runtime->incus, body, err) == 0)
        return 0;
    error_context(err, "cannot create instance %s from %s", creation->instance->name,
                  creation->instance->source);
    /* The missing object is its source. */
    if ((*err)->code == ERR_NOT_FOUND)
        error_recode(err, ERR_RUNTIME_REFUSED);
    return -1;
}

/*
 * Start an existing instance. The copy behind an instance that never ran may be incomplete, left by
 * a daemon that was killed in its middle. Do not try to start it: a start creates a directory in
 * the place of the volume, and then Incus can neither start nor delete it. It has no tenant's data,
 * so it is created again; not while an operation runs, which is another caller's create. Returns 1
 * then.
 */
static int start(struct creation *creation, const struct incus_instance *found, struct error **err)
{
    struct incus_state_change change = {.action = INCUS_START, .stateful = found->stateful};
    struct incus *incus = creation->runtime->incus;
    bool busy;
    if (found->ever_started)
        return incus_instance_change(incus, found->name, &change, err);
    if (incus_instance_busy(incus, found->name, &busy, err) < 0)
        return -1;
    if (busy)
        return 1;
    if (creation->remade)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "instance %s did not start, and was created twice", found->name);
    log_warning("an instance was not created completely; creating it again",
                LOG_STR("instance", found->name));
    creation->remade = true;
    if (runtime_incus_destroy(&creation->runtime->base, found->name, err) < 0)
        return -1;
    return make(creation, err);
}

/* Look and do the next thing. Returns 1 when there is nothing to do but wait. */
static int advance(struct creation *creation, struct error **err)
{
    struct runtime_incus *runtime = creation->runtime;
    struct incus_state_change thaw = {.action = INCUS_UNFREEZE};
    incus_instance_auto found = {0};
    enum runtime_status status;
    if (runtime_look(runtime, creation->instance->name, &found, &status, err) < 0)
        return -1;
    switch (status) {
    case RUNTIME_RUNNING:
        return 0;
    case RUNTIME_ABSENT:
        return make(creation, err);
    case RUNTIME_STOPPED:
    case RUNTIME_PAUSED:
        return start(creation, &found, err);
    case RUNTIME_FROZEN:
        return incus_instance_change(runtime->incus, creation->instance->name, &thaw, err);
    case RUNTIME_OTHER:
        break;
    }
    return 1;
}

int runtime_incus_create(struct runtime *base, const struct runtime_instance *instance,
                         struct error **err)
{
    struct creation creation = {.runtime = runtime_incus_of(base), .instance = instance};
    struct runtime_turns turns = runtime_turns_begin();
    if (runtime_check_address(instance, err) < 0)
        return -1;
    int result = make(&creation, err);
    while (result) {
        if (result < 0 && !somebody_else(creation.runtime, *err))
            return -1;
        if (runtime_turn(creation.runtime, &turns, err) < 0)
            return -1;
        result = advance(&creation, err);
    }
    return 0;
}

/* --- adapt --- */

/* Set /dev/shm of the next start. The host sets that of a running instance. */
static void add_shared_memory(json_t *config, const struct incus_instance *found,
                              const struct runtime_resources *resources)
{
    const char *lxc = incus_instance_config(found, "raw.lxc");
    autofree char *resized = runtime_lxc_resized(lxc, resources->memory_mb);
    if (*lxc)
        json_object_set_new(config, "raw.lxc", json_string(resized));
}

int runtime_incus_adapt(struct runtime *base, const char *name,
                        const struct runtime_resources *resources,
                        const struct runtime_mount *mounts, unsigned mount_count,
                        struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    incus_instance_auto found = {0};
    json_auto_t *config = NULL;
    json_auto_t *devices = json_object();
    if (resources) {
        if (incus_instance_get(runtime->incus, name, &found, err) < 0)
            return -1;
        config = runtime_size_config(resources, found.virtual_machine);
        add_shared_memory(config, &found, resources);
        json_object_set_new(devices, "root",
                            runtime_sized_root(incus_instance_device(&found, "root", "pool"),
                                               resources, found.virtual_machine));
    }
    runtime_add_mounts(devices, runtime->pool, mounts, mount_count);
    return runtime_patch(runtime, name, config, devices, err);
}

/* --- destroy --- */

static int remove_step(struct runtime_incus *runtime, const char *name, struct error **err)
{
    struct incus_state_change stop = {.action = INCUS_STOP, .force = true};
    enum runtime_status status;
    if (runtime_look(runtime, name, NULL, &status, err) < 0)
        return -1;
    if (status == RUNTIME_ABSENT)
        return 0;
    if (status != RUNTIME_STOPPED && status != RUNTIME_PAUSED &&
        incus_instance_change(runtime->incus, name, &stop, err) < 0 &&
        incus_last_error(runtime->incus) != INCUS_ERROR_STOPPED)
        return -1;
    error_clear(err);
    return incus_instance_delete(runtime->incus, name, err);
}

int runtime_incus_destroy(struct runtime *base, const char *name, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct runtime_turns turns = runtime_turns_begin();
    while (remove_step(runtime, name, err) < 0) {
        if (error_clear_if(err, ERR_NOT_FOUND))
            return 0;
        if (!somebody_else(runtime, *err))
            return error_context(err, "cannot remove instance %s", name);
        if (runtime_turn(runtime, &turns, err) < 0)
            return -1;
    }
    return 0;
}

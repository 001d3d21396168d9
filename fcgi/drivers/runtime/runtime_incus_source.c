/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Template sources: stopped instances whose copies start without further preparation. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

/* How long the start of a source, whose init ends at once, may be seen running. */
#define FIRST_START_MOST_MS (10 * 1000)

static int make(struct runtime_incus *runtime, const char *source, const char *fingerprint,
                bool virtual_machine, struct error **err)
{
    json_auto_t *body = runtime_source_body(source, fingerprint, virtual_machine);
    return incus_instance_create(runtime->incus, body, err);
}

/* While incusd ends, it may not report the operation. */
static int look_at_end(struct runtime_incus *runtime, const char *source,
                       enum runtime_status *status, struct error **err)
{
    *status = RUNTIME_RUNNING;
    if (runtime_look(runtime, source, NULL, status, err) == 0)
        return 0;
    if (incus_last_error(runtime->incus) != INCUS_ERROR_BUSY)
        return -1;
    error_clear(err);
    return 0;
}

/* The first start of an unprivileged container moves its files to the host's range of user ids,
 * which takes longer than everything else in a create; copies inherit the result. */
static int shift(struct runtime_incus *runtime, const char *source, struct error **err)
{
    struct incus_state_change start = {.action = INCUS_START};
    struct incus_state_change stop = {.action = INCUS_STOP, .force = true};
    int64_t give_up_ms = clock_monotonic_ms() + FIRST_START_MOST_MS;
    enum runtime_status status;
    if (incus_instance_change(runtime->incus, source, &start, err) < 0) {
        if (incus_last_error(runtime->incus) != INCUS_ERROR_BUSY)
            return error_context(err, "the first start of template source %s", source);
        error_clear(err); /* it has ended before incusd saw that it runs */
    }
    for (;;) {
        if (look_at_end(runtime, source, &status, err) < 0)
            return -1;
        if (status == RUNTIME_STOPPED)
            return 0;
        if (clock_monotonic_ms() > give_up_ms)
            break;
        if (incus_idle(runtime->incus, 50, err) < 0)
            return -1;
    }
    if (incus_instance_change(runtime->incus, source, &stop, err) == 0)
        return 0;
    if (incus_last_error(runtime->incus) != INCUS_ERROR_STOPPED)
        return -1;
    error_clear(err);
    return 0;
}

static int finish(struct runtime_incus *runtime, const char *source, struct error **err)
{
    json_auto_t *config = json_pack("{s:s, s:s}", "raw.lxc", "", RUNTIME_KEY_ROLE, "source");
    /* The instance counts as stopped a moment before its stop operation has ended. */
    return runtime_patch(runtime, source, config, NULL, err);
}

/* Whether the source is there and finished; its fingerprint is that of the image it was made of. */
static int is_ready(struct runtime_incus *runtime, const char *source, bool *ready, bool *there,
                    char **fingerprint, bool *virtual_machine, struct error **err)
{
    incus_instance_auto instance = {0};
    enum runtime_status status;
    *ready = false;
    if (runtime_look(runtime, source, &instance, &status, err) < 0)
        return -1;
    *there = status != RUNTIME_ABSENT;
    if (status != RUNTIME_STOPPED ||
        !str_equal(incus_instance_config(&instance, RUNTIME_KEY_ROLE), "source"))
        return 0;
    *ready = true;
    *fingerprint = xstrdup(incus_instance_config(&instance, "volatile.base_image"));
    *virtual_machine = instance.virtual_machine;
    return 0;
}

int runtime_incus_build_source(struct runtime *base, const char *source, const char *image,
                               char **fingerprint, bool *virtual_machine, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    autofree char *resolved = NULL;
    bool ready, there;
    if (is_ready(runtime, source, &ready, &there, fingerprint, virtual_machine, err) < 0)
        return -1;
    if (ready)
        return 0;
    if (incus_image_resolve(runtime->incus, image, &resolved, virtual_machine, err) < 0)
        return -1;
    /* The leftover of an interrupted build. Two builds of one version at a time would disturb each
     * other; the callers build one after the other. */
    if (there && runtime_incus_destroy(base, source, err) < 0)
        return -1;
    if (make(runtime, source, resolved, *virtual_machine, err) < 0)
        return -1;
    if (!*virtual_machine && shift(runtime, source, err) < 0)
        return -1;
    if (finish(runtime, source, err) < 0)
        return -1;
    *fingerprint = steal_pointer(&resolved);
    return 0;
}

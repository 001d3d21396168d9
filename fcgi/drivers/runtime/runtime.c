/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void runtime_source_name(const char *version_id, char name[INSTANCE_NAME_SIZE])
{
    snprintf(name, INSTANCE_NAME_SIZE, "tpl-%s", version_id + strlen("tpv_"));
}

void runtime_close(struct runtime *runtime)
{
    if (runtime)
        runtime->ops->close(runtime);
}

static int check_limit(void *context, struct error **err)
{
    const struct runtime *runtime = context;
    if (clock_monotonic_ms() < runtime->limit_ms)
        return 0;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the host does not answer in time");
}

void runtime_limit(struct runtime *runtime, unsigned ms)
{
    runtime->limit_ms = clock_monotonic_ms() + ms;
    runtime->tick = ms ? check_limit : NULL;
    runtime->tick_context = runtime;
}

void runtime_usage_free(struct runtime_usage *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

const struct runtime_listing *runtime_listing_find(const struct runtime_listing *list, size_t count,
                                                   const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

void runtime_listing_free(struct runtime_listing *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].sandbox_id);
    }
    free(list);
}

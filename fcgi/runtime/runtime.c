/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtime/runtime.h"

#include <stdlib.h>

void runtime_close(struct runtime *runtime)
{
    if (runtime)
        runtime->ops->close(runtime);
}

void runtime_usage_free(struct runtime_usage *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    free(list);
}

void runtime_listing_free(struct runtime_listing *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].sandbox_id);
    }
    free(list);
}

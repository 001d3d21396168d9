/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes: custom volumes of the host's storage pool. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "runtime/runtime_incus.h"

int runtime_incus_volume_create(struct runtime *base, const char *name, unsigned size_gb,
                                struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *config = runtime_volume_config(size_gb);
    if (incus_volume_create(runtime->incus, runtime->pool, name, config, err) == 0)
        return 0;
    if (incus_last_error(runtime->incus) != INCUS_ERROR_EXISTS)
        return error_context(err, "volume %s", name);
    error_clear(err);
    return 0;
}

int runtime_incus_volume_delete(struct runtime *base, const char *name, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    if (incus_volume_delete(runtime->incus, runtime->pool, name, err) == 0)
        return 0;
    if (error_clear_if(err, ERR_NOT_FOUND))
        return 0;
    if (incus_last_error(runtime->incus) == INCUS_ERROR_IN_USE)
        error_recode(err, ERR_VOLUME_ATTACHED);
    return error_context(err, "cannot remove volume %s", name);
}

int runtime_incus_volume_list(struct runtime *base, struct runtime_volume **list, size_t *count,
                              struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_volume *found;
    if (incus_volume_list(runtime->incus, runtime->pool, &found, count, err) < 0)
        return -1;
    *list = xcalloc(*count + 1, sizeof(**list));
    for (size_t i = 0; i < *count; i++) {
        memcpy((*list)[i].name, found[i].name, sizeof((*list)[i].name));
        (*list)[i].created_at_ms = found[i].created_at_ms;
    }
    free(found);
    return 0;
}

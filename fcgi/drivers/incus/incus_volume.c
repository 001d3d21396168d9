/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Custom volumes of a storage pool. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "incus/incus_internal.h"

char *incus_volumes_path(struct incus *incus, const char *pool, const char *name)
{
    autofree char *base = incus_path(incus, "storage-pools", pool);
    autofree char *volumes = xasprintf("%s/volumes", base);
    if (!name)
        return xasprintf("%s/custom", volumes);
    autofree char *one = incus_path(incus, "custom", name);
    return xasprintf("%s/%s", volumes, one + strlen("/1.0/"));
}

int incus_volume_create(struct incus *incus, const char *pool, const char *name, json_t *config,
                        struct error **err)
{
    autofree char *path = incus_volumes_path(incus, pool, NULL);
    json_auto_t *body = json_pack("{s:s, s:s, s:s, s:O}", "name", name, "type", "custom",
                                  "content_type", "filesystem", "config", config);
    return incus_order_new(incus, path, body, err);
}

int incus_volume_delete(struct incus *incus, const char *pool, const char *name, struct error **err)
{
    autofree char *path = incus_volumes_path(incus, pool, name);
    return incus_order(incus, "DELETE", path, NULL, err);
}

int incus_volume_list(struct incus *incus, const char *pool, struct incus_volume **list,
                      size_t *count, struct error **err)
{
    autofree char *path = incus_volumes_path(incus, pool, NULL);
    autofree char *deep = xasprintf("%s?recursion=1", path);
    json_auto_t *array = NULL;
    json_t *json;
    size_t i;
    if (incus_get_large(incus, deep, &array, err) < 0)
        return -1;
    *list = xcalloc(json_array_size(array) + 1, sizeof(**list));
    *count = 0;
    json_array_foreach (array, i, json) {
        const char *name = json_string_value(json_object_get(json, "name"));
        const char *created = json_string_value(json_object_get(json, "created_at"));
        struct incus_volume *volume = &(*list)[*count];
        if (!name || strlen(name) >= sizeof volume->name)
            continue;
        memcpy(volume->name, name, strlen(name) + 1);
        if (!created || clock_parse_iso8601(created, &volume->created_at_ms))
            volume->created_at_ms = 0;
        ++*count;
    }
    return 0;
}

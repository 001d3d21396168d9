/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "incus/incus_metrics.h"
#include "runtime/runtime_incus.h"

int runtime_incus_measure(struct runtime *base, struct runtime_usage **out, size_t *out_count,
                          struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    autofree struct incus_usage *found = NULL;
    size_t count, used = 0;

    if (incus_metrics_get(runtime->incus, &found, &count, err))
        return -1;
    struct runtime_usage *list = xcalloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        if (!found[i].has_cpu || !found[i].has_memory)
            continue;
        uint64_t idle = found[i].free_bytes + found[i].cached_bytes;
        list[used++] = (struct runtime_usage){
            .name = xstrdup(found[i].name),
            .virtual_machine = found[i].virtual_machine,
            .cpu_ms = found[i].cpu_ms,
            .memory_bytes = found[i].memory_bytes > idle ? found[i].memory_bytes - idle : 0,
            .cache_bytes = found[i].cached_bytes,
        };
    }
    *out = list;
    *out_count = used;
    return 0;
}

int runtime_incus_measure_disk(struct runtime *base, const char *name, bool virtual_machine,
                               uint64_t *used_bytes, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *state = NULL;
    autofree char *path = xasprintf("/1.0/storage-pools/%s/volumes/%s/%s/state", runtime->pool,
                                    virtual_machine ? "virtual-machine" : "container", name);

    if (incus_get(runtime->incus, path, &state, err))
        return -1;
    json_int_t used = json_integer_value(json_object_get(json_object_get(state, "usage"), "used"));
    *used_bytes = used > 0 ? (uint64_t)used : 0;
    return 0;
}

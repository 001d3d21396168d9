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
    if (incus_metrics_get(runtime->incus, &found, &count, err) < 0)
        return -1;
    struct runtime_usage *list = xcalloc(count + 1, sizeof *list);
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
            .memory_kills = found[i].memory_kills,
        };
    }
    *out = list;
    *out_count = used;
    return 0;
}

/* Read the volume and not the instance: incusd enters an instance to read its state, and fails
 * while its init ends. */
int runtime_incus_measure_disk(struct runtime *base, const char *name, bool virtual_machine,
                               uint64_t *used_bytes, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *state = NULL;
    autofree char *path = xasprintf("/1.0/storage-pools/%s/volumes/%s/%s/state", runtime->pool,
                                    virtual_machine ? "virtual-machine" : "container", name);
    if (incus_get(runtime->incus, path, &state, err) < 0)
        return -1;
    json_int_t used = json_integer_value(json_object_get(json_object_get(state, "usage"), "used"));
    *used_bytes = used > 0 ? (uint64_t)used : 0;
    return 0;
}

int runtime_incus_console(struct runtime *base, const char *name, char tail[RUNTIME_CONSOLE_SIZE],
                          struct error **err)
{
    const char *text;
    if (incus_instance_console(runtime_incus_of(base)->incus, name, &text, err) < 0)
        return -1;
    runtime_console_tail(text, tail);
    return 0;
}

int runtime_incus_memory_loss(struct runtime *base, const char *name, char cause[MEMORY_LOSS_SIZE],
                              struct error **err)
{
    return incus_instance_memory_loss(runtime_incus_of(base)->incus, name, cause, err);
}

int runtime_incus_measure_source(struct runtime *base, const char *source, const char *fingerprint,
                                 bool virtual_machine, uint32_t *size_mb, struct error **err)
{
    struct incus *incus = runtime_incus_of(base)->incus;
    uint64_t image, own;
    if (incus_image_size(incus, fingerprint, &image, err) < 0 ||
        runtime_incus_measure_disk(base, source, virtual_machine, &own, err) < 0)
        return -1;
    *size_mb = (uint32_t)((image + own + (1 << 20) - 1) >> 20);
    return 0;
}

int runtime_incus_measure_pool(struct runtime *base, uint64_t *total_bytes, uint64_t *used_bytes,
                               struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *resources = NULL;
    autofree char *path = xasprintf("/1.0/storage-pools/%s/resources", runtime->pool);
    json_int_t used, total;
    if (incus_get(runtime->incus, path, &resources, err) < 0)
        return -1;
    if (json_unpack(resources, "{s:{s:I, s:I}}", "space", "used", &used, "total", &total) < 0 ||
        total < 0 || used < 0)
        return error_set(err, ERR_RUNTIME_REFUSED, "Incus: the storage pool %s has no size",
                         runtime->pool);
    *total_bytes = (uint64_t)total;
    *used_bytes = (uint64_t)used;
    return 0;
}

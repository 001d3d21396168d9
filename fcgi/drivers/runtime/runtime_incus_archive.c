/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances and volumes to files, and back. */
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

static struct incus_archive archive_of(const struct runtime_incus *runtime,
                                       enum runtime_object object, const char *name)
{
    return (struct incus_archive){
        .object = object == RUNTIME_INSTANCE ? INCUS_INSTANCE : INCUS_VOLUME,
        .pool = runtime->pool,
        .name = name,
    };
}

int runtime_incus_export(struct runtime *base, enum runtime_object object, const char *name,
                         FILE *to, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_archive archive = archive_of(runtime, object, name);
    autofree char *driver = NULL;
    if (incus_pool_driver(runtime->incus, runtime->pool, &driver, err) < 0)
        return -1;
    archive.optimized = str_equal(driver, "btrfs");
    return incus_export(runtime->incus, &archive, to, err);
}

/* Whether something of that name is there. */
static int is_there(struct runtime_incus *runtime, enum runtime_object object, const char *name,
                    bool *there, struct error **err)
{
    enum runtime_status status = RUNTIME_ABSENT;
    if (object == RUNTIME_INSTANCE) {
        int result = runtime_look(runtime, name, NULL, &status, err);
        *there = status != RUNTIME_ABSENT;
        return result;
    }
    autofree struct runtime_volume *volumes = NULL;
    size_t count = 0;
    *there = false;
    if (runtime_incus_volume_list(&runtime->base, &volumes, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        *there |= str_equal(volumes[i].name, name);
    return 0;
}

int runtime_incus_import(struct runtime *base, enum runtime_object object, const char *name,
                         FILE *from, bool *made, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_archive archive = archive_of(runtime, object, name);
    bool there;
    if (is_there(runtime, object, name, &there, err) < 0)
        return -1;
    *made = !there;
    return there ? 0 : incus_import(runtime->incus, &archive, from, err);
}

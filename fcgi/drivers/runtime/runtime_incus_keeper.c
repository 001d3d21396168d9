/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's instance: made of nothing, so that it depends on no template. */
#include <string.h>

#include "base/mem.h"
#include "runtime/runtime_incus.h"

int runtime_incus_keeper_start(struct runtime *base, const struct runtime_keeper *keeper,
                               struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_state_change start = {.action = INCUS_START};
    json_auto_t *body = runtime_keeper_body(runtime, keeper);
    const struct incus_file files[] = {
        {.path = "/dev", .is_directory = true, .mode = 0755},
        {.path = "/proc", .is_directory = true, .mode = 0755},
        {.path = "/sys", .is_directory = true, .mode = 0755},
        {.path = "/volumes", .is_directory = true, .mode = 0700},
        {.path = "/secret", .mode = 0400, .data = keeper->secret, .size = strlen(keeper->secret)},
        {.path = RUNTIME_KEEPER_PROGRAM,
         .mode = 0500,
         .data = keeper->program,
         .size = keeper->program_size},
    };
    if (!body)
        return error_set(err, ERR_INTERNAL, "%s is not an IPv4 address", keeper->address);
    if (incus_instance_create(runtime->incus, body, err) < 0)
        return error_context(err, "cannot create volume server %s", keeper->name);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (incus_instance_push(runtime->incus, keeper->name, &files[i], err) < 0)
            return error_context(err, "cannot write %s in volume server %s", files[i].path,
                                 keeper->name);
    return incus_instance_change(runtime->incus, keeper->name, &start, err);
}

int runtime_incus_keeper_mount(struct runtime *base, const char *name, const char *volume,
                               const char *volume_id, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *devices =
        json_pack("{s:{s:s, s:s, s:s, s:o}}", volume, "type", "disk", "pool", runtime->pool,
                  "source", volume, "path", json_sprintf("/volumes/%s", volume_id));
    return runtime_patch(runtime, name, NULL, devices, err);
}

int runtime_incus_keeper_unmount(struct runtime *base, const char *name, const char *volume,
                                 struct error **err)
{
    return incus_instance_remove_device(runtime_incus_of(base)->incus, name, volume, err);
}

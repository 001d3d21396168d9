/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances and volumes to files, and back. */
#include <errno.h>
#include <sys/stat.h>

#include "base/fault_point.h"
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

/* Whether the name is taken. */
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

/* From its present place to its end. */
static int import_rest(struct runtime_incus *runtime, const struct incus_archive *archive,
                       FILE *from, struct error **err)
{
    struct stat info;
    if (fstat(fileno(from), &info) < 0)
        return error_set_errno(err, ERR_CONFIG, errno,
                               "cannot read the fetched file of the archive");
    return incus_import(runtime->incus, archive, from, (uint64_t)(info.st_size - ftello(from)),
                        err);
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
    return there ? 0 : import_rest(runtime, &archive, from, err);
}

/* --- under a token --- */

/* Its link has a name that none has had here. */
static json_t *taken_devices(const struct runtime_incus *runtime, const json_t *found)
{
    char host_name[RUNTIME_HOST_NAME_SIZE];
    json_t *devices = json_object(), *nic = json_object_get(found, "eth0");
    runtime_host_name(runtime->nic_prefix, host_name);
    if (json_object_get(nic, "host_name")) {
        nic = json_deep_copy(nic);
        json_object_set_new(nic, "host_name", json_string(host_name));
        json_object_set_new(devices, "eth0", nic);
    }
    return devices;
}

static const char *role_of(const json_t *found)
{
    const char *role =
        json_string_value(json_object_get(json_object_get(found, "config"), RUNTIME_KEY_ROLE));
    return role && str_equal(role, "checkpoint") ? role : "sandbox";
}

/* The token comes last: without it the copy counts as incomplete. */
static int name_taken(struct runtime_incus *runtime, const char *name, const char *token,
                      struct error **err)
{
    json_auto_t *found = NULL;
    if (incus_instance_describe(runtime->incus, name, &found, err) < 0)
        return -1;
    json_auto_t *config =
        json_pack("{s:s, s:s}", RUNTIME_KEY_ROLE, role_of(found), RUNTIME_KEY_TAKEN, token);
    json_auto_t *devices = taken_devices(runtime, json_object_get(found, "devices"));
    return incus_instance_patch(runtime->incus, name, config, devices, err);
}

int runtime_incus_take_in(struct runtime *base, const char *name, const char *token, FILE *from,
                          uint64_t size, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_archive archive = archive_of(runtime, RUNTIME_INSTANCE, name);
    incus_instance_auto found = {0};
    enum runtime_status status;
    if (runtime_look(runtime, name, &found, &status, err) < 0)
        return -1;
    if (status != RUNTIME_ABSENT &&
        str_equal(incus_instance_config(&found, RUNTIME_KEY_TAKEN), token))
        return 0;
    if (status != RUNTIME_ABSENT && runtime_incus_destroy(base, name, err) < 0)
        return -1;
    if (incus_import(runtime->incus, &archive, from, size, err) < 0)
        return -1;
    fault_point(FAULT_ARCHIVE_TAKEN);
    return name_taken(runtime, name, token, err);
}

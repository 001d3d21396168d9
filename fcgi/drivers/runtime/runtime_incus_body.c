/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, addresses and JSON bodies; nothing here talks. */
#include <arpa/inet.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

/* The space of a memory dump in addition to the memory. */
#define IMAGE_MARGIN_MB 64

/* The owner of a new volume's root: the user of a sandbox, as its own root sees it. Root in the
 * sandbox can write everywhere in it as well. */
#define VOLUME_OWNER "1000"

/* The ranges of user ids for instances with an address: those in Debian's range for Incus, without
 * the first, which instances without an address have. */
#define USERS_FIRST  1065536
#define USERS_EACH   65536
#define USERS_RANGES 15257

void runtime_host_name(const char *prefix, char out[RUNTIME_HOST_NAME_SIZE])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    char random[14];
    for (size_t i = 0; i < sizeof random - 1; i++)
        random[i] = letters[randombytes_uniform(sizeof letters - 1)];
    random[sizeof random - 1] = '\0';
    snprintf(out, RUNTIME_HOST_NAME_SIZE, "%.2s%s", prefix, random);
}

int runtime_hwaddr(const char *address, char out[RUNTIME_HWADDR_SIZE])
{
    struct in_addr parsed;
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return -1;
    link_address(ntohl(parsed.s_addr), out);
    return 0;
}

json_t *runtime_users_config(const char *address)
{
    struct in_addr parsed;
    if (inet_pton(AF_INET, address, &parsed) != 1)
        return NULL;
    unsigned range = ntohl(parsed.s_addr) % USERS_RANGES;
    return json_pack("{s:s, s:o}", "security.idmap.isolated", "true", "security.idmap.base",
                     json_sprintf("%u", USERS_FIRST + range * USERS_EACH));
}

/* sandlot-boot reads three octets of the address from the card, and the first one is always 10. */
int runtime_check_address(const struct runtime_instance *instance, struct error **err)
{
    if (!instance->virtual_machine || str_starts_with(instance->address, "10."))
        return 0;
    return error_set(
        err, ERR_RUNTIME_REFUSED,
        "a virtual machine needs an address in 10.0.0.0/8, and the range of its host gives %s",
        instance->address);
}

void runtime_root_size(const struct runtime_resources *resources, char out[RUNTIME_SIZE_SIZE])
{
    snprintf(out, RUNTIME_SIZE_SIZE, "%uGiB", resources->disk_gb);
}

void runtime_root_size_paused(const struct runtime_resources *resources,
                              char out[RUNTIME_SIZE_SIZE])
{
    /* By the limit and not by the memory in use, which may grow until the guest is frozen. */
    unsigned long long size_mb =
        (unsigned long long)resources->disk_gb * 1024 + resources->memory_mb + IMAGE_MARGIN_MB;
    snprintf(out, RUNTIME_SIZE_SIZE, "%lluMiB", size_mb);
}

enum runtime_status runtime_status_of(const struct incus_instance *instance)
{
    switch (instance->status) {
    case INCUS_STOPPED:
        return instance->stateful ? RUNTIME_PAUSED : RUNTIME_STOPPED;
    case INCUS_RUNNING:
        return RUNTIME_RUNNING;
    case INCUS_FROZEN:
        return RUNTIME_FROZEN;
    case INCUS_IN_BETWEEN:
        break;
    }
    return RUNTIME_OTHER;
}

json_t *runtime_project_config(void)
{
    /* Images stay common: they are imported once, and addressed by alias from any project. */
    return json_pack("{s:s, s:s, s:s, s:s}", "features.images", "false", "features.networks",
                     "false", "features.profiles", "true", "features.storage.volumes", "true");
}

json_t *runtime_profile_config(bool virtual_machine)
{
    json_t *config =
        json_pack("{s:s, s:s, s:s, s:s}", "boot.autostart", "false", "boot.host_shutdown_timeout",
                  "10", "migration.stateful", "true", "security.guestapi", "false");
    if (virtual_machine) {
        /* The kernel of an image has Debian's signature, but what loads it has none. */
        json_object_set_new(config, "security.secureboot", json_string("false"));
        return config;
    }
    json_auto_t *container = runtime_confinement();
    json_object_update(config, container);
    return config;
}

json_t *runtime_root_device(const char *pool, const char *size)
{
    json_t *device = json_pack("{s:s, s:s, s:s}", "type", "disk", "path", "/", "pool", pool);
    if (size)
        json_object_set_new(device, "size", json_string(size));
    return device;
}

json_t *runtime_profile_devices(const char *pool)
{
    return json_pack("{s:o}", "root", runtime_root_device(pool, NULL));
}

json_t *runtime_nic_device(const char *address, const char *hwaddr, const char *host_name,
                           bool virtual_machine)
{
    json_t *device =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "type", "nic", "nictype", "routed", "name",
                  "eth0", "ipv4.address", address, "hwaddr", hwaddr, "host_name", host_name);
    /* Incus 6.0 gives a machine's card without a parent the MTU 0, which the kernel refuses. */
    if (virtual_machine)
        json_object_set_new(device, "mtu", json_string("1500"));
    return device;
}

json_t *runtime_source_body(const char *name, const char *fingerprint, bool virtual_machine)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:[s], s:{s:s}}", "name", name, "type",
                     virtual_machine ? "virtual-machine" : "container", "source", "type", "image",
                     "fingerprint", fingerprint, "profiles",
                     virtual_machine ? RUNTIME_PROFILE_VM : RUNTIME_PROFILE, "config",
                     RUNTIME_KEY_ROLE, "building");
}

json_t *runtime_copy_body(const char *name, const char *original, const json_t *devices,
                          bool virtual_machine, const char *owner)
{
    json_t *without = json_object();
    const char *device;
    json_t *ignored;
    /* Devices that are not named here would come along. */
    json_object_foreach ((json_t *)devices, device, ignored)
        if (strcmp(device, "root") != 0)
            json_object_set_new(without, device, json_pack("{s:s}", "type", "none"));
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:b}, s:[s], s:{s:s, s:s}, s:o}", "name", name,
                     "type", virtual_machine ? "virtual-machine" : "container", "source", "type",
                     "copy", "source", original, "instance_only", 1, "profiles",
                     virtual_machine ? RUNTIME_PROFILE_VM : RUNTIME_PROFILE, "config",
                     RUNTIME_KEY_ROLE, "copying", RUNTIME_KEY_SANDBOX, owner, "devices", without);
}

json_t *runtime_size_config(const struct runtime_resources *resources, bool virtual_machine)
{
    json_t *config = json_pack("{s:o, s:o}", "limits.cpu", json_sprintf("%u", resources->cpu),
                               "limits.memory", json_sprintf("%uMiB", resources->memory_mb));
    if (!virtual_machine)
        json_object_set_new(config, "limits.cpu.allowance",
                            json_sprintf("%u%%", resources->cpu * CPU_WEIGHT_PERCENT));
    return config;
}

json_t *runtime_sized_root(const char *pool, const struct runtime_resources *resources,
                           bool virtual_machine)
{
    char size[RUNTIME_SIZE_SIZE];
    runtime_root_size(resources, size);
    json_t *root = runtime_root_device(pool, size);
    /* A virtual machine's memory goes into a volume of its own size. */
    if (virtual_machine)
        json_object_set_new(root, "size.state",
                            json_sprintf("%uMiB", resources->memory_mb + IMAGE_MARGIN_MB));
    return root;
}

json_t *runtime_keeper_body(const struct runtime_incus *runtime,
                            const struct runtime_keeper *keeper)
{
    char hwaddr[RUNTIME_HWADDR_SIZE], host_name[RUNTIME_HOST_NAME_SIZE];
    if (runtime_hwaddr(keeper->address, hwaddr) < 0)
        return NULL;
    runtime_host_name(runtime->nic_prefix, host_name);
    autofree char *lxc = runtime_lxc(NULL, RUNTIME_KEEPER_PROGRAM);
    json_t *config = runtime_users_config(keeper->address);
    json_auto_t *own = json_pack("{s:s, s:s, s:s}", RUNTIME_KEY_ROLE, "keeper", "limits.memory",
                                 "512MiB", "raw.lxc", lxc);
    json_object_update(config, own);
    return json_pack("{s:s, s:s, s:{s:s}, s:[s], s:o, s:{s:o, s:o}}", "name", keeper->name, "type",
                     "container", "source", "type", "none", "profiles", RUNTIME_PROFILE, "config",
                     config, "devices", "root", runtime_root_device(runtime->pool, "1GiB"), "eth0",
                     runtime_nic_device(keeper->address, hwaddr, host_name, false));
}

void runtime_add_mounts(json_t *devices, const char *pool, const struct runtime_mount *mounts,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char device[16];
        snprintf(device, sizeof device, "vol%u", i);
        json_object_set_new(devices, device,
                            json_pack("{s:s, s:s, s:s, s:s}", "type", "disk", "pool", pool,
                                      "source", mounts[i].volume, "path", mounts[i].path));
    }
}

json_t *runtime_volume_config(unsigned size_gb)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:s}", "size", json_sprintf("%uGiB", size_gb),
                     "security.shifted", "true", "initial.mode", "0755", "initial.uid",
                     VOLUME_OWNER, "initial.gid", VOLUME_OWNER);
}

json_t *runtime_create_body(const struct runtime_incus *runtime,
                            const struct runtime_instance *instance)
{
    char hwaddr[RUNTIME_HWADDR_SIZE], host_name[RUNTIME_HOST_NAME_SIZE];
    bool virtual_machine = instance->virtual_machine;
    if (runtime_hwaddr(instance->address, hwaddr) < 0)
        return NULL;
    runtime_host_name(runtime->nic_prefix, host_name);
    json_t *config = runtime_size_config(&instance->resources, virtual_machine);
    json_object_set_new(config, RUNTIME_KEY_ROLE, json_string("sandbox"));
    json_object_set_new(config, RUNTIME_KEY_SANDBOX, json_string(instance->sandbox_id));
    if (!virtual_machine) {
        autofree char *lxc = runtime_lxc(instance, NULL);
        json_auto_t *users = runtime_users_config(instance->address);
        json_object_set_new(config, "raw.lxc", json_string(lxc));
        json_object_update(config, users);
    }
    json_t *devices =
        json_pack("{s:o, s:o}", "root",
                  runtime_sized_root(runtime->pool, &instance->resources, virtual_machine), "eth0",
                  runtime_nic_device(instance->address, hwaddr, host_name, virtual_machine));
    runtime_add_mounts(devices, runtime->pool, instance->mounts, instance->mount_count);
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:b}, s:[s], s:b, s:o, s:o}", "name", instance->name,
                     "type", virtual_machine ? "virtual-machine" : "container", "source", "type",
                     "copy", "source", instance->source, "instance_only", 1, "profiles",
                     virtual_machine ? RUNTIME_PROFILE_VM : RUNTIME_PROFILE, "start", 1, "config",
                     config, "devices", devices);
}

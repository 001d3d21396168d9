/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances: lists and orders. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "incus/incus_internal.h"

/* Status codes of Incus' instances that are worth telling apart. */
#define STATUS_STOPPED 102
#define STATUS_RUNNING 103
#define STATUS_FROZEN  110
#define STATUS_READY   113

static enum incus_status status_of(json_t *json)
{
    switch (json_integer_value(json_object_get(json, "status_code"))) {
    case STATUS_STOPPED:
        return INCUS_STOPPED;
    case STATUS_RUNNING:
    case STATUS_READY:
        return INCUS_RUNNING;
    case STATUS_FROZEN:
        return INCUS_FROZEN;
    default:
        return INCUS_IN_BETWEEN;
    }
}

int incus_instance_read(json_t *json, struct incus_instance *instance, struct error **err)
{
    const char *name = incus_string(json, "name");
    incus_instance_deinit(instance);
    if (*name == '\0' || strlen(name) >= sizeof instance->name)
        return error_set(err, ERR_RUNTIME_REFUSED, "Incus described an instance without a name");
    memcpy(instance->name, name, strlen(name) + 1);
    instance->status = status_of(json);
    instance->stateful = json_is_true(json_object_get(json, "stateful"));
    instance->virtual_machine = str_equal(incus_string(json, "type"), "virtual-machine");
    /* Go's zero time, or the epoch, until the first start. */
    instance->ever_started = !str_starts_with(incus_string(json, "last_used_at"), "1970-") &&
                             !str_starts_with(incus_string(json, "last_used_at"), "0001-");
    if (clock_parse_iso8601(incus_string(json, "created_at"), &instance->created_at_ms))
        instance->created_at_ms = 0;
    instance->config = json_incref(json_object_get(json, "config"));
    instance->devices = json_incref(json_object_get(json, "devices"));
    return 0;
}

void incus_instance_deinit(struct incus_instance *instance)
{
    json_decref(instance->config);
    json_decref(instance->devices);
    memset(instance, 0, sizeof *instance);
}

const char *incus_instance_config(const struct incus_instance *instance, const char *key)
{
    return incus_string(instance->config, key);
}

const char *incus_instance_device(const struct incus_instance *instance, const char *device,
                                  const char *key)
{
    return incus_string(json_object_get(instance->devices, device), key);
}

int incus_instance_get(struct incus *incus, const char *name, struct incus_instance *instance,
                       struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    json_auto_t *json = NULL;
    if (incus_get(incus, path, &json, err) < 0)
        return -1;
    return incus_instance_read(json, instance, err);
}

int incus_instance_list(struct incus *incus, struct incus_instance **list, size_t *count,
                        struct error **err)
{
    json_auto_t *array = NULL;
    json_t *json;
    size_t i;
    if (incus_get_large(incus, "/1.0/instances?recursion=1", &array, err) < 0)
        return -1;
    struct incus_instance *found = xcalloc(json_array_size(array) + 1, sizeof *found);
    json_array_foreach (array, i, json) {
        if (incus_instance_read(json, &found[i], err) < 0) {
            incus_instance_list_free(found, i);
            return -1;
        }
    }
    *list = found;
    *count = json_array_size(array);
    return 0;
}

void incus_instance_list_free(struct incus_instance *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        incus_instance_deinit(&list[i]);
    free(list);
}

int incus_instance_describe(struct incus *incus, const char *name, json_t **instance,
                            struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    return incus_get(incus, path, instance, err);
}

/* incusd keeps the last MiB of a virtual machine's console, and the last 128 KiB of a container's.
 */
#define CONSOLE_MAX ((size_t)2 << 20)

int incus_instance_console(struct incus *incus, const char *name, const char **text,
                           struct error **err)
{
    autofree char *instance = incus_path(incus, "instances", name);
    autofree char *path = xasprintf("%s/console", instance);
    return incus_get_text(incus, path, CONSOLE_MAX, text, err);
}

int incus_instance_memory_loss(struct incus *incus, const char *name, char cause[MEMORY_LOSS_SIZE],
                               struct error **err)
{
    autofree char *instance = incus_path(incus, "instances", name);
    autofree char *path = xasprintf("%s/logs/" MEMORY_LOSS_FILE, instance);
    const char *text;
    cause[0] = '\0';
    if (incus_get_text(incus, path, MEMORY_LOSS_SIZE, &text, err) < 0)
        return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
    snprintf(cause, MEMORY_LOSS_SIZE, "%s", text);
    return 0;
}

static bool concerns(json_t *operation, const char *path)
{
    json_t *resources = json_object_get(operation, "resources");
    json_t *url;
    size_t i;
    json_array_foreach (json_object_get(resources, "instances"), i, url) {
        const char *text = json_string_value(url);
        size_t length = strlen(path);
        if (text && strncmp(text, path, length) == 0 &&
            (text[length] == '\0' || text[length] == '?'))
            return true;
    }
    return false;
}

int incus_instance_busy(struct incus *incus, const char *name, bool *busy, struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    json_auto_t *operations = NULL;
    json_t *operation;
    size_t i;
    *busy = false;
    if (incus_get(incus, "/1.0/operations?recursion=1", &operations, err) < 0)
        return -1;
    json_array_foreach (json_object_get(operations, "running"), i, operation)
        *busy = *busy || concerns(operation, path);
    return 0;
}

int incus_instance_create(struct incus *incus, json_t *body, struct error **err)
{
    return incus_order_new(incus, "/1.0/instances", body, err);
}

int incus_instance_change(struct incus *incus, const char *name,
                          const struct incus_state_change *change, struct error **err)
{
    static const char *const actions[] = {
        [INCUS_START] = "start",
        [INCUS_STOP] = "stop",
        [INCUS_UNFREEZE] = "unfreeze",
    };
    autofree char *path = incus_path(incus, "instances", name);
    autofree char *state_path = xasprintf("%s/state", path);
    json_auto_t *body = json_pack("{s:s, s:b, s:b, s:i}", "action", actions[change->action],
                                  "stateful", change->stateful, "force", change->force, "timeout",
                                  change->timeout_s ? (int)change->timeout_s : 30);

    bool boots = change->action == INCUS_START && !change->stateful;
    return incus_order_within(incus, "PUT", state_path, body,
                              boots ? INCUS_START_MOST_S : INCUS_ORDER_MOST_S, err);
}

int incus_instance_patch(struct incus *incus, const char *name, json_t *config, json_t *devices,
                         struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    json_auto_t *body =
        json_pack("{s:O?, s:O?}", "config", config, "devices", devices); /* NULL becomes null */

    return incus_order(incus, "PATCH", path, body, err);
}

int incus_instance_snapshot(struct incus *incus, const char *name, const char *snapshot,
                            bool stateful, struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    autofree char *snapshots = xasprintf("%s/snapshots", path);
    json_auto_t *body = json_pack("{s:s, s:b}", "name", snapshot, "stateful", stateful);
    return incus_order(incus, "POST", snapshots, body, err);
}

int incus_instance_snapshot_delete(struct incus *incus, const char *name, const char *snapshot,
                                   struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    autofree char *one = xasprintf("%s/snapshots/%s", path, snapshot);
    return incus_order(incus, "DELETE", one, NULL, err);
}

int incus_instance_restore(struct incus *incus, const char *name, const char *snapshot,
                           struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    json_auto_t *body = json_pack("{s:s, s:b}", "restore", snapshot, "stateful", 1);
    return incus_order(incus, "PUT", path, body, err);
}

int incus_instance_remove_device(struct incus *incus, const char *name, const char *device,
                                 struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    json_auto_t *instance = NULL;
    if (incus_get(incus, path, &instance, err) < 0)
        return -1;
    if (json_object_del(json_object_get(instance, "devices"), device))
        return 0;
    return incus_order(incus, "PUT", path, instance, err);
}

int incus_instance_delete(struct incus *incus, const char *name, struct error **err)
{
    autofree char *path = incus_path(incus, "instances", name);
    return incus_order(incus, "DELETE", path, NULL, err);
}

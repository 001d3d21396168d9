/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instances that come from another host. Incus copies a paused one with its memory image; its
 * record that there is one goes with the order ("stateful"), or the image would be forgotten.
 *
 * An existing copy of a sandbox may come from an earlier move, and is replaced. A copy of a
 * checkpoint has the token of its move and of the attempt that started it. It is complete when the
 * same attempt has marked it; a delayed attempt cannot mark another one's copy.
 *
 * Where the receiver has the source of its template, a key of the instance names the source to the
 * sender, whose wrapper of btrfs sends the difference (fcgi/host/helper/btrfs/parent.h). If the
 * receiver refuses the difference, the whole instance is sent.
 */
#include <string.h>

#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

#define KEY_MOVE   "user.sandlot.move"
#define KEY_WHOLE  "user.sandlot.whole"
#define KEY_PARENT "user.sandlot.parent"

/* Incus' own keys of an instance belong to its host, except two: the shift of its file ids, and its
 * image. The key of the archive is left out too: an incomplete copy would count as complete. */
static bool goes_along(const char *key)
{
    static const char *const kept[] = {"volatile.base_image", "volatile.idmap.",
                                       "volatile.last_state.idmap", "volatile.uuid"};
    if (!str_starts_with(key, "volatile."))
        return !str_equal(key, RUNTIME_KEY_TAKEN);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (str_starts_with(key, kept[i]))
            return true;
    return false;
}

static json_t *moved_config(const json_t *original, const char *role, const char *token)
{
    json_t *config = json_object();
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)original, key, value)
        if (goes_along(key))
            json_object_set(config, key, value);
    json_object_set_new(config, RUNTIME_KEY_ROLE, json_string(role));
    if (token)
        json_object_set_new(config, KEY_MOVE, json_string(token));
    return config;
}

/* Its disk and its volumes lie in the pool of its new host, and its link has a name that none has
 * had there. */
static json_t *moved_devices(const struct runtime_incus *to, const json_t *original)
{
    char host_name[RUNTIME_HOST_NAME_SIZE];
    json_t *devices = json_deep_copy(original);
    json_t *nic = json_object_get(devices, "eth0"), *device;
    const char *name;
    runtime_host_name(to->nic_prefix, host_name);
    json_object_foreach (devices, name, device)
        if (json_object_get(device, "pool"))
            json_object_set_new(device, "pool", json_string(to->pool));
    if (json_object_get(nic, "host_name"))
        json_object_set_new(nic, "host_name", json_string(host_name));
    return devices;
}

json_t *runtime_move_body(const struct runtime_incus *to, const json_t *original, const char *role,
                          const char *token)
{
    json_t *body = json_object();
    static const char *const same[] = {"name", "type", "architecture", "stateful", "profiles"};
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        json_object_set(body, same[i], json_object_get(original, same[i]));
    json_object_set_new(body, "config",
                        moved_config(json_object_get(original, "config"), role, token));
    json_object_set_new(body, "devices", moved_devices(to, json_object_get(original, "devices")));
    return body;
}

/* --- one move --- */

struct receiving {
    struct runtime_incus *to, *from;
    const char *name;
    const char *begun, *whole;             /* its role while it is half there, and then */
    const struct runtime_receipt *receipt; /* NULL: no mark of a complete copy */
    const char *source;                    /* of its template; NULL: send the whole instance */
    bool differs;                          /* the difference is sent */
};

static bool is_whole(const struct receiving *receiving, const struct incus_instance *found)
{
    if (!receiving->receipt)
        return false;
    const char *begun = incus_instance_config(found, KEY_MOVE);
    size_t length = strlen(receiving->receipt->token);
    return str_equal(incus_instance_config(found, RUNTIME_KEY_ROLE), receiving->whole) &&
           str_equal(incus_instance_config(found, KEY_WHOLE), begun) &&
           str_starts_with(begun, receiving->receipt->token) && begun[length] == '/';
}

static int describe_original(const struct receiving *receiving, json_t **original,
                             struct error **err)
{
    incus_instance_auto found = {0};
    if (incus_instance_describe(receiving->from->incus, receiving->name, original, err) < 0)
        return (*err)->code == ERR_NOT_FOUND ? error_context(err, "its host does not have it") : -1;
    if (incus_instance_read(*original, &found, err) < 0)
        return -1;
    return runtime_is_down(runtime_status_of(&found))
               ? 0
               : error_set(err, ERR_RUNTIME_REFUSED, "instance %s is not stopped", receiving->name);
}

static int mark_whole(const struct receiving *receiving, const char *begun, struct error **err)
{
    json_auto_t *whole =
        json_pack("{s:s, s:s}", RUNTIME_KEY_ROLE, receiving->whole, KEY_WHOLE, begun);
    return incus_instance_patch(receiving->to->incus, receiving->name, whole, NULL, err);
}

static bool is_source(const struct incus_instance *found, enum runtime_status status)
{
    return status == RUNTIME_STOPPED &&
           str_equal(incus_instance_config(found, RUNTIME_KEY_ROLE), "source");
}

static int has_source(struct runtime_incus *runtime, const char *source, bool *has,
                      struct error **err)
{
    incus_instance_auto found = {0};
    enum runtime_status status;
    *has = false;
    if (source && runtime_look(runtime, source, &found, &status, err) < 0)
        return -1;
    *has = source && status != RUNTIME_ABSENT && is_source(&found, status);
    return 0;
}

/* The copy has the key as well, as it may go back. */
static int tell_parent(struct receiving *receiving, json_t *original, struct error **err)
{
    json_t *config = json_object_get(original, "config");
    const char *told = json_string_value(json_object_get(config, KEY_PARENT));
    if (has_source(receiving->to, receiving->source, &receiving->differs, err) < 0)
        return -1;
    const char *parent = receiving->differs ? receiving->source : "";
    if (str_equal(told ? told : "", parent))
        return 0;
    json_auto_t *change = json_pack("{s:s}", KEY_PARENT, parent);
    json_object_update(config, change);
    /* The sender needs a moment to notice that the receiver refused. */
    return runtime_patch(receiving->from, receiving->name, change, NULL, err);
}

static int fetch(struct receiving *receiving, struct error **err)
{
    const struct runtime_receipt *receipt = receiving->receipt;
    json_auto_t *original = NULL;
    if (describe_original(receiving, &original, err) < 0 ||
        tell_parent(receiving, original, err) < 0)
        return -1;
    autofree char *begun = receipt ? xasprintf("%s/%u", receipt->token, receipt->attempt) : NULL;
    json_auto_t *body = runtime_move_body(receiving->to, original, receiving->begun, begun);
    if (incus_instance_send(receiving->from->incus, receiving->to->incus, receiving->name, body,
                            err) < 0)
        return -1;
    fault_point(FAULT_MOVE_SENT);
    return receipt ? mark_whole(receiving, begun, err) : 0;
}

static int receive_once(struct receiving *receiving, struct error **err)
{
    incus_instance_auto found = {0};
    enum runtime_status status;
    if (runtime_look(receiving->to, receiving->name, &found, &status, err) < 0)
        return -1;
    if (status != RUNTIME_ABSENT && is_whole(receiving, &found))
        return 0;
    if (status != RUNTIME_ABSENT &&
        runtime_incus_destroy(&receiving->to->base, receiving->name, err) < 0)
        return -1;
    return fetch(receiving, err);
}

/* The two hosts may have built the template of different images, or have different versions of the
 * sending and receiving programs. */
static int receive(struct receiving *receiving, struct error **err)
{
    error_auto failure = NULL;
    if (receive_once(receiving, &failure) == 0)
        return 0;
    if (!receiving->differs || failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    log_warning(
        "cannot send an instance as the difference from its template; sending the whole instance",
        LOG_STR("instance", receiving->name), LOG_ERROR(failure));
    receiving->source = NULL;
    return receive_once(receiving, err);
}

int runtime_incus_receive(struct runtime *to, struct runtime *from, const char *name,
                          const char *source, struct error **err)
{
    struct receiving receiving = {
        .to = runtime_incus_of(to),
        .from = runtime_incus_of(from),
        .name = name,
        .begun = "sandbox",
        .whole = "sandbox",
        .source = source,
    };
    return receive(&receiving, err) < 0
               ? error_context(err, "cannot copy instance %s from another host", name)
               : 0;
}

int runtime_incus_receive_checkpoint(struct runtime *to, struct runtime *from, const char *name,
                                     const char *source, const struct runtime_receipt *receipt,
                                     struct error **err)
{
    struct receiving receiving = {
        .to = runtime_incus_of(to),
        .from = runtime_incus_of(from),
        .name = name,
        .begun = "building",
        .whole = "checkpoint",
        .receipt = receipt,
        .source = source,
    };
    return receive(&receiving, err) < 0
               ? error_context(err, "cannot copy checkpoint %s from another host", name)
               : 0;
}

int runtime_incus_receive_volume(struct runtime *to, struct runtime *from, const char *name,
                                 struct error **err)
{
    const struct incus_volume_place receiver = {runtime_incus_of(to)->incus,
                                                runtime_incus_of(to)->pool};
    const struct incus_volume_place sender = {runtime_incus_of(from)->incus,
                                              runtime_incus_of(from)->pool};
    if (runtime_incus_volume_delete(to, name, err) == 0 &&
        incus_volume_send(&sender, &receiver, name, err) == 0)
        return 0;
    return error_context(err, "cannot copy volume %s from another host", name);
}

/* --- sources --- */

static int send_source(struct runtime_incus *to, struct runtime_incus *from, const char *source,
                       struct error **err)
{
    json_auto_t *original = NULL;
    if (incus_instance_describe(from->incus, source, &original, err) < 0)
        return -1;
    json_auto_t *body = runtime_move_body(to, original, "building", NULL);
    json_auto_t *whole = json_pack("{s:s}", RUNTIME_KEY_ROLE, "source");
    if (incus_instance_send(from->incus, to->incus, source, body, err) < 0)
        return -1;
    return incus_instance_patch(to->incus, source, whole, NULL, err);
}

int runtime_incus_receive_source(struct runtime *base, struct runtime *from, const char *source,
                                 struct error **err)
{
    struct runtime_incus *to = runtime_incus_of(base);
    incus_instance_auto found = {0};
    enum runtime_status status;
    if (runtime_look(to, source, &found, &status, err) < 0)
        return -1;
    if (status != RUNTIME_ABSENT && is_source(&found, status))
        return 0;
    if (status != RUNTIME_ABSENT && runtime_incus_destroy(base, source, err) < 0)
        return -1;
    return send_source(to, runtime_incus_of(from), source, err);
}

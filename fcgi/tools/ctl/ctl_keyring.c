/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key file, and what the database has under its keys. */
#include <jansson.h>
#include <stdio.h>

#include "base/str.h"
#include "ctl/output.h"
#include "front/front.h"
#include "front/ring_use.h"

int ctl_keyring_new(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_create(path, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "file", path),
              "%s has one new key. Keep a copy apart from the database: without the key, the "
              "encrypted data cannot be read.",
              path);
    return 0;
}

int ctl_keyring_rotate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_rotate(path, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "file", path),
              "%s has a new key after the old ones. Restart all programs now, because running "
              "programs do not have the key.",
              path);
    return 0;
}

int ctl_keyring_add(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_add(path, err) < 0)
        return -1;
    ctl_print(
        ctl, json_pack("{s:s}", "file", path),
        "%s has a new key that no program uses yet. Copy the file to all other front nodes and "
        "restart the programs of all front nodes; then run `sandlotctl keyring use`.",
        path);
    return 0;
}

int ctl_keyring_use(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_use(path, err) < 0)
        return -1;
    ctl_print(
        ctl, json_pack("{s:s}", "file", path),
        "New data uses the newest key of %s. Copy the file to all other front nodes, and restart "
        "the programs of all front nodes.",
        path);
    return 0;
}

int ctl_keyring_forget(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    uint64_t id;
    bool forgotten;
    if (str_parse_u64(arguments->operands[0], 1, UINT16_MAX, &id) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "ID", "A key's id is 1 to 65535.");
    if (front_ring_forget(ctl->db, (uint16_t)id, &forgotten, err) < 0)
        return -1;
    if (!forgotten)
        return error_set(err, ERR_NOT_FOUND, "The deployment has no key %u.", (unsigned)id);
    ctl_print(
        ctl, json_pack("{s:i, s:b}", "id", (int)id, "forgotten", 1),
        "The deployment no longer expects key %u in key rings. Only a front node that still has "
        "the key can read the data of this key.",
        (unsigned)id);
    return 0;
}

/* --- old keys --- */

/* Describe the uses of a key; without JSON, also print them. */
static int describe(struct ctl *ctl, uint16_t key_id, json_t *keys, unsigned *count,
                    struct error **err)
{
    struct ring_use uses[RING_USES_MAX];
    if (ring_uses(ctl->db, key_id, uses, count, err) < 0)
        return -1;
    json_t *used_by = json_object();
    for (unsigned i = 0; i < *count; i++) {
        json_object_set_new(used_by, uses[i].what, json_integer((json_int_t)uses[i].count));
        if (!ctl->json)
            printf("key %u is needed by %llu %s\n", key_id, (unsigned long long)uses[i].count,
                   uses[i].what);
    }
    if (!ctl->json && !*count)
        printf("no data needs key %u; `sandlotctl keyring drop` removes it\n", key_id);
    json_array_append_new(keys, json_pack("{s:i, s:o}", "id", (int)key_id, "used_by", used_by));
    return 0;
}

/* Call act for each older key that was in use. */
static int each_old(struct ctl *ctl,
                    int (*act)(struct ctl *ctl, uint16_t key_id, void *context, struct error **err),
                    void *context, struct error **err)
{
    struct keyring_key key;
    for (size_t i = 0; keyring_key_at(ctl->ring, i, &key); i++)
        if (key.in_use && key.id != keyring_newest(ctl->ring) && act(ctl, key.id, context, err) < 0)
            return -1;
    return 0;
}

static int describe_old(struct ctl *ctl, uint16_t key_id, void *context, struct error **err)
{
    unsigned count;
    return describe(ctl, key_id, context, &count, err);
}

int ctl_keyring_reseal(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    uint64_t count;
    (void)arguments;
    if (ring_reseal(ctl->db, ctl->ring, &count, err) < 0)
        return -1;
    json_t *keys = json_array();
    if (each_old(ctl, describe_old, keys, err) < 0) {
        json_decref(keys);
        return -1;
    }
    ctl_print(ctl, json_pack("{s:I, s:o}", "resealed", (json_int_t)count, "old_keys", keys),
              "%llu values are encrypted again, with key %u.", (unsigned long long)count,
              keyring_newest(ctl->ring));
    return 0;
}

struct dropping {
    const char *path;
    json_t *dropped, *kept;
};

static int drop_unused(struct ctl *ctl, uint16_t key_id, void *context, struct error **err)
{
    struct dropping *dropping = context;
    unsigned count;
    bool forgotten;
    if (describe(ctl, key_id, dropping->kept, &count, err) < 0)
        return -1;
    if (count)
        return 0;
    json_array_remove(dropping->kept, json_array_size(dropping->kept) - 1);
    if (keyring_drop(dropping->path, key_id, err) < 0 ||
        front_ring_forget(ctl->db, key_id, &forgotten, err) < 0)
        return -1;
    json_array_append_new(dropping->dropped, json_integer(key_id));
    return 0;
}

int ctl_keyring_drop(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    /* A program that still seals with an old key would make data that needs it after the check. */
    if (front_ring_in_use(ctl->db, ctl->ring, err) < 0)
        return -1;
    struct dropping dropping = {arguments->operands[0], json_array(), json_array()};
    int result = each_old(ctl, drop_unused, &dropping, err);
    size_t count = json_array_size(dropping.dropped), kept = json_array_size(dropping.kept);
    if (result == 0 && !count && kept)
        result = error_set(err, ERR_INVALID_REQUEST,
                           "Each old key is still needed: run `sandlotctl keyring reseal`, and see "
                           "doc/howto/rotate-keys.md for data that this does not change.");
    if (result < 0) {
        json_decref(dropping.dropped);
        json_decref(dropping.kept);
        return -1;
    }
    ctl_print(
        ctl, json_pack("{s:o, s:o}", "dropped", dropping.dropped, "kept", dropping.kept),
        "%zu old key%s removed from %s. Copy the file to all other front nodes, and restart the "
        "programs of all front nodes.",
        count, count == 1 ? " is" : "s are", dropping.path);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/api_key.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "ctl/output.h"

/* A time ("2027-01-01T00:00:00Z") or a span from now ("90d", "1h30m"). */
static int parse_expiry(const char *text, int64_t *at_ms, struct error **err)
{
    uint64_t seconds;
    *at_ms = 0;
    if (!*text || clock_parse_iso8601(text, at_ms) == 0)
        return 0;
    if (duration_parse(text, &seconds) < 0)
        return error_set(err, ERR_INVALID_REQUEST,
                         "--expires must be a time such as 2027-01-01T00:00:00Z, or a span such as "
                         "90d or 1h30m.");
    *at_ms = clock_in_s(seconds);
    return 0;
}

json_t *ctl_key_json(const struct api_key *key, enum api_key_kind kind)
{
    json_t *teams = key->all_teams ? json_null() : json_array();
    for (unsigned i = 0; i < key->team_count && !key->all_teams; i++)
        json_array_append_new(teams, json_string(key->teams[i].slug));
    autofree char *fingerprint =
        *key->ssh_fingerprint ? xasprintf("SHA256:%s", key->ssh_fingerprint) : xstrdup("");
    const char *scope = key->can_write ? "write" : "read";
    const char *created_by = *key->created_by ? key->created_by : NULL;
    return json_pack(
        "{s:s, s:s, s:s, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "id", key->id, "user",
        key->user_name, "name", key->name, "created_by", created_by,
        kind == SSH_KEYS ? "fingerprint" : "scope", kind == SSH_KEYS ? fingerprint : scope, "teams",
        teams, "created_at", time_to_json(key->created_at_ms), "expires_at",
        time_to_json(key->expires_at_ms), "revoked_at", time_to_json(key->revoked_at_ms),
        "last_used_at", time_to_json(key->last_used_at_ms));
}

int ctl_key_create(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    struct api_key key;
    char text[API_KEY_TEXT_SIZE], hex[API_KEY_HEX_SIZE];
    const char *expires = ctl_text(arguments, "expires");
    struct api_key_request request = {
        .name = ctl_text(arguments, "name"),
        .can_write = !strcmp(ctl_text(arguments, "scope"), "write"),
    };
    request.team_slugs = ctl_list(arguments, "team", &request.team_count);
    if (parse_expiry(expires ? expires : "", &request.expires_at_ms, err) < 0 ||
        user_get_by_name(ctl->db, ctl_text(arguments, "user"), &user, err) < 0)
        return -1;
    request.user_id = user.id;
    if (api_key_create(ctl->db, ctl->ring, &request, &key, text, err) < 0)
        return -1;
    memcpy(key.user_name, user.name, sizeof key.user_name);
    json_t *object = ctl_key_json(&key, API_KEYS);
    api_key_to_hex(text, hex);
    if (ctl->json) {
        json_object_set_new(object, "key", json_string(text));
        json_object_set_new(object, "e2b_key", json_string(hex));
    }
    /* Without --json the key stands alone, for KEY=$(sandlotctl key create …). */
    ctl_print(ctl, object, "%s", text);
    mem_wipe(text, sizeof text);
    mem_wipe(hex, sizeof hex);
    api_key_deinit(&key);
    return 0;
}

static int list_keys(struct ctl *ctl, const struct ctl_arguments *arguments, enum api_key_kind kind,
                     struct error **err)
{
    const bool ssh = kind == SSH_KEYS;
    const struct ctl_column columns[] = {
        {"ID", "id"},
        {"USER", "user"},
        {"NAME", "name"},
        {ssh ? "FINGERPRINT" : "SCOPE", ssh ? "fingerprint" : "scope"},
        {"ONLY TEAMS", "teams"},
        {"CREATED BY", "created_by"},
        {"EXPIRES", "expires_at"},
        {"REVOKED", "revoked_at"},
        {"LAST USED", "last_used_at"},
    };
    struct user user;
    struct api_key *keys = NULL;
    unsigned count;
    const char *name = ctl_text(arguments, "user");
    if (name && user_get_by_name(ctl->db, name, &user, err) < 0)
        return -1;
    if (api_key_list(ctl->db, kind, name ? user.id : NULL, &keys, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, ctl_key_json(&keys[i], kind));
    api_keys_free(keys, count);
    ctl_print_rows(ctl, ssh ? "ssh_keys" : "keys", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int ctl_key_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    return list_keys(ctl, arguments, API_KEYS, err);
}

int ctl_ssh_key_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    return list_keys(ctl, arguments, SSH_KEYS, err);
}

int ctl_key_revoke(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *id = arguments->operands[0];
    bool with_created = ctl_flag(arguments, "with-created");
    if (api_key_revoke(ctl->db, NULL, id, with_created, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "id", id, "revoked", true),
              with_created ? "Key %s is revoked, with all keys that it created."
                           : "Key %s is revoked.",
              id);
    return 0;
}

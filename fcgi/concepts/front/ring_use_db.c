/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "front/ring_use_row.h"

/* Bytes 2 and 3 of a sealed value are its key (crypto/aead.h). Some rows have an empty value. */
#define KEY_OF(column) "LENGTH(" column ") > 3 AND SUBSTRING(" column ", 2, 2)"

#define SEALED(name, table, id, column)                                                            \
    DB_STATEMENT(name##_list) = {"ring." #name "_list",                                            \
                                 "SELECT " id ", " column " FROM " table " WHERE " id              \
                                 " > ? AND " KEY_OF(column) " <> ? ORDER BY " id " LIMIT 100"};    \
    DB_STATEMENT(name##_put) = {"ring." #name "_put", "UPDATE " table " SET " column               \
                                                      " = ? WHERE " id " = ? AND " column " = ?"}; \
    DB_STATEMENT(name##_count) = {"ring." #name "_count",                                          \
                                  "SELECT COUNT(*) FROM " table " WHERE " KEY_OF(column) " = ?"}
SEALED(factor, "users", "id", "totp_sealed");
SEALED(join, "host_joins", "id", "sealed");
SEALED(recipe, "template_recipes", "template_version_id", "sealed");
SEALED(envs, "sandboxes", "id", "envs_sealed");
SEALED(log, "kept_logs", "sandbox_id", "sealed");
SEALED(secret, "secrets", "id", "value");
SEALED(authority, "egress_authority", "'egress_authority'", "sealed_key");
SEALED(webhook, "webhooks", "id", "secret");
SEALED(webhook_old, "webhooks", "id", "old_secret");
SEALED(answer, "idempotency_keys", "id", "answer_sealed");

#define COLUMN(name, what, prefix)                             \
    {                                                          \
        what, prefix, &name##_list, &name##_put, &name##_count \
    }
const struct ring_column ring_columns[] = {
    COLUMN(factor, "second factors", ""),
    COLUMN(join, "joining hosts", ""),
    COLUMN(recipe, "template builds", ""),
    COLUMN(envs, "environments of sandboxes", ""),
    COLUMN(log, "kept logs", "log "),
    COLUMN(secret, "secrets of teams", ""),
    COLUMN(authority, "egress authorities", ""),
    COLUMN(webhook, "secrets of webhooks", ""),
    COLUMN(webhook_old, "previous secrets of webhooks", ""),
    COLUMN(answer, "answers to repeated requests", ""),
};
const unsigned ring_column_count = ARRAY_SIZE(ring_columns);

#define REFERENCE(name, from) \
    DB_STATEMENT(name##_count) = {"ring." #name "_count", "SELECT COUNT(*) FROM " from}
/* Rows of these may stay for long after their end, and then need no key. */
#define IS_OPEN "expires_at_ms > " DB_NOW_MS
REFERENCE(login, "logins WHERE hash_key_id <= ?");
REFERENCE(api_key, "api_keys WHERE revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR " IS_OPEN
                   ") AND hash_key_id <= ?");
REFERENCE(invite, "invites WHERE " IS_OPEN " AND hash_key_id <= ?");
REFERENCE(link, "team_links WHERE " IS_OPEN " AND hash_key_id <= ?");
REFERENCE(recovery, "recovery_codes WHERE hash_key_id <= ?");
REFERENCE(device, "device_logins WHERE hash_key_id <= ?");
REFERENCE(token, "host_joins WHERE hash_key_id <= ?");
REFERENCE(sandbox, "sandboxes WHERE state <> 'destroyed' AND agent_key_id <= ?");
REFERENCE(warm, "warm_instances WHERE agent_key_id <= ?");
REFERENCE(checkpoint, "checkpoints WHERE state <> 'deleted' AND memory = 1 AND agent_key_id <= ?");
REFERENCE(keeper, "keepers WHERE secret_key_id <= ?");
REFERENCE(request, "idempotency_keys WHERE body_key_id <= ?");
REFERENCE(audit, "audit_log WHERE mac_key_id <= ?");
REFERENCE(chain, "audit_chain WHERE hash_key_id <= ?");
/* Only the object itself names its key, so copies from before the next key count. */
REFERENCE(archive, "archives a WHERE a.object_key IS NOT NULL AND a.created_at_ms <= (SELECT"
                   " COALESCE(MIN(k.added_at_ms), 0) + 86400000 FROM keyring_keys k"
                   " WHERE k.in_use = 1 AND k.key_id > ?)");

const struct ring_reference ring_references[] = {
    {"sign-ins", &login_count},
    {"API keys and SSH keys", &api_key_count},
    {"invitations to users", &invite_count},
    {"links into teams", &link_count},
    {"recovery codes", &recovery_count},
    {"sign-ins of devices", &device_count},
    {"tokens for hosts", &token_count},
    {"sandboxes", &sandbox_count},
    {"warm instances", &warm_count},
    {"checkpoints with memory", &checkpoint_count},
    {"volume servers", &keeper_count},
    {"requests that may be repeated", &request_count},
    {"rows of the audit log", &audit_count},
    {"links of the audit log", &chain_count},
    {"copies in the archive", &archive_count},
};
const unsigned ring_reference_count = ARRAY_SIZE(ring_references);

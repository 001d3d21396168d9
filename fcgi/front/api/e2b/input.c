/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/e2b/e2b.h"
#include "api/network_input.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/metadata.h"
#include "secret/secret.h"
#include "volume/volume_mount.h"

#define PROXY_ADDRESS_MAX 300
#define PROXY_SECRET      "e2b-proxy-"
#define PROXY_HASH_BYTES  crypto_generichash_BYTES_MIN
_Static_assert(sizeof PROXY_SECRET + 2 * PROXY_HASH_BYTES <= SECRET_NAME_MAX + 1, "a name fits");

#define TIMEOUT_MAX_S 31536000 /* the plan's limit is checked with the sandbox */
#define ENV_MAX       65536    /* bytes */

static const struct schema_member metadata_item = {
    .type = SCHEMA_STRING, .characters = true, .max = METADATA_VALUE_MAX};
static const struct schema_member env_item = {.type = SCHEMA_STRING, .max = ENV_MAX};
static const struct schema_member port_item = {.type = SCHEMA_INTEGER, .min = 1, .max = 65535};

static const struct schema_member resume_members[] = {{.name = "enabled", .type = SCHEMA_BOOLEAN},
                                                      {.name = NULL}};
static const struct schema_member mount_members[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = VOLUME_NAME_MAX},
    {.name = "path",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = VOLUME_MOUNT_PATH_MAX},
    {.name = NULL}};
static const struct schema_member mount_item = {.type = SCHEMA_OBJECT, .members = mount_members};

static const struct schema_member proxy_members[] = {
    {.name = "address",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = PROXY_ADDRESS_MAX},
    {.name = "username", .type = SCHEMA_STRING, .max = EGRESS_PROXY_TEXT_MAX},
    {.name = "password",
     .type = SCHEMA_STRING,
     .max = EGRESS_PROXY_TEXT_MAX,
     .check = secret_check_value},
    {.name = NULL}};

/* The rules of one host. A value is shorter when it is stored: see E2B_SECRET_OURS. */
static const struct schema_member header_item = {
    .type = SCHEMA_STRING, .min = 1, .max = EGRESS_HEADER_MAX};
static const struct schema_member transform_members[] = {
    {.name = "headers", .type = SCHEMA_MAP, .max = EGRESS_HEADERS_MAX, .item = &header_item},
    {.name = NULL}};
static const struct schema_member rule_members[] = {
    {.name = "transform", .type = SCHEMA_OBJECT, .members = transform_members}, {.name = NULL}};
static const struct schema_member rule_item = {.type = SCHEMA_OBJECT, .members = rule_members};
/* As in E2B's API: of several rules of /v1 without methods and paths, the first alone would count.
 */
static const struct schema_member rules_item = {.type = SCHEMA_ARRAY, .max = 1, .item = &rule_item};

#define POLICY_MEMBERS                                                                           \
    {.name = "allowOut",                                                                         \
     .type = SCHEMA_ARRAY,                                                                       \
     .max = NETWORK_ENTRIES_MAX,                                                                 \
     .item = &network_entry_item},                                                               \
        {.name = "denyOut",                                                                      \
         .type = SCHEMA_ARRAY,                                                                   \
         .max = NETWORK_ENTRIES_MAX,                                                             \
         .item = &network_entry_item},                                                           \
        {.name = "rules", .type = SCHEMA_MAP, .max = EGRESS_RULES_MAX, .item = &rules_item},     \
    {                                                                                            \
        .name = "egressProxy", .type = SCHEMA_OBJECT, .nullable = true, .members = proxy_members \
    }

static const struct schema_member network_members[] = {
    POLICY_MEMBERS,
    {.name = "allowPublicTraffic", .type = SCHEMA_BOOLEAN},
    {.name = "maskRequestHost", .type = SCHEMA_STRING, .max = 255},
    {.name = "httpsPorts", .type = SCHEMA_ARRAY, .max = 100, .item = &port_item},
    {.name = NULL}};

const struct schema_member e2b_network_schema[] = {
    POLICY_MEMBERS, {.name = "allow_internet_access", .type = SCHEMA_BOOLEAN}, {.name = NULL}};

const struct schema_member e2b_create_schema[] = {
    {.name = "templateID", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 191},
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = TIMEOUT_MAX_S},
    {.name = "metadata", .type = SCHEMA_MAP, .max = METADATA_KEYS_MAX, .item = &metadata_item},
    {.name = "envVars", .type = SCHEMA_MAP, .item = &env_item},
    {.name = "autoPause", .type = SCHEMA_BOOLEAN},
    {.name = "autoPauseMemory", .type = SCHEMA_BOOLEAN},
    {.name = "autoResume", .type = SCHEMA_OBJECT, .members = resume_members},
    {.name = "secure", .type = SCHEMA_BOOLEAN},
    {.name = "allow_internet_access", .type = SCHEMA_BOOLEAN},
    {.name = "network", .type = SCHEMA_OBJECT, .members = network_members},
    {.name = "volumeMounts", .type = SCHEMA_ARRAY, .max = VOLUME_MOUNTS_MAX, .item = &mount_item},
    {.name = "mcp", .type = SCHEMA_ANY},
    {.name = "iam", .type = SCHEMA_ANY},
    {.name = NULL}};

/* --- members that are not served --- */

static bool is_given(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    bool is_empty = (json_is_object(value) && !json_object_size(value)) ||
                    (json_is_array(value) && !json_array_size(value));
    return value && !json_is_null(value) && !is_empty;
}

static int refuse_given(const json_t *object, const char *const names[], struct error **err)
{
    for (; *names; names++)
        if (is_given(object, *names))
            return error_set_field(err, ERR_NOT_SERVED, *names,
                                   "This deployment does not serve \"%s\".", *names);
    return 0;
}

/* --- network --- */

static bool covers(const struct policy_entry *allow, const struct policy_entry *deny)
{
    return allow->kind == POLICY_NETWORK && deny->kind == POLICY_NETWORK &&
           (!allow->port || allow->port == deny->port) &&
           allow->prefix_length <= deny->prefix_length &&
           policy_entry_matches_address(allow, &deny->network);
}

static bool is_covered(const json_t *allowed, const char *text)
{
    struct policy_entry deny = {0};
    error_auto ignored = NULL;
    bool found = false;
    size_t index;
    json_t *value;
    if (policy_entry_parse(text, &deny, &ignored) < 0)
        return false; /* refused later, when the policy is read */
    json_array_foreach ((json_t *)(uintptr_t)allowed, index, value) {
        struct policy_entry allow = {0};
        error_auto bad = NULL;
        if (policy_entry_parse(json_string_value(value), &allow, &bad) == 0)
            found |= covers(&allow, &deny);
        policy_entry_deinit(&allow);
    }
    policy_entry_deinit(&deny);
    return found;
}

/* Translate the allowed destinations. In E2B's API a star alone is every name, and therefore every
 * address. */
static json_t *allowed(const json_t *policy)
{
    json_t *list = json_array();
    size_t index;
    json_t *value;
    json_array_foreach (json_object_get(policy, "allowOut"), index, value) {
        if (!str_equal(json_string_value(value), "*")) {
            json_array_append(list, value);
            continue;
        }
        json_array_append_new(list, json_string("0.0.0.0/0"));
        json_array_append_new(list, json_string("::/0"));
    }
    return list;
}

/* Translate the denied destinations. In E2B's API an allowed network wins over all denied networks
 * inside it; in /v1 the more specific one wins. */
static json_t *denied(const json_t *policy)
{
    json_auto_t *open = allowed(policy);
    json_t *list = json_array();
    size_t index;
    json_t *value;
    json_array_foreach (json_object_get(policy, "denyOut"), index, value) {
        if (!is_covered(open, json_string_value(value)))
            json_array_append(list, value);
    }
    return list;
}

static json_t *header_value(const char *text)
{
    return e2b_rename_secrets(text, E2B_SECRET_THEIRS, E2B_SECRET_OURS);
}

/* Translate the rules of one host. Each has a transform with headers. */
static void add_rules_of(const char *host, const json_t *list, json_t *rules)
{
    size_t index;
    json_t *rule, *value;
    const char *name;
    json_array_foreach ((json_t *)list, index, rule) {
        json_t *theirs = json_object_get(json_object_get(rule, "transform"), "headers");
        json_auto_t *headers = json_object(), *ours = json_pack("{s:s}", "host", host);
        json_object_foreach (theirs, name, value)
            json_object_set_new(headers, name, header_value(json_string_value(value)));
        if (json_object_size(headers))
            json_object_set(ours, "headers", headers);
        json_array_append(rules, ours);
    }
}

static void add_rules(const json_t *policy, json_t *out)
{
    json_auto_t *rules = json_array();
    const char *host;
    json_t *list;
    json_object_foreach (json_object_get(policy, "rules"), host, list)
        add_rules_of(host, list, rules);
    if (json_array_size(rules))
        json_object_set(out, "rules", rules);
}

/* Name the secret that keeps a password of a proxy. Policies are not sealed, so the password cannot
 * be in them. The name is that of the account at the proxy, so that another password replaces
 * it. */
static int name_password(const char *host, const char *account, const char *value,
                         struct proxy_password *password, struct error **err)
{
    unsigned char hash[PROXY_HASH_BYTES];
    char hex[2 * PROXY_HASH_BYTES + 1];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)account, strlen(account), NULL, 0);
    snprintf(password->name, sizeof password->name, PROXY_SECRET "%s",
             sodium_bin2hex(hex, sizeof hex, hash, sizeof hash));
    password->hosts = json_pack("[s]", host);
    password->value = value;
    return secret_check_hosts(password->hosts, "/egressProxy/address", err);
}

/* Translate the account at a proxy. */
static int add_account(const json_t *theirs, json_t *ours, struct proxy_password *kept,
                       struct error **err)
{
    const char *host = json_string_value(json_object_get(ours, "host"));
    const char *username = json_string_value(json_object_get(theirs, "username"));
    const char *password = json_string_value(json_object_get(theirs, "password"));
    if (!username || !*username)
        return password && *password
                   ? error_set_field(err, ERR_INVALID_REQUEST, "/egressProxy/username",
                                     "A password needs a username.")
                   : 0;
    json_object_set_new(ours, "username", json_string(username));
    if (password && str_starts_with(password, E2B_SECRET_THEIRS)) {
        json_object_set_new(ours, "password", header_value(password));
    } else if (password && *password) {
        autofree char *account =
            xasprintf("%s\n%s", json_string_value(json_object_get(theirs, "address")), username);
        if (name_password(host, account, password, kept, err) < 0)
            return -1;
        autofree char *mentioned = xasprintf("${secrets.%s}", kept->name);
        json_object_set_new(ours, "password", json_string(mentioned));
    }
    return 0;
}

/* Translate the proxy, which speaks SOCKS5. */
static int add_proxy(const json_t *policy, json_t *out, struct proxy_password *password,
                     struct error **err)
{
    const json_t *theirs = json_object_get(policy, "egressProxy");
    const char *address = json_string_value(json_object_get(theirs, "address"));
    const char *colon = address ? strrchr(address, ':') : NULL;
    uint64_t port;
    if (json_is_null(theirs)) /* not even that of the team */
        json_object_set_new(out, EGRESS_PROXY, json_null());
    if (!json_object_size(theirs))
        return 0;
    if (!colon || str_parse_u64(colon + 1, 1, UINT16_MAX, &port) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "/egressProxy/address",
                               "Write the address of a proxy as HOST:PORT.");
    autofree char *host = xstrndup(address, (size_t)(colon - address));
    json_auto_t *ours =
        json_pack("{s:s, s:s, s:I}", "type", "socks5", "host", host, "port", (json_int_t)port);
    if (add_account(theirs, ours, password, err) < 0)
        return -1;
    json_object_set(out, EGRESS_PROXY, ours);
    return 0;
}

static int add_policy(const json_t *policy, json_t *out, struct proxy_password *password,
                      struct error **err)
{
    if (add_proxy(policy, out, password, err) < 0)
        return -1;
    add_rules(policy, out);
    if (is_given(policy, "allowOut"))
        json_object_set_new(out, "allow_out", allowed(policy));
    if (is_given(policy, "denyOut"))
        json_object_set_new(out, "deny_out", denied(policy));
    return 0;
}

static void add_flag(const json_t *body, const char *name, json_t *out, const char *ours)
{
    json_t *value = json_object_get(body, name);
    if (json_is_boolean(value))
        json_object_set(out, ours, value);
}

int e2b_network_body(const json_t *body, struct proxy_password *password, json_t **out,
                     struct error **err)
{
    json_auto_t *policy = json_object();
    if (add_policy(body, policy, password, err) < 0)
        return -1;
    add_flag(body, "allow_internet_access", policy, "allow_internet_access");
    *out = json_incref(policy);
    return 0;
}

/* --- create --- */

static int add_template(struct api *api, const char *name, json_t *out, struct error **err)
{
    autofree char *reference = NULL;
    if (e2b_template_of(api, name, &reference, err) < 0)
        return -1;
    json_object_set_new(out, "template", json_string(reference));
    return 0;
}

/* Translate the lifecycle. In E2B's API a request does not wake a sandbox that was paused without
 * its memory. A pause never drops the memory by itself. */
static int add_lifecycle(const json_t *body, json_t *out, struct error **err)
{
    bool pause = json_is_true(json_object_get(body, "autoPause"));
    bool resume = json_is_true(json_object_get(json_object_get(body, "autoResume"), "enabled"));
    bool memory = !json_is_false(json_object_get(body, "autoPauseMemory"));
    if (!memory && (!pause || resume))
        return error_set_field(
            err, ERR_INVALID_REQUEST, "autoPauseMemory",
            "autoPauseMemory can be false only with autoPause and without autoResume.");
    json_object_set_new(out, "lifecycle",
                        json_pack("{s:s, s:b, s:b, s:s}", "on_timeout", pause ? "pause" : "kill",
                                  "auto_resume", (int)resume, "pause_memory", (int)memory,
                                  "on_pause_failure", "keep_running"));
    return 0;
}

static int add_volumes(const json_t *body, json_t *out, struct error **err)
{
    json_auto_t *mounts = json_object();
    size_t index;
    json_t *mount;
    json_array_foreach (json_object_get(body, "volumeMounts"), index, mount) {
        const char *path = json_string_value(json_object_get(mount, "path"));
        if (json_object_get(mounts, path))
            return error_set_field(err, ERR_INVALID_REQUEST, "/volumeMounts",
                                   "Two volumes have the same path.");
        autofree char *name = xstrdup(json_string_value(json_object_get(mount, "name")));
        e2b_lower(name);
        json_object_set_new(mounts, path, json_string(name));
    }
    if (json_object_size(mounts))
        json_object_set(out, "volume_mounts", mounts);
    return 0;
}

static void add_member(const json_t *body, const char *name, json_t *out, const char *ours)
{
    if (is_given(body, name))
        json_object_set(out, ours, json_object_get(body, name));
}

static int check_secure(const json_t *body, const json_t *network, struct error **err)
{
    if (!json_is_false(json_object_get(body, "secure")) ||
        !json_is_false(json_object_get(network, "allowPublicTraffic")))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/network/allowPublicTraffic",
                           "allowPublicTraffic can be false only with secure.");
}

int e2b_create_body(struct api *api, const json_t *body, uint64_t timeout_s,
                    struct proxy_password *password, json_t **out, struct error **err)
{
    static const char *const missing[] = {"iam", NULL};
    const json_t *network = json_object_get(body, "network");
    json_auto_t *made = json_pack("{s:b}", "expose_all_ports", 1);
    if (refuse_given(body, missing, err) < 0 || check_secure(body, network, err) < 0 ||
        add_policy(network, made, password, err) < 0 || add_volumes(body, made, err) < 0 ||
        add_lifecycle(body, made, err) < 0 ||
        add_template(api, json_string_value(json_object_get(body, "templateID")), made, err) < 0)
        return -1;
    json_object_set_new(made, "timeout", json_integer((json_int_t)timeout_s));
    add_member(body, "metadata", made, "metadata");
    add_member(body, "envVars", made, "envs");
    add_flag(body, "allow_internet_access", made, "allow_internet_access");
    add_flag(network, "allowPublicTraffic", made, "allow_public_traffic");
    add_member(network, "maskRequestHost", made, "mask_request_host");
    add_member(network, "httpsPorts", made, "https_ports");
    *out = json_incref(made);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "secret/egress_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "secret/egress_authority.h"
#include "secret/secret.h"

#define SECRET_GONE                                                                       \
    "A secret of the egress rule does not exist, is not allowed for the host, or is too " \
    "long together with the rest of the header or with the values of all rules."

#define PASSWORD_GONE                                                                       \
    "The password of the egress proxy does not exist, is not allowed for the proxy, or is " \
    "too long."

static const char *host_of(const json_t *rule)
{
    return json_string_value(json_object_get(rule, "host"));
}

/* --- the secrets that rules mention --- */

static int add_name(void *context, const struct egress_place *place, const char *name,
                    struct error **err)
{
    json_t *names = context;
    (void)place;
    json_object_set_new(names, name, json_null());
    return json_object_size(names) <= EGRESS_SECRETS_MAX
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, "/rules",
                                 "A policy can have at most %d secrets.", EGRESS_SECRETS_MAX);
}

static int add_names(const json_t *stored, json_t *names, struct error **err)
{
    size_t index;
    json_t *rule;
    json_array_foreach (json_object_get(stored, "rules"), index, rule) {
        if (egress_rule_each_secret(rule, add_name, names, err) < 0)
            return -1;
    }
    char name[EGRESS_SECRET_NAME_MAX + 1];
    return egress_proxy_secret(json_object_get(stored, EGRESS_PROXY), name)
               ? add_name(names, NULL, name, err)
               : 0;
}

/* Return {"hosts", "value"} of a secret; NULL: the team lacks it, or an error. */
static json_t *read_secret(struct db *db, const struct keyring *ring, const char *team_id,
                           const char *name, struct error **err)
{
    struct secret secret = {0};
    autowipe char *value = NULL;
    json_t *found = NULL;
    if (secret_get(db, team_id, name, &secret, err) == 0 &&
        (!ring || secret_reveal(db, ring, team_id, name, &value, err) == 0))
        found = json_pack("{s:O, s:s*}", "hosts", secret.hosts, "value", value);
    secret_deinit(&secret);
    error_clear_if(err, ERR_NOT_FOUND);
    return found;
}

/* Read each secret that the rules of a policy mention, once: a policy may have some ten thousand
 * mentions. known: name -> {"hosts": […], "value": "…"}, or null: the team lacks it. ring NULL:
 * without values. */
static int read_secrets(struct db *db, const struct keyring *ring, const char *team_id,
                        const json_t *stored, json_t *known, struct error **err)
{
    const char *name;
    json_t *none;
    if (add_names(stored, known, err) < 0)
        return -1;
    json_object_foreach (known, name, none) {
        json_t *found = read_secret(db, ring, team_id, name, err);
        if (*err)
            return -1;
        if (found)
            json_object_set_new(known, name, found);
    }
    return 0;
}

static bool goes_to(const json_t *found, const char *host)
{
    const struct secret secret = {.hosts = json_object_get(found, "hosts")};
    return secret_goes_to(&secret, host);
}

/* --- admission --- */

struct admission {
    const json_t *known;
    const char *host;
    size_t index;
    uint16_t port;
};

static int admit_one(const json_t *known, const char *name, const char *host, const char *field,
                     struct error **err)
{
    const json_t *found = json_object_get(known, name);
    if (goes_to(found, host))
        return 0;
    if (!json_is_object(found))
        return error_set_field(err, ERR_INVALID_REQUEST, field, "The team has no secret %s.", name);
    return error_set_field(
        err, ERR_INVALID_REQUEST, field,
        "The secret %s is not allowed for this host; add the host to the hosts of the secret.",
        name);
}

static int admit_secret(void *context, const struct egress_place *place, const char *name,
                        struct error **err)
{
    const struct admission *admission = context;
    autofree char *list = xasprintf("/rules/%zu/%s", admission->index, place->member);
    autofree char *field = schema_pointer(list, place->key);
    if (admission->port != EGRESS_PORT) /* everybody on the way reads it */
        return error_set_field(
            err, ERR_INVALID_REQUEST, field,
            "sandlot sends secrets over HTTPS only: a rule for port %d cannot have one.",
            admission->port);
    return admit_one(admission->known, name, admission->host, field, err);
}

static bool is_everything(const char *text, uint16_t port)
{
    struct policy_entry entry;
    error_auto ignored = NULL;
    if (policy_entry_parse(text, &entry, &ignored) < 0)
        return false;
    bool is = entry.kind == POLICY_NETWORK && entry.network.family == POLICY_IPV4 &&
              !entry.prefix_length && (!entry.port || entry.port == port);
    policy_entry_deinit(&entry);
    return is;
}

/* Return what to change in a policy that opens the port at all addresses; NULL: nothing. */
static const char *opens_all(const json_t *stored, uint16_t port)
{
    size_t index;
    json_t *entry;
    if (json_is_true(json_object_get(stored, "allow_internet_access")))
        return "With allow_internet_access, the sandbox can connect to the host without the rule; "
               "set allow_internet_access to false.";
    json_array_foreach (json_object_get(stored, "allow_out"), index, entry) {
        if (is_everything(json_string_value(entry), port))
            return "With 0.0.0.0/0 in allow_out, the sandbox can connect to the host without the "
                   "rule; remove this entry.";
    }
    return NULL;
}

/* A rule with methods or paths would limit nothing where the host is open besides. */
static int admit_limits(const json_t *stored, const json_t *rule, size_t index, struct error **err)
{
    static const char *const members[] = {"methods", "paths"};
    const char *open = opens_all(stored, egress_port(rule));
    for (size_t i = 0; open && i < ARRAY_SIZE(members); i++) {
        autofree char *field = xasprintf("/rules/%zu/%s", index, members[i]);
        if (json_object_get(rule, members[i]))
            return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", open);
    }
    return 0;
}

static int admit_size(const json_t *rules, struct error **err)
{
    if (!rules || json_dumpb(rules, NULL, 0, JSON_COMPACT) <= EGRESS_RULES_BYTES_MAX)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/rules",
                           "The rules of a policy have at most %zu bytes as JSON.",
                           EGRESS_RULES_BYTES_MAX);
}

static int admit_proxy(const json_t *stored, const json_t *known, struct error **err)
{
    char name[EGRESS_SECRET_NAME_MAX + 1];
    const json_t *proxy = json_object_get(stored, EGRESS_PROXY);
    if (egress_proxy_check(proxy, "/" EGRESS_PROXY, err) < 0)
        return -1;
    return egress_proxy_secret(proxy, name)
               ? admit_one(known, name, host_of(proxy), "/" EGRESS_PROXY "/password", err)
               : 0;
}

int egress_rules_admit(struct db *db, const char *team_id, const json_t *stored, struct error **err)
{
    json_auto_t *known = json_object();
    size_t index;
    json_t *rule;
    if (admit_size(json_object_get(stored, "rules"), err) < 0 ||
        read_secrets(db, NULL, team_id, stored, known, err) < 0 ||
        admit_proxy(stored, known, err) < 0)
        return -1;
    json_array_foreach (json_object_get(stored, "rules"), index, rule) {
        struct admission admission = {known, host_of(rule), index, egress_port(rule)};
        if (admit_limits(stored, rule, index, err) < 0 ||
            egress_rule_each_secret(rule, admit_secret, &admission, err) < 0)
            return -1;
    }
    return 0;
}

int egress_rules_follow(struct db *db, const char *team_id, const char *sandbox_id,
                        const char *network, bool is_new_sandbox, struct error **err)
{
    json_auto_t *stored = json_loads(network, 0, NULL), *names = json_object();
    if (add_names(stored, names, err) < 0)
        return -1;
    return secret_follow(db, team_id, sandbox_id, names, is_new_sandbox, err);
}

/* --- values --- */

/* The secrets that a rule sends. */
struct values {
    const json_t *known; /* as read_secrets() has it */
    const char *host;
    json_t *names; /* array: those that the rule mentions, once each */
    json_t *sent;  /* name -> value */
    size_t *left;  /* of EGRESS_VALUES_BYTES_MAX, for the values of all rules */
    bool missing;  /* a secret, or room */
};

static int add_value(void *context, const struct egress_place *place, const char *name,
                     struct error **err)
{
    struct values *values = context;
    const json_t *found = json_object_get(values->known, name);
    (void)place;
    (void)err;
    if (!goes_to(found, values->host)) {
        values->missing = true;
    } else if (!json_object_get(values->sent, name)) {
        json_array_append_new(values->names, json_string(name));
        json_object_set(values->sent, name, json_object_get(found, "value"));
    }
    return 0;
}

static const char *value_of(void *context, const char *name)
{
    const struct values *values = context;
    return json_string_value(json_object_get(values->sent, name));
}

static char *lower_case(const char *name)
{
    char *lower = xstrdup(name);
    for (char *c = lower; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c += 'a' - 'A';
    return lower;
}

/* keep_case: names of headers become lower case, those of parameters stay. */
static json_t *filled(const json_t *texts, bool keep_case, struct values *values)
{
    json_t *result = json_object();
    const char *name;
    json_t *text;
    json_object_foreach ((json_t *)texts, name, text) {
        autofree char *key = keep_case ? xstrdup(name) : lower_case(name);
        autowipe char *value = egress_value_fill(json_string_value(text), value_of, values);
        size_t size = value ? strlen(value) : 0;
        values->missing |= !value || size > *values->left;
        if (values->missing)
            continue;
        *values->left -= size;
        json_object_set_new(result, key, json_string(value));
    }
    return result;
}

static int compile_rule(const json_t *rule, const json_t *known, size_t *left, json_t *rules,
                        struct error **err)
{
    json_auto_t *sent = json_object(), *names = json_array();
    struct values values = {known, host_of(rule), names, sent, left, false};
    if (egress_rule_each_secret(rule, add_value, &values, err) < 0)
        return -1;
    json_auto_t *headers = filled(json_object_get(rule, "headers"), false, &values);
    json_auto_t *query = filled(json_object_get(rule, "query"), true, &values);
    if (values.missing) {
        json_object_clear(headers);
        json_object_clear(query);
    }
    /* Firewalls of earlier versions refuse these members. */
    json_t *parameters = json_object_size(query) ? query : NULL;
    json_t *port = egress_port(rule) == EGRESS_PORT ? NULL : json_object_get(rule, "port");
    json_array_append_new(rules,
                          json_pack("{s:s, s:O*, s:O*, s:O*, s:O*, s:O, s:O, s:s*}", "host",
                                    values.host, "port", port, "query", parameters, "methods",
                                    json_object_get(rule, "methods"), "paths",
                                    json_object_get(rule, "paths"), "headers", headers, "secrets",
                                    names, "refused", values.missing ? SECRET_GONE : NULL));
    return 0;
}

static int compile_rules(struct db *db, const struct keyring *ring, const json_t *list,
                         const json_t *known, struct policy *policy, struct error **err)
{
    json_auto_t *rules = json_array(), *certificates = json_object();
    size_t index, left = EGRESS_VALUES_BYTES_MAX;
    json_t *rule;
    if (!json_array_size(list))
        return 0;
    json_array_foreach ((json_t *)list, index, rule) {
        if (compile_rule(rule, known, &left, rules, err) < 0 ||
            (egress_port(rule) == EGRESS_PORT &&
             egress_authority_certify(db, ring, host_of(rule), certificates, err) < 0))
            return -1;
    }
    policy->egress = json_pack("{s:O, s:O}", "rules", rules, "certificates", certificates);
    return 0;
}

static json_t *compiled_proxy(const json_t *proxy, const json_t *known)
{
    char name[EGRESS_SECRET_NAME_MAX + 1];
    json_t *compiled = json_copy((json_t *)(uintptr_t)proxy);
    if (!egress_proxy_secret(proxy, name))
        return compiled;
    const json_t *found = json_object_get(known, name);
    json_t *value = goes_to(found, host_of(proxy)) ? json_object_get(found, "value") : NULL;
    json_object_del(compiled, "password");
    json_object_set_new(compiled, "secret", json_string(name));
    if (value && json_string_length(value) <= EGRESS_PROXY_TEXT_MAX)
        json_object_set(compiled, "password", value);
    else
        json_object_set_new(compiled, "refused", json_string(PASSWORD_GONE));
    return compiled;
}

int egress_rules_compile(struct db *db, const struct keyring *ring, const char *team_id,
                         const char *network, struct policy *policy, struct error **err)
{
    json_auto_t *stored = json_loads(network, 0, NULL), *known = json_object();
    if (read_secrets(db, ring, team_id, stored, known, err) < 0)
        return -1;
    policy->proxy = compiled_proxy(json_object_get(stored, EGRESS_PROXY), known);
    return compile_rules(db, ring, json_object_get(stored, "rules"), known, policy, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/state.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define SUFFIX       ".json"
#define SUFFIX_ENDED ".ended"
#define RULES_LOST   "sandlot is loading the egress rules of this sandbox; try again in a minute."
#define PROXY_LOST   "sandlot is loading the password of the egress proxy."
#define FILE_MAX     (POLICY_WIRE_MAX + NAMES_MAX * 512)

static char *path_of(const char *directory, uint32_t address, const char *suffix)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address from = policy_address_ipv4(address);
    return xasprintf("%s/%s%s", directory, policy_address_text(&from, text), suffix);
}

/* Return the policy without secrets and keys, with a revision that the control plane replaces:
 * until then the hosts of its egress rules are closed. */
static json_t *policy_json(const struct policy_wire *wire)
{
    json_t *policy = policy_wire_json(wire), *rules = json_array(), *certificates = json_object();
    const json_t *egress = wire->policy.egress;
    size_t index;
    json_t *rule, *pem;
    const char *host;
    json_array_foreach (json_object_get(egress, "rules"), index, rule)
        json_array_append_new(
            rules, json_pack("{s:O, s:O*, s:s}", "host", json_object_get(rule, "host"), "port",
                             json_object_get(rule, "port"), "refused", RULES_LOST));
    json_object_foreach (json_object_get(egress, "certificates"), host, pem)
        json_object_set_new(certificates, host, json_string("-"));
    json_t *lost = json_pack("{s:o, s:o}", "rules", rules, "certificates", certificates);
    if (egress) {
        json_object_set(policy, "egress", lost);
        json_object_set_new(policy, "revision", json_integer(0));
    }
    json_decref(lost);
    if (wire->policy.proxy) {
        json_t *proxy = json_copy(wire->policy.proxy);
        json_object_del(proxy, "password");
        json_object_set_new(proxy, "refused", json_string(PROXY_LOST));
        json_object_set_new(policy, EGRESS_PROXY, proxy);
        json_object_set_new(policy, "revision", json_integer(0));
    }
    return policy;
}

static json_t *state_json(const struct filter_sandbox *sandbox)
{
    json_t *answers = json_array();
    for (size_t i = 0; i < sandbox->names.count; i++) {
        const struct name_answer *answer = &sandbox->names.answers[i];
        json_array_append_new(answers,
                              json_pack("[s, I, I]", answer->name, (json_int_t)answer->address,
                                        (json_int_t)answer->expires_at_ms));
    }
    return json_pack("{s:o, s:o, s:I, s:I, s:I}", "policy", policy_json(&sandbox->wire), "answers",
                     answers, "tenant", (json_int_t)sandbox->wire.tenant, "user",
                     (json_int_t)sandbox->wire.user, "bytes", (json_int_t)sandbox->wire.bytes);
}

int state_save(const char *directory, const struct filter_sandbox *sandbox, struct error **err)
{
    autofree char *path = path_of(directory, sandbox->address, SUFFIX);
    autofree char *draft = path_of(directory, sandbox->address, ".new");
    json_auto_t *json = state_json(sandbox);
    if (json_dump_file(json, draft, JSON_COMPACT) < 0 || rename(draft, path) < 0) {
        int errnum = errno;
        unlink(draft);
        return error_set_errno(err, ERR_INTERNAL, errnum, "cannot write %s", path);
    }
    return 0;
}

static void save_if_dirty(const char *directory, struct filter_sandbox *sandbox)
{
    error_auto err = NULL;
    if (!sandbox->dirty)
        return;
    sandbox->dirty = false;
    if (state_save(directory, sandbox, &err) < 0)
        log_error("cannot save a policy to its file; a restart loses the policy",
                  LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
}

bool state_save_dirty(struct filter *filter, int64_t most_ms)
{
    int64_t until_ms = clock_monotonic_ms() + most_ms;
    for (size_t i = 0; i < FILTER_BUCKETS; i++) {
        if (clock_monotonic_ms() >= until_ms)
            return false;
        size_t at = filter->next_saved++ % FILTER_BUCKETS;
        for (struct filter_sandbox *sandbox = filter->buckets[at]; sandbox; sandbox = sandbox->next)
            save_if_dirty(filter->settings->firewall_state_dir, sandbox);
    }
    return true;
}

int state_end(const char *directory, uint32_t address, struct error **err)
{
    autofree char *path = path_of(directory, address, SUFFIX);
    autofree char *ended = path_of(directory, address, SUFFIX_ENDED);
    if (rename(path, ended) < 0 && errno != ENOENT)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot rename %s", path);
    return 0;
}

int state_forget_ended(const char *directory, uint32_t address, struct error **err)
{
    autofree char *path = path_of(directory, address, SUFFIX_ENDED);
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot remove %s", path);
    return 0;
}

int state_put_relay(const char *directory, const struct certificate_pair *pair, struct error **err)
{
    json_auto_t *json = json_pack("{s:s, s:s}", "certificate", pair->certificate, "key", pair->key);
    autofree char *path = xasprintf("%s/relay.new", directory);
    autofree char *draft = xasprintf("%s/relay.draft", directory);
    unlink(draft);
    autoclose int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && json_dumpfd(json, fd, JSON_COMPACT) == 0 && rename(draft, path) == 0)
        return 0;
    int errnum = errno;
    unlink(draft);
    return error_set_errno(err, ERR_INTERNAL, errnum, "cannot write %s", path);
}

int state_mark_table(const char *directory, bool missing, struct error **err)
{
    autofree char *path = xasprintf("%s/table.missing", directory);
    if (!missing)
        return unlink(path) == 0 || errno == ENOENT
                   ? 0
                   : error_set_errno(err, ERR_INTERNAL, errno, "cannot remove %s", path);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd >= 0 ? 0 : error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", path);
}

static int load_file(const char *path, json_t **json, struct policy_wire *wire, struct error **err)
{
    struct stat status;
    json_error_t problem;
    if (stat(path, &status) < 0 || status.st_size > (off_t)FILE_MAX)
        return error_set(err, ERR_CONFIG, "does not exist or is too large");
    *json = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
    if (!*json)
        return error_set(err, ERR_CONFIG, "line %d: %s", problem.line, problem.text);
    if (policy_wire_read(json_object_get(*json, "policy"), wire, err) < 0)
        return -1;
    wire->tenant = (uint64_t)json_integer_value(json_object_get(*json, "tenant"));
    wire->user = (uint64_t)json_integer_value(json_object_get(*json, "user"));
    wire->bytes = (size_t)json_integer_value(json_object_get(*json, "bytes"));
    return 0;
}

static DIR *open_directory(const char *directory, struct error **err)
{
    DIR *entries = opendir(directory);
    if (!entries)
        error_set_errno(err, ERR_CONFIG, errno, "firewall_state_dir: cannot read %s", directory);
    return entries;
}

int state_load(const char *directory,
               void (*found)(void *context, struct policy_wire *wire, const json_t *answers),
               void *context, struct error **err)
{
    DIR *entries = open_directory(directory, err);
    struct dirent *entry;
    if (!entries)
        return -1;
    while ((entry = readdir(entries))) {
        if (!str_ends_with(entry->d_name, SUFFIX))
            continue;
        error_auto problem = NULL;
        json_auto_t *json = NULL;
        struct policy_wire wire = {0};
        autofree char *path = xasprintf("%s/%s", directory, entry->d_name);
        if (load_file(path, &json, &wire, &problem) < 0)
            log_error(
                "cannot read the state file of a policy; the dispatcher applies the policy again",
                LOG_STR("path", path), LOG_ERROR(problem));
        else
            found(context, &wire, json_object_get(json, "answers"));
    }
    closedir(entries);
    return 0;
}

int state_load_ended(const char *directory, void (*found)(void *context, uint32_t address),
                     void *context, struct error **err)
{
    DIR *entries = open_directory(directory, err);
    struct dirent *entry;
    if (!entries)
        return -1;
    while ((entry = readdir(entries))) {
        struct in_addr address;
        char text[POLICY_ADDRESS_TEXT_MAX];
        size_t length = strlen(entry->d_name), suffix = strlen(SUFFIX_ENDED);
        if (!str_ends_with(entry->d_name, SUFFIX_ENDED) || length - suffix >= sizeof text)
            continue;
        memcpy(text, entry->d_name, length - suffix);
        text[length - suffix] = '\0';
        if (inet_pton(AF_INET, text, &address) == 1)
            found(context, ntohl(address.s_addr));
    }
    closedir(entries);
    return 0;
}

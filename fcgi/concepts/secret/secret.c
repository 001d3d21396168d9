/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "secret/secret.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "network/egress_proxy.h"
#include "network/policy_entry.h"

int secret_check_value(const json_t *value, const char *pointer, struct error **err)
{
    const char *text = json_string_value(value);
    if (*text && !text[strspn(text, " ")]) /* a header cannot have it */
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "The value of a secret has more than spaces.");
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
            return error_set_field(
                err, ERR_INVALID_REQUEST, pointer,
                "The value of a secret has only printable ASCII characters, without line breaks.");
    return 0;
}

static bool is_host(const char *text)
{
    struct policy_entry entry;
    error_auto problem = NULL;
    if (!text)
        return false;
    if (egress_proxy_address(text))
        return true;
    if (policy_entry_parse(text, &entry, &problem) < 0)
        return false;
    autofree char *canonical = policy_entry_text(&entry);
    bool is_name = entry.kind != POLICY_NETWORK && !entry.port && str_equal(canonical, text);
    policy_entry_deinit(&entry);
    return is_name;
}

int secret_check_hosts(const json_t *hosts, const char *pointer, struct error **err)
{
    size_t index, count = json_array_size(hosts);
    json_t *host;
    json_array_foreach ((json_t *)hosts, index, host) {
        const char *text = json_string_value(host);
        if ((count == 1 && str_equal(text, SECRET_ANY_HOST)) || is_host(text))
            continue;
        autofree char *at = xasprintf("%s/%zu", pointer, index);
        return error_set_field(
            err, ERR_INVALID_REQUEST, at,
            "Write a host of a secret as a name in lower case, as *. and a name, or as an IPv4 "
            "address, without a port. A star alone means any host.");
    }
    return count && count <= SECRET_HOSTS_MAX
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, pointer, "A secret has 1 to %d hosts.",
                                 SECRET_HOSTS_MAX);
}

int secret_check_metadata(const json_t *metadata, const char *pointer, struct error **err)
{
    return json_dumpb(metadata, NULL, 0, JSON_COMPACT) <= SECRET_METADATA_MAX
               ? 0
               : error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                 "The metadata of a secret has at most %d bytes of JSON.",
                                 SECRET_METADATA_MAX);
}

static bool ends_with_part(const char *host, const char *pattern)
{
    size_t size = strlen(host), end = strlen(pattern + 1);
    return size > end && str_equal(host + size - end, pattern + 1);
}

static bool host_matches(const char *pattern, const char *host)
{
    if (str_equal(pattern, SECRET_ANY_HOST))
        return true;
    return str_starts_with(pattern, "*.") ? ends_with_part(host, pattern)
                                          : str_equal(pattern, host);
}

bool secret_goes_to(const struct secret *secret, const char *host)
{
    size_t index;
    json_t *pattern;
    json_array_foreach (secret->hosts, index, pattern) {
        if (host_matches(json_string_value(pattern), host))
            return true;
    }
    return false;
}

bool secret_covers(const struct secret *secret, const char *entry)
{
    size_t index;
    json_t *pattern;
    /* "*.b.a" ends with ".a" as its hosts do, and is no host itself. */
    json_array_foreach (secret->hosts, index, pattern) {
        if (str_equal(json_string_value(pattern), entry))
            return true;
    }
    return !str_equal(entry, SECRET_ANY_HOST) && secret_goes_to(secret, entry);
}

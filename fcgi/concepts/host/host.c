/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/host_check.h"
#include "host/host_room.h"
#include "http/link.h"
#include "network/firewall_client.h"

#define URL_MAX  255
#define CERT_MAX 65535 /* of a TEXT column */

const char *const host_state_names[HOST_STATE_COUNT] = {
#define STATE(symbol, name) [symbol] = name,
#include "host/host_state.def"
#undef STATE
};

const char *host_condition_name(const struct host_condition *condition, int64_t *since_ms)
{
    const struct {
        int64_t since_ms;
        const char *name;
    } worst_first[] = {
        {condition->lost_at_ms, "lost"},
        {condition->down_since_ms, "down"},
        {condition->silent_since_ms, "silent"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(worst_first); i++) {
        *since_ms = worst_first[i].since_ms;
        if (*since_ms)
            return worst_first[i].name;
    }
    return "up";
}

bool host_answers(const struct host *host)
{
    return !host->condition.lost_at_ms && (!host->condition.silent_since_ms || !host->relay_url);
}

void host_deinit(struct host *host)
{
    free(host->url);
    free(host->server_cert);
    free(host->firewall_url);
    free(host->relay_url);
    *host = (struct host){0};
}

void hosts_free(struct host *hosts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        host_deinit(&hosts[i]);
    free(hosts);
}

int hosts_each(struct db *db,
               int (*act)(void *context, const struct host *host, struct error **err),
               void *context, const char *failure, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count = 0;
    int result = host_list(db, &hosts, &count, err);
    for (unsigned i = 0; i < count && result == 0; i++) {
        if (hosts[i].condition.lost_at_ms)
            continue;
        result = act(context, &hosts[i], err);
        if (result < 0 && failure) {
            log_warning(failure, LOG_STR("host", hosts[i].name), LOG_ERROR(*err));
            error_clear(err);
            result = 0;
        }
    }
    hosts_free(hosts, count);
    return result;
}

struct trying {
    int (*act)(void *context, const struct host *host, struct error **err);
    void *context;
    struct error *first;
};

static int try_one(void *context, const struct host *host, struct error **err)
{
    struct trying *trying = context;
    if (trying->act(trying->context, host, err) == 0)
        return 0;
    if (trying->first)
        error_clear(err);
    else
        error_move(&trying->first, err);
    return 0;
}

int hosts_try_each(struct db *db,
                   int (*act)(void *context, const struct host *host, struct error **err),
                   void *context, struct error **err)
{
    struct trying trying = {.act = act, .context = context};
    if (hosts_each(db, try_one, &trying, NULL, err) < 0)
        return -1;
    return trying.first ? error_move(err, &trying.first) : 0;
}

/* --- ranges --- */

static int parse_network(const char *text, unsigned bits_least, struct address_range *range)
{
    char network[IPV4_TEXT_SIZE];
    struct in_addr address;
    uint64_t bits;
    size_t length = strcspn(text, "/");
    if (length >= sizeof network || text[length] != '/' ||
        str_parse_u64(text + length + 1, bits_least, 29, &bits) < 0)
        return -1;
    memcpy(network, text, length);
    network[length] = '\0';
    if (inet_pton(AF_INET, network, &address) != 1)
        return -1;
    uint32_t span = (uint32_t)(UINT32_MAX >> bits);
    range->first = ntohl(address.s_addr);
    range->last = range->first | span;
    return range->first & span ? -1 : 0;
}

int address_range_parse(const char *text, struct address_range *range)
{
    return parse_network(text, 16, range);
}

/* Networks may be as large as /8: the last 24 bits of an address distinguish the sandboxes of a
 * host. */
int address_network_parse(const char *text, struct address_range *range)
{
    return parse_network(text, 8, range);
}

struct address_range address_range_usable(struct address_range range)
{
    return (struct address_range){range.first + 2, range.last - 1};
}

bool host_has_address(const struct host *host, uint32_t address)
{
    struct address_range network;
    const char *text = *host->network ? host->network : host->address_range;
    return address_network_parse(text, &network) == 0 && network.first <= address &&
           address <= network.last;
}

bool address_ranges_overlap(struct address_range a, struct address_range b)
{
    return a.first <= b.last && b.first <= a.last;
}

/* --- storage --- */

bool host_pool_is_nearly_full(const struct host_pool *pool)
{
    return pool->used_mb + pool->total_mb / 100 * HOST_POOL_LEAST_FREE > pool->total_mb;
}

/* --- checks --- */

static bool url_is_valid(const char *url)
{
    size_t length = strlen(url);
    for (size_t i = 0; i < length; i++)
        if (url[i] <= 0x20 || url[i] >= 0x7f)
            return false;
    if (length > URL_MAX)
        return false;
    if (str_starts_with(url, "unix:///"))
        return url[strlen("unix:///")] != '\0';
    if (!str_starts_with(url, "https://"))
        return false;
    const char *authority = url + strlen("https://");
    return *authority && strcspn(authority, "/?#@") == strlen(authority);
}

/* Names of Incus projects and storage pools. */
static bool runtime_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length <= 63 && strspn(name, ALPHANUMERIC "-_.") == length &&
           name[0] != '-' && name[0] != '.';
}

static bool nic_prefix_is_valid(const char *prefix)
{
    size_t length = strlen(prefix);
    return (length == 1 || length == 2) && prefix[0] >= 'a' && prefix[0] <= 'z' &&
           strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789") == length;
}

static int check_place(const struct host *host, struct error **err)
{
    if (!slug_is_valid(host->name))
        return error_set_field(err, ERR_INVALID_REQUEST, "name",
                               "A host's name is 1 to 63 lower-case letters, digits and hyphens, "
                               "with no hyphen at either end.");
    if (!host->url || !url_is_valid(host->url))
        return error_set_field(err, ERR_INVALID_REQUEST, "url",
                               "A host's address is unix:///path/to/socket or https://host:port.");
    if (host->server_cert && (!strstr(host->server_cert, "-----BEGIN CERTIFICATE-----") ||
                              strlen(host->server_cert) > CERT_MAX))
        return error_set_field(err, ERR_INVALID_REQUEST, "server_cert",
                               "The server's certificate must be a PEM file.");
    if (host->firewall_url &&
        (!firewall_url_is_valid(host->firewall_url) || strlen(host->firewall_url) > URL_MAX))
        return error_set_field(err, ERR_INVALID_REQUEST, "firewall",
                               "A firewall's address is http+unix:///path/to/socket or "
                               "https://host:port.");
    if (host->relay_url &&
        (!http_link_url_is_valid(host->relay_url) || strlen(host->relay_url) > URL_MAX))
        return error_set_field(err, ERR_INVALID_REQUEST, "relay",
                               "A relay's address is https://a.b.c.d:port.");
    if (host->relay_url && str_starts_with(host->url, "unix://"))
        return error_set_field(err, ERR_INVALID_REQUEST, "relay",
                               "A host with a relay is another machine: its Incus is reached at "
                               "https://host:port.");
    if (!runtime_name_is_valid(host->project))
        return error_set_field(err, ERR_INVALID_REQUEST, "project",
                               "A project is named with letters, digits, '-', '_' and '.'.");
    if (!runtime_name_is_valid(host->pool))
        return error_set_field(err, ERR_INVALID_REQUEST, "pool",
                               "A storage pool is named with letters, digits, '-', '_' and '.'.");
    return 0;
}

static int check_network(const struct host *host, const struct address_range *range,
                         struct error **err)
{
    struct address_range network;
    if (!*host->network)
        return 0;
    if (address_network_parse(host->network, &network) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "network",
                               "A deployment's network is an IPv4 network from /8 to /29, such as "
                               "10.64.0.0/10.");
    if (network.first <= range->first && range->last <= network.last)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "network",
                           "The range %s of the host is not within the network %s.",
                           host->address_range, host->network);
}

int host_check(const struct host *host, struct error **err)
{
    struct address_range range;
    if (check_place(host, err) < 0)
        return -1;
    if (!nic_prefix_is_valid(host->nic_prefix))
        return error_set_field(err, ERR_INVALID_REQUEST, "nic_prefix",
                               "A network interface prefix is one lower-case letter and perhaps "
                               "another letter or digit.");
    if (address_range_parse(host->address_range, &range) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "range",
                               "An address range is an IPv4 network from /16 to /29, such as "
                               "10.90.0.0/16.");
    if (check_network(host, &range, err) < 0)
        return -1;
    if (host->vcpus < 1 || host->vcpus > 1000000)
        return error_set_field(err, ERR_INVALID_REQUEST, "vcpus", "vcpus must be 1 to 1000000.");
    if (host->memory_mb < 64 || host->memory_mb > 2147483648)
        return error_set_field(err, ERR_INVALID_REQUEST, "memory_mb",
                               "memory_mb must be 64 to 2147483648.");
    if (host->memory_overcommit < 100 || host->memory_overcommit > 2000)
        return error_set_field(err, ERR_INVALID_REQUEST, "memory_overcommit",
                               "memory_overcommit must be 100 to 2000 per cent.");
    if (host->disk_overcommit > 10000)
        return error_set_field(err, ERR_INVALID_REQUEST, "disk_overcommit",
                               "disk_overcommit must be 0 to 10000.");
    return 0;
}

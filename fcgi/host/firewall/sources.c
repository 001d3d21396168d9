/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/sources.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/ipv4.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/pool.h"

#define SETTING     "egress_addresses"
#define TEAM_PREFIX "tea_"

static const struct source *find(const struct sources *sources, uint64_t tenant)
{
    for (size_t i = 0; i < sources->count; i++)
        if (sources->all[i].tenant == tenant)
            return &sources->all[i];
    return NULL;
}

uint32_t sources_of(const struct sources *sources, uint64_t tenant)
{
    const struct source *source = find(sources, tenant);
    return source ? source->address : 0;
}

static int read_one(struct sources *sources, char *text, struct error **err)
{
    struct in_addr address;
    char *equals = strchr(text, '=');
    if (!equals || !str_starts_with(text, TEAM_PREFIX) ||
        inet_pton(AF_INET, equals + 1, &address) != 1)
        return error_set(err, ERR_CONFIG,
                         SETTING ": %s is not a team's id, an equals sign and an IPv4 address",
                         text);
    *equals = '\0';
    struct source source = {pool_tenant(text), ntohl(address.s_addr), false};
    if (sources_of(sources, source.tenant))
        return error_set(err, ERR_CONFIG, SETTING ": %s has two addresses", text);
    if (sources->count == SOURCES_MAX)
        return error_set(err, ERR_CONFIG, SETTING ": more than %d teams", SOURCES_MAX);
    sources->all[sources->count++] = source;
    return 0;
}

int sources_read(struct sources *sources, const char *text, struct error **err)
{
    autofree char *copy = xstrdup(text);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest))
        if (read_one(sources, word, err) < 0)
            return -1;
    return 0;
}

static bool is_here(const struct ifaddrs *list, uint32_t address)
{
    for (; list; list = list->ifa_next) {
        const struct sockaddr_in *one = (const void *)list->ifa_addr;
        if (one && one->sin_family == AF_INET && ntohl(one->sin_addr.s_addr) == address)
            return true;
    }
    return false;
}

void sources_look(struct sources *sources)
{
    struct ifaddrs *list = NULL;
    if (!sources->count || getifaddrs(&list) < 0)
        return;
    for (size_t i = 0; i < sources->count; i++)
        sources->all[i].missing = !is_here(list, sources->all[i].address);
    freeifaddrs(list);
}

bool sources_is_missing(const struct sources *sources, uint64_t tenant)
{
    const struct source *source = find(sources, tenant);
    return source && source->missing;
}

json_t *sources_missing(const struct sources *sources)
{
    char text[IPV4_TEXT_SIZE];
    json_t *missing = json_array();
    for (size_t i = 0; i < sources->count; i++)
        if (sources->all[i].missing)
            json_array_append_new(missing, json_string(ipv4_format(sources->all[i].address, text)));
    return missing;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/address_list.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* An IPv4 address is kept as an IPv4-mapped IPv6 address, so both have 128 bits. */
#define V4_BITS 96

static bool parse_address(const char *text, struct in6_addr *address)
{
    struct in_addr v4;
    if (inet_pton(AF_INET6, text, address) == 1)
        return true;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    *address = (struct in6_addr){0};
    address->s6_addr[10] = address->s6_addr[11] = 0xff;
    memcpy(address->s6_addr + 12, &v4, sizeof v4);
    return true;
}

/* Parse "10.0.0.0/8", or a single address; this changes text. */
static bool parse_network(char *text, struct in6_addr *network, unsigned *bits)
{
    char *slash = strchr(text, '/');
    uint64_t given = 128;
    if (slash)
        *slash = '\0';
    if (!parse_address(text, network))
        return false;
    unsigned before = strchr(text, ':') ? 0 : V4_BITS;
    if (slash && str_parse_u64(slash + 1, 0, 128 - before, &given) < 0)
        return false;
    *bits = slash ? before + (unsigned)given : 128;
    return true;
}

static bool is_in(const struct in6_addr *address, const struct in6_addr *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address->s6_addr, network->s6_addr, whole) != 0)
        return false;
    return !rest || (address->s6_addr[whole] ^ network->s6_addr[whole]) >> (8 - rest) == 0;
}

/* Take the next entry, without the blanks around it. Returns false at the end. */
static bool next_entry(char **rest, char **entry)
{
    *entry = strsep(rest, ",");
    if (!*entry)
        return false;
    *entry += strspn(*entry, " ");
    (*entry)[strcspn(*entry, " ")] = '\0';
    return true;
}

int address_list_check(const char *setting, const char *list, struct error **err)
{
    autofree char *copy = xstrdup(list), *shown = NULL;
    char *rest = *list ? copy : NULL, *entry;
    struct in6_addr network;
    unsigned bits;
    while (next_entry(&rest, &entry)) {
        free(shown);
        shown = xstrdup(entry);
        if (!parse_network(entry, &network, &bits))
            return error_set(err, ERR_CONFIG, "%s: \"%s\" is not an address or a network", setting,
                             shown);
    }
    return 0;
}

bool address_list_has(const char *list, const char *address)
{
    autofree char *copy = xstrdup(list);
    char *rest = *list ? copy : NULL, *entry;
    struct in6_addr own, network;
    unsigned bits;
    if (!parse_address(address, &own))
        return false;
    while (next_entry(&rest, &entry))
        if (parse_network(entry, &network, &bits) && is_in(&own, &network, bits))
            return true;
    return false;
}

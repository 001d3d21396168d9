/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/policy_entry.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define LABEL_MAX 63

void policy_entry_deinit(struct policy_entry *entry)
{
    free(entry->name);
    *entry = (struct policy_entry){0};
}

static int refuse(struct error **err, const char *sentence)
{
    return error_set(err, ERR_INVALID_REQUEST, "%s", sentence);
}

/* --- addresses --- */

static unsigned family_bits(enum policy_family family)
{
    return family == POLICY_IPV4 ? 32 : 128;
}

static bool is_ipv4_mapped(const uint8_t bytes[16])
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(bytes, prefix, sizeof prefix) == 0;
}

/* Read an address as it is written; a mapped address stays mapped. */
static int parse_literal(const char *text, struct policy_address *address)
{
    *address = (struct policy_address){.family = strchr(text, ':') ? POLICY_IPV6 : POLICY_IPV4};
    int family = address->family == POLICY_IPV4 ? AF_INET : AF_INET6;
    return inet_pton(family, text, address->bytes) == 1 ? 0 : -1;
}

int policy_address_parse(const char *text, struct policy_address *address)
{
    if (parse_literal(text, address) < 0)
        return -1;
    if (address->family == POLICY_IPV6 && is_ipv4_mapped(address->bytes)) {
        struct policy_address plain = {.family = POLICY_IPV4};
        memcpy(plain.bytes, address->bytes + 12, 4);
        *address = plain;
    }
    return 0;
}

struct policy_address policy_address_ipv4(uint32_t address)
{
    struct policy_address out = {.family = POLICY_IPV4};
    for (unsigned i = 0; i < 4; i++)
        out.bytes[i] = (uint8_t)(address >> (24 - 8 * i));
    return out;
}

const char *policy_address_text(const struct policy_address *address,
                                char out[POLICY_ADDRESS_TEXT_MAX])
{
    return inet_ntop(address->family == POLICY_IPV4 ? AF_INET : AF_INET6, address->bytes, out,
                     POLICY_ADDRESS_TEXT_MAX);
}

int policy_address_compare(const struct policy_address *a, const struct policy_address *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

/* Set, or clear, the bits behind the prefix. */
static void fill_host_bits(struct policy_address *address, unsigned prefix_length, bool ones)
{
    for (unsigned bit = prefix_length; bit < family_bits(address->family); bit++) {
        uint8_t mask = (uint8_t)(0x80 >> bit % 8);
        if (ones)
            address->bytes[bit / 8] |= mask;
        else
            address->bytes[bit / 8] &= (uint8_t)~mask;
    }
}

struct policy_address policy_network_last(const struct policy_address *network,
                                          unsigned prefix_length)
{
    struct policy_address last = *network;
    fill_host_bits(&last, prefix_length, true);
    return last;
}

/* --- host names --- */

static bool label_is_valid(const char *label, size_t length)
{
    if (!length || length > LABEL_MAX || label[0] == '-' || label[length - 1] == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)label[i]) && label[i] != '-' && label[i] != '_')
            return false;
    return true;
}

/* Clients take a name whose last label is a number for an address (WHATWG URL, "ends in a
 * number"). */
static bool label_is_number(const char *label, size_t length)
{
    if (length > 2 && label[0] == '0' && label[1] == 'x')
        return strspn(label + 2, "0123456789abcdef") >= length - 2;
    return strspn(label, "0123456789") >= length;
}

static int check_labels(const char *name, struct error **err)
{
    for (const char *label = name;;) {
        size_t length = strcspn(label, ".");
        if (!label_is_valid(label, length))
            return refuse(err,
                          "A host name has labels of 1 to 63 letters, digits, underscores and "
                          "inner hyphens, separated by dots. Write international names in their "
                          "xn-- form.");
        if (!label[length]) {
            if (label_is_number(label, length))
                return refuse(
                    err, "This is not an IPv4 address, and a host name cannot end in a number.");
            return 0;
        }
        label += length + 1;
    }
}

int policy_host_parse(const char *text, char **name, struct error **err)
{
    size_t length = strlen(text);
    if (length && text[length - 1] == '.')
        length--;
    if (length > POLICY_HOST_MAX)
        return refuse(err, "A host name has at most 253 characters.");
    autofree char *lower = xstrndup(text, length);
    for (size_t i = 0; i < length; i++)
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    if (check_labels(lower, err) < 0)
        return -1;
    *name = steal_pointer(&lower);
    return 0;
}

/* --- entries --- */

static int refuse_host_bits(const struct policy_address *network, unsigned prefix_length,
                            struct error **err)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    return error_set(err, ERR_INVALID_REQUEST,
                     "The address has bits after its prefix; the network is %s/%u.",
                     policy_address_text(network, text), prefix_length);
}

/* "address" or "address/length". */
static int parse_network(const char *text, struct policy_entry *entry, struct error **err)
{
    char literal[POLICY_ADDRESS_TEXT_MAX];
    size_t length = strcspn(text, "/");
    struct policy_address *network = &entry->network;
    entry->kind = POLICY_NETWORK;
    if (length >= sizeof literal)
        return refuse(err, "This is not an IP address.");
    memcpy(literal, text, length);
    literal[length] = '\0';
    if (parse_literal(literal, network) < 0)
        return refuse(err,
                      strchr(literal, ':')
                          ? "This is not an IPv6 address."
                          : "This is not an IPv4 address, which has four numbers from 0 to 255.");
    uint64_t bits = family_bits(network->family);
    if (text[length] && strchr(text + length, ':'))
        return refuse(err, "Write an IPv6 network with a port in brackets: [network]:port.");
    if (text[length] && str_parse_u64(text + length + 1, 0, bits, &bits) < 0)
        return error_set(err, ERR_INVALID_REQUEST, "The prefix length is a number from 0 to %u.",
                         family_bits(network->family));
    entry->prefix_length = (uint8_t)bits;
    if (network->family == POLICY_IPV6 && bits >= 96 && is_ipv4_mapped(network->bytes))
        return refuse(err, "Write an IPv4-mapped address as the IPv4 address.");
    struct policy_address written = *network;
    fill_host_bits(network, entry->prefix_length, false);
    if (policy_address_compare(&written, network))
        return refuse_host_bits(network, entry->prefix_length, err);
    return 0;
}

static int parse_port(const char *text, struct policy_entry *entry, struct error **err)
{
    uint64_t port;
    if (str_parse_u64(text, 1, 65535, &port) < 0)
        return refuse(err, "A port is a number from 1 to 65535.");
    entry->port = (uint16_t)port;
    return 0;
}

/* "[v6]" and the optional port behind it. */
static int parse_bracketed(const char *text, struct policy_entry *entry, struct error **err)
{
    const char *end = strchr(text, ']');
    if (!end || (end[1] && end[1] != ':'))
        return refuse(err, "Write an IPv6 address or network in brackets, and then :port.");
    autofree char *inside = xstrndup(text + 1, (size_t)(end - text - 1));
    if (!strchr(inside, ':'))
        return refuse(err, "Brackets are for IPv6 addresses only.");
    if (parse_network(inside, entry, err) < 0)
        return -1;
    return end[1] ? parse_port(end + 2, entry, err) : 0;
}

static bool looks_like_ipv4(const char *text)
{
    return *text && strspn(text, "0123456789./") == strlen(text);
}

/* Read the part before the port. */
static int parse_target(const char *text, struct policy_entry *entry, struct error **err)
{
    if (looks_like_ipv4(text))
        return parse_network(text, entry, err);
    if (strchr(text, '/'))
        return refuse(err, "An entry is a host name or a network, not a URL or a path.");
    if (str_equal(text, "*"))
        return refuse(err, "A wildcard needs a name after it, such as *.example.com. For all "
                           "addresses, write 0.0.0.0/0.");
    entry->kind = str_starts_with(text, "*.") ? POLICY_WILDCARD : POLICY_HOST;
    if (entry->kind == POLICY_WILDCARD)
        text += 2;
    if (strchr(text, '*'))
        return refuse(err, "A wildcard *. can only be at the beginning.");
    return policy_host_parse(text, &entry->name, err);
}

static int parse_entry(const char *text, struct policy_entry *entry, struct error **err)
{
    if (!*text || strlen(text) > POLICY_ENTRY_MAX)
        return refuse(err, "An entry is 1 to 300 characters long.");
    if (strstr(text, "://"))
        return refuse(err, "An entry is a host name or a network, not a URL or a path.");
    if (text[0] == '[')
        return parse_bracketed(text, entry, err);
    const char *colon = strchr(text, ':');
    if (!colon)
        return parse_target(text, entry, err);
    if (strchr(colon + 1, ':'))
        return parse_network(text, entry, err); /* IPv6; a port would need brackets */
    autofree char *target = xstrndup(text, (size_t)(colon - text));
    if (parse_target(target, entry, err) < 0)
        return -1;
    return parse_port(colon + 1, entry, err);
}

int policy_entry_parse(const char *text, struct policy_entry *entry, struct error **err)
{
    *entry = (struct policy_entry){0};
    int result = parse_entry(text, entry, err);
    if (result < 0)
        policy_entry_deinit(entry);
    return result;
}

static char *network_text(const struct policy_entry *entry)
{
    char address[POLICY_ADDRESS_TEXT_MAX], length[8] = "";
    policy_address_text(&entry->network, address);
    if (entry->prefix_length < family_bits(entry->network.family))
        snprintf(length, sizeof length, "/%u", entry->prefix_length);
    if (entry->port && entry->network.family == POLICY_IPV6)
        return xasprintf("[%s%s]", address, length);
    return xasprintf("%s%s", address, length);
}

char *policy_entry_text(const struct policy_entry *entry)
{
    autofree char *target =
        entry->kind == POLICY_NETWORK
            ? network_text(entry)
            : xasprintf("%s%s", entry->kind == POLICY_WILDCARD ? "*." : "", entry->name);
    return entry->port ? xasprintf("%s:%u", target, entry->port) : steal_pointer(&target);
}

/* --- matching --- */

bool policy_entry_matches_name(const struct policy_entry *entry, const char *name)
{
    if (entry->kind == POLICY_HOST)
        return str_equal(entry->name, name);
    if (entry->kind != POLICY_WILDCARD)
        return false;
    size_t length = strlen(name), suffix = strlen(entry->name);
    return length > suffix + 1 && name[length - suffix - 1] == '.' &&
           str_equal(name + length - suffix, entry->name);
}

bool policy_entry_matches_address(const struct policy_entry *entry,
                                  const struct policy_address *address)
{
    if (entry->kind != POLICY_NETWORK || entry->network.family != address->family)
        return false;
    struct policy_address network = *address;
    fill_host_bits(&network, entry->prefix_length, false);
    return policy_address_compare(&network, &entry->network) == 0;
}

static int compare_sizes(size_t a, size_t b)
{
    return a > b ? 1 : a < b ? -1 : 0;
}

int policy_entry_compare(const struct policy_entry *a, const struct policy_entry *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? 1 : -1;
    int order = a->kind == POLICY_NETWORK ? compare_sizes(a->prefix_length, b->prefix_length)
                                          : compare_sizes(strlen(a->name), strlen(b->name));
    return order ? order : compare_sizes(a->port != 0, b->port != 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One entry of a network policy as people write it:
 *
 *   api.example.com   api.example.com:443   *.example.com   *.example.com:443
 *   203.0.113.7   203.0.113.7:443   203.0.113.0/24   203.0.113.0/24:443
 *   2001:db8::1   2001:db8::/32   [2001:db8::1]:443   [2001:db8::/32]:443
 *
 * Host names follow RFC 1123 (letters, digits, hyphens) and may have underscores, as names of
 * services (RFC 8552) and of some hosts do. Addresses follow RFC 4291. The parser guesses nothing.
 * It refuses an abbreviated address, a URL or a network with host bits, and says how to write the
 * entry.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum policy_family { POLICY_IPV4, POLICY_IPV6 };

struct policy_address {
    enum policy_family family;
    uint8_t bytes[16]; /* network order; IPv4 uses the first four and leaves the rest 0 */
};

#define POLICY_HOST_MAX         253 /* bytes of a host name without the last dot (RFC 1035) */
#define POLICY_ENTRY_MAX        300 /* bytes of an entry's text: name or network, brackets, port */
#define POLICY_ADDRESS_TEXT_MAX 46  /* of an address with its NUL */

enum policy_entry_kind {
    POLICY_HOST,     /* that name and no other */
    POLICY_WILDCARD, /* every name below it, at any depth, but not the name itself */
    POLICY_NETWORK,  /* an address is a network of full length */
};

struct policy_entry {
    enum policy_entry_kind kind;
    uint16_t port; /* 0: any */
    char *name;    /* host: the name; wildcard: the part behind "*."; lower case, no last dot */
    struct policy_address network; /* host bits are 0 */
    uint8_t prefix_length;
};
void policy_entry_deinit(struct policy_entry *entry);

/* Read one entry; the caller ends with policy_entry_deinit(). The message of an error is a sentence
 * and names no field. Errors: ERR_INVALID_REQUEST. */
int policy_entry_parse(const char *text, struct policy_entry *entry, struct error **err);

/* Return the canonical text, which the caller frees; parsing it gives the same entry. */
char *policy_entry_text(const struct policy_entry *entry);

/* Check whether the entry matches this name; the port does not matter. name: lower case, no last
 * dot. */
bool policy_entry_matches_name(const struct policy_entry *entry, const char *name);
/* Check whether the entry matches this address; the port does not matter. */
bool policy_entry_matches_address(const struct policy_entry *entry,
                                  const struct policy_address *address);

/* Compare how specific two entries are; positive: a is more specific than b. The order is: a host,
 * a wildcard, a network; a longer suffix or prefix before a shorter one; with a port before
 * without. Two entries that match the same name or address and compare as 0 say the same thing. */
int policy_entry_compare(const struct policy_entry *a, const struct policy_entry *b);

/* --- names and addresses by themselves --- */

/* Read a host name into the form in which policies compare names: lower case, without the last dot.
 * The caller frees *name. Errors: ERR_INVALID_REQUEST for text that is not a host name. */
int policy_host_parse(const char *text, char **name, struct error **err);

/* Read an IPv4 or IPv6 address. An IPv4-mapped one (::ffff:192.0.2.1) becomes its IPv4 address.
 * Returns 0, or -1 for text that is not an address. */
int policy_address_parse(const char *text, struct policy_address *address);
struct policy_address policy_address_ipv4(uint32_t address); /* host byte order */
const char *policy_address_text(const struct policy_address *address,
                                char out[POLICY_ADDRESS_TEXT_MAX]);

/* Compare two addresses of one family, as memcmp() does. */
int policy_address_compare(const struct policy_address *a, const struct policy_address *b);
/* Return the last address of a network. */
struct policy_address policy_network_last(const struct policy_address *network,
                                          unsigned prefix_length);

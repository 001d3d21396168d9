/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One entry of a network policy as people write it:
 *
 *   api.example.com   api.example.com:443   *.example.com   *.example.com:443
 *   203.0.113.7   203.0.113.7:443   203.0.113.0/24   203.0.113.0/24:443
 *   2001:db8::1   2001:db8::/32   [2001:db8::1]:443   [2001:db8::/32]:443
 *
 * Host names follow RFC 1123 (letters, digits, hyphens), addresses RFC 4291. Nothing is guessed: an
 * abbreviated address, a URL or a network with host bits is refused with what it should be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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
    POLICY_WILDCARD, /* every name below, at any depth, and not the name itself */
    POLICY_NETWORK,  /* an address is a network of full length */
};

struct policy_entry {
    enum policy_entry_kind kind;
    uint16_t port; /* 0: any */
    char *name;    /* host: the name; wildcard: what stands behind "*."; lower case, no last dot */
    struct policy_address network; /* host bits are 0 */
    uint8_t prefix_length;
};
void policy_entry_deinit(struct policy_entry *entry);

/* Read one entry; the caller ends with policy_entry_deinit(). The message says what is wrong in a
 * sentence and names no field. Errors: ERR_INVALID_REQUEST. */
int policy_entry_parse(const char *text, struct policy_entry *entry, struct error **err);

/* The canonical text; reading it again gives the same entry. The caller frees it. */
char *policy_entry_text(const struct policy_entry *entry);

/* Whether the entry is about this name, whatever the port. name: lower case, no last dot. */
bool policy_entry_matches_name(const struct policy_entry *entry, const char *name);
/* Whether the entry is about this address, whatever the port. */
bool policy_entry_matches_address(const struct policy_entry *entry,
                                  const struct policy_address *address);

/* Sign of "a is more specific than b": a host before a wildcard before a network, a longer suffix
 * or prefix before a shorter, with a port before without. Two entries that match the same name, or
 * the same address, and compare as 0 say the same thing. */
int policy_entry_compare(const struct policy_entry *a, const struct policy_entry *b);

/* --- names and addresses by themselves --- */

/* A host name as policies compare them: lower case, without the last dot. The caller frees *name.
 * Errors: ERR_INVALID_REQUEST for what is no host name. */
int policy_host_parse(const char *text, char **name, struct error **err);

/* An IPv4 or IPv6 address; an IPv4-mapped one (::ffff:192.0.2.1) becomes the IPv4 address that it
 * stands for. Returns 0, or -1 when it is none. */
int policy_address_parse(const char *text, struct policy_address *address);
struct policy_address policy_address_ipv4(uint32_t address); /* host byte order */
const char *policy_address_text(const struct policy_address *address,
                                char out[POLICY_ADDRESS_TEXT_MAX]);

/* As memcmp(), for two addresses of one family. */
int policy_address_compare(const struct policy_address *a, const struct policy_address *b);
/* The first and last address of a network. */
struct policy_address policy_network_last(const struct policy_address *network,
                                          unsigned prefix_length);

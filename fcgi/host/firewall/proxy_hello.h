/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ask a proxy outside for a connection: SOCKS5 (RFC 1928, 1929), or CONNECT of HTTP (RFC 9110). The
 * proxy gets an address, never a name. Without input and output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define PROXY_ANSWER_MAX 8192 /* bytes of a proxy's answers before the connection is open */
#define PROXY_HELLO_MAX  1024 /* bytes that a proxy gets at once */
#define PROXY_PART_MAX   262  /* bytes of the longest answer of SOCKS5 */

enum proxy_result { PROXY_MORE, PROXY_OPEN, PROXY_REFUSED };

struct proxy_hello {
    bool is_http;
    uint32_t address; /* the target, host byte order */
    uint16_t port;
    char *username, *password; /* NULL: none; owned, wiped */
    enum { PROXY_METHOD, PROXY_PASSWORD, PROXY_REPLY, PROXY_STATUS, PROXY_HEADERS } state;
    uint8_t part[PROXY_PART_MAX]; /* the answer that is being read */
    size_t got, wanted;           /* bytes in part; of HTTP: got in this line */
    size_t total;                 /* bytes of all answers */
    const char *reason;           /* of PROXY_REFUSED; static */
};

/* Append the first bytes for the proxy to out. */
void proxy_hello_begin(struct proxy_hello *hello, struct buffer *out);

/* Take bytes of the proxy, and append what it gets next to out. *used: how many were a part of the
 * answer; with PROXY_OPEN, the rest belongs to the connection. */
enum proxy_result proxy_hello_take(struct proxy_hello *hello, const uint8_t *data, size_t size,
                                   size_t *used, struct buffer *out);

void proxy_hello_deinit(struct proxy_hello *hello);

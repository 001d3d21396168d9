/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection of a local client to a server in a sandbox, through the preview of its port. The
 * program adds the port's token to the head of the request; all bytes after the head pass
 * unchanged, WebSockets too. A connection serves one request: a second one would need a token of
 * its own.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "cli/api.h"

/* The header for the token of a preview. The gate also reads X-Access-Token, but programs send that
 * header to their own servers. */
#define FORWARD_TOKEN_HEADER "E2b-Traffic-Access-Token"

struct forward {
    const char *url;  /* of the preview */
    const char *host; /* its Host header */
    const char *token_header;
};

/* Serve a connection to its end; client stays the caller's. */
void forward_serve(const struct cli *cli, const struct forward *forward, int client);

/* Write the head with the token. The input ends with an empty line. Returns 0, or -1 when it is no
 * head.
 */
int forward_head(const struct forward *forward, const char *head, size_t size, struct buffer *out);

/* Return whether the header Host of a head, if there is one, means this machine: it is an address,
 * localhost, or a name below it. A web page can make its own name lead here (DNS rebinding), and
 * would then read the server's answers. The server cannot notice this, because it gets another
 * Host. */
bool forward_is_for_local(const char *head, size_t size);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check that a relay answers, and until when the certificate of a server is valid. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "http/link.h"

/* Send a request to the relay itself, and wait at most wait_ms; any answer means success. link is
 * not NULL. *expires_at_ms: the end of its certificate, wall clock; 0: unknown. Errors:
 * ERR_RUNTIME_UNAVAILABLE. */
int http_link_ask(const struct http_link *link, unsigned wait_ms, int64_t *expires_at_ms,
                  struct error **err);

/* The answer of a server of this machine. */
struct http_own_answer {
    int64_t expires_at_ms; /* the end of its certificate, wall clock; 0: unknown */
    unsigned status;
};

/* Send GET for a path (from its "/" on) of a host to the server at a port of this machine
 * (127.0.0.1), and wait at most wait_ms; any issuer of a certificate is accepted. Errors:
 * ERR_RUNTIME_UNAVAILABLE. */
int http_own_ask(const char *host, unsigned port, const char *path, unsigned wait_ms,
                 struct http_own_answer *out, struct error **err);

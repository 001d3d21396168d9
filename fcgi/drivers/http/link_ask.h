/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking a relay whether it is there, and a server until when its certificate holds. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "http/link.h"

/* Ask the relay itself, for wait_ms at most; any answer means success. *expires_at_ms: the end of
 * its certificate; 0: unknown. Errors: ERR_RUNTIME_UNAVAILABLE. */
int http_link_ask(const struct http_link *link, unsigned wait_ms, int64_t *expires_at_ms,
                  struct error **err);

/* Read the end of the certificate that the server at a port of this machine uses for a host; any
 * issuer is accepted. 0: unknown. Errors: ERR_RUNTIME_UNAVAILABLE. */
int http_own_expiry(const char *host, unsigned port, unsigned wait_ms, int64_t *expires_at_ms,
                    struct error **err);

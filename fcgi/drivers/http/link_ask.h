/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking a relay whether it is there, and a server until when its certificate holds. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "http/link.h"

/* Ask the relay itself, for wait_ms at most; whatever it says, it answers. *expires_at_ms: until
 * when its certificate holds; 0: that is not known. Errors: ERR_RUNTIME_UNAVAILABLE. */
int http_link_ask(const struct http_link *link, unsigned wait_ms, int64_t *expires_at_ms,
                  struct error **err);

/* Until when the certificate holds that the server at that port of this machine shows for a host,
 * whoever signed it; 0: that is not known. Errors: ERR_RUNTIME_UNAVAILABLE. */
int http_own_expiry(const char *host, unsigned port, unsigned wait_ms, int64_t *expires_at_ms,
                    struct error **err);

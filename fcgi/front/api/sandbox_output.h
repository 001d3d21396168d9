/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes, sessions and ports in the form of the API. Each JSON result is a new reference. */
#pragma once

#include <jansson.h>

#include "base/json_make.h"
#include "config/settings.h"
#include "runtime/agent_client.h"
#include "sandbox/sandbox.h"
#include "session/session.h"

/* Append a sandbox as text. Members that are stored as JSON are copied unchanged. */
void sandbox_write(const struct settings *settings, const struct sandbox *sandbox,
                   struct buffer *out);
json_t *sandbox_to_json(const struct settings *settings, const struct sandbox *sandbox);

/* Return the network policy and its status. */
json_t *network_to_json(const struct sandbox *sandbox);

/* Return a session; the caller wipes session. */
json_t *session_to_json(const struct settings *settings, const struct sandbox *sandbox,
                        const struct session *session);

/* Return an exposed port. gateway_status: ready, no_listener, loopback_only or blocked. */
json_t *port_to_json(const struct settings *settings, const struct sandbox *sandbox,
                     const struct exposed_port *port, const char *gateway_status);

/* Return a text; null for "". */
json_t *text_to_json(const char *text);

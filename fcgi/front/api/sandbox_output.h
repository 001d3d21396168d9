/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes, sessions and ports as the interface shows them. Each result is a new reference. */
#pragma once

#include <jansson.h>

#include "config/settings.h"
#include "runtime/agent_client.h"
#include "sandbox/sandbox.h"
#include "session/session.h"

/* As text, appended: what is stored as JSON goes out as it is. */
void sandbox_write(const struct settings *settings, const struct sandbox *sandbox,
                   struct buffer *out);
json_t *sandbox_to_json(const struct settings *settings, const struct sandbox *sandbox);

/* The policy and whether it is in force. */
json_t *network_to_json(const struct sandbox *sandbox);

/* The session object; the caller wipes the session itself. */
json_t *session_to_json(const struct settings *settings, const struct sandbox *sandbox,
                        const struct session *session);

/* gateway_status: ready, no_listener or blocked. */
json_t *port_to_json(const struct settings *settings, const struct sandbox *sandbox,
                     const struct exposed_port *port, const char *gateway_status);

/* A time as the interface writes it; null for 0. */
json_t *time_to_json(int64_t at_ms);

/* A text; null for "". */
json_t *text_to_json(const char *text);

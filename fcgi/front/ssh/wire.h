/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between sandlot-ssh and the process of a connection (sandlot-ssh-session), over a pair
 * of sockets that keeps messages apart. Each message is a JSON object.
 *
 *   sandlot-ssh first sends the settings of the session: {"host_key", "address", "port", "api_url",
 *   "ca_file", "program", "grace_s", "keep_s", "channels"}.
 *
 *   The session asks, and sandlot-ssh answers each question:
 *     {"ask": "key", "fingerprint"}    {"known": true|false}
 *     {"ask": "login", "fingerprint"}  {"token", "user", "key", "terminals": true|false,
 *                                       "ports": true|false} or {"refused": "why"}
 *     {"ask": "enter", "sandbox", "team"}  {} or {"refused": "why"}
 *     {"ask": "leave"}                 {"alone": true|false}: no other connection uses the sandbox
 *   For a certificate, "key" and "login" have "certificate" in base64 instead of "fingerprint".
 *
 *   sandlot-ssh may send {"end": "why"} at any time. The session ends when sandlot-ssh ends.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

#define WIRE_FD  3 /* the descriptor of the session's end */
#define WIRE_MAX (64 * 1024)

/* Send a message without waiting. Takes message over. Errors: ERR_INTERNAL when it is over WIRE_MAX
 * or the socket is full. */
int wire_send(int fd, json_t *message, struct error **err);

/* Wait for a message up to wait_ms (-1: without limit; 0: do not wait). Returns 1 with *message (a
 * new reference), 0 when none came in time. Errors: ERR_RUNTIME_UNAVAILABLE (the other side has
 * closed), ERR_INTERNAL (not a JSON object). */
int wire_receive(int fd, int wait_ms, json_t **message, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sandlot-ssh and the process of a connection (sandlot-ssh-session) say to each other, over a
 * pair of sockets that keeps messages apart. Each message is a JSON object.
 *
 *   sandlot-ssh first says what the session needs to know: {"host_key", "address", "port",
 * "api_url", "ca_file", "program", "grace_s", "keep_s", "channels"}.
 *
 *   The session asks, and each question is answered:
 *     {"ask": "key", "fingerprint"}    {"known": true|false}
 *     {"ask": "login", "fingerprint"}  {"token", "user", "key", "terminals": true|false,
 *                                       "ports": true|false} or {"refused": "why"}
 *     {"ask": "enter", "sandbox", "team"}  {} or {"refused": "why"}
 *     {"ask": "leave"}                 {"alone": true|false}, whether no other is in the sandbox
 * With a certificate the first two have it, in base64, as "certificate" instead of the fingerprint.
 *
 *   sandlot-ssh may say at any time {"end": "why"}. When it is gone, so is the session.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

#define WIRE_FD  3 /* where the session finds its end */
#define WIRE_MAX (64 * 1024)

/* Send a message, which is taken over; what does not fit or go at once fails. */
int wire_send(int fd, json_t *message, struct error **err);

/* Wait for a message, at most so long (-1: no end; 0: only what is there). Returns 1 with *message
 * (a new reference), 0 when none came in time, -1 at the end of the other side or with nonsense. */
int wire_receive(int fd, int wait_ms, json_t **message, struct error **err);

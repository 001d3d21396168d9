/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parse the event stream of Incus. It has the answer to the upgrade of the connection (RFC 6455,
 * section 4.2.2), and lifecycle events (doc/events.md of Incus). */
#pragma once

#include <stddef.h>

/* Sec-WebSocket-Key and Sec-WebSocket-Accept, in base64, with the end of the string. */
#define INCUS_UPGRADE_KEY_SIZE    25
#define INCUS_UPGRADE_ACCEPT_SIZE 29

/* The largest head of an answer, in bytes. */
#define INCUS_UPGRADE_HEAD_MAX 8192

/* Write a random key, and the answer that a server gives to it. */
void incus_upgrade_key(char key[INCUS_UPGRADE_KEY_SIZE]);
void incus_upgrade_accept(const char *key, char accept[INCUS_UPGRADE_ACCEPT_SIZE]);

/* Read the beginning of the answer. Return the length of its head if the server has agreed, and 0
 * if more bytes are needed. Return -1 if the server has not agreed, or the answer is of another
 * protocol. */
int incus_upgrade_read(const char *data, size_t size, const char *accept);

enum incus_event_kind {
    INCUS_EVENT_OTHER,
    INCUS_EVENT_ENDED,     /* stopped, by itself or by order, or deleted */
    INCUS_EVENT_RESTARTED, /* stopped and started again */
};

struct incus_event {
    enum incus_event_kind kind;
    char instance[64]; /* "" for INCUS_EVENT_OTHER */
};

/* Read the text of an event. Other events and other text are INCUS_EVENT_OTHER. */
void incus_event_read(const char *text, size_t size, struct incus_event *event);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Find and cut the flows of a sandbox in the kernel's connection table (libnetfilter_conntrack).
 * The chains of a sandbox mark its flows, so that the kernel can select them.
 *
 * A TCP connection is marked as cut: the packet filter answers each further packet of either end
 * with a reset. To make idle ends send a packet, both get a SYN inside their connection, and answer
 * with a challenge ACK (RFC 5961, 4.2). The entry is deleted from the table a little later, after
 * the answers of distant ends. Entries of other protocols are deleted at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct flow {
    uint32_t remote; /* host byte order */
    uint16_t remote_port, local_port;
    uint8_t protocol;
    uint32_t mark;
};

struct flows;

/* Connect to the kernel. tun_name: the device that the packet filter accepts as this program's.
 * Without the device (no permission, no /dev/net/tun), idle ends notice a cut at their next packet.
 * Errors: ERR_CONFIG. */
int flows_open(const char *tun_name, struct flows **flows, struct error **err);
void flows_close(struct flows *flows);           /* NULL is allowed */
bool flows_wake_idle(const struct flows *flows); /* whether the device exists */

/* Cut the flows that began at an address (host byte order), except those for which allowed()
 * returns true. NULL: cut all. *cut: their number. Errors: ERR_RUNTIME_REFUSED, after as many as
 * possible are cut. */
int flows_cut(struct flows *flows, uint32_t address,
              bool (*allowed)(void *context, const struct flow *flow), void *context, size_t *cut,
              struct error **err);

/* Flows of ended sandboxes. A walk of a large table takes some tens of milliseconds, however few
 * flows are wanted. One walk therefore serves many sandboxes, in one thread that holds no lock. */
struct flows_found;

/* Find the flows that began at any of these addresses, which are in rising order, and are borrowed
 * while *found exists. The caller frees *found, also after an error. Errors:
 * ERR_RUNTIME_REFUSED. */
int flows_find(struct flows *flows, const uint32_t *addresses, size_t count,
               struct flows_found **found, struct error **err);
/* Cut the found flows of an address. *cut is increased by their number. */
void flows_cut_found(struct flows *flows, const struct flows_found *found, uint32_t address,
                     size_t *cut);
void flows_found_free(struct flows_found *found); /* NULL is allowed */

/* Delete the entries that were cut long enough ago from the table. */
void flows_reap(struct flows *flows, int64_t now_ms);

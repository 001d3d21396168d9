/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flows of a sandbox in the kernel's connection table (libnetfilter_conntrack), and cutting
 * them. The chains of a sandbox mark its flows, so the kernel hands out only those.
 *
 * A TCP connection is marked as cut: the packet filter answers each further packet of either end
 * with a reset. To make idle ends send one, both get a bare SYN inside their connection, which they
 * answer with a challenge ACK (RFC 5961, 4.2). The entry is taken out of the table a little later,
 * when answers of distant ends have come. Everything else is taken out at once.
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

/* tun_name: the device that the packet filter knows as ours; without it (not permitted, no
 * /dev/net/tun) idle ends learn of a cut with their next packet. Errors: ERR_CONFIG. */
int flows_open(const char *tun_name, struct flows **flows, struct error **err);
void flows_close(struct flows *flows);           /* NULL is allowed */
bool flows_wake_idle(const struct flows *flows); /* whether the device is there */

/* Cut those flows that began at that address (host byte order) and that allowed() does not want;
 * NULL: all. *cut: how many. Errors: ERR_RUNTIME_REFUSED; what could be cut is. */
int flows_cut(struct flows *flows, uint32_t address,
              bool (*allowed)(void *context, const struct flow *flow), void *context, size_t *cut,
              struct error **err);

/* Flows of sandboxes that are gone. The table is walked bucket by bucket, some tens of milliseconds
 * for a large one, whosever flows are asked for: so that is done once for many, by one thread that
 * holds no lock meanwhile. */
struct flows_found;

/* Look for the flows that began at any of the addresses, in rising order. Errors:
 * ERR_RUNTIME_REFUSED. */
int flows_find(struct flows *flows, const uint32_t *addresses, size_t count,
               struct flows_found **found, struct error **err);
/* Cut those of an address. */
void flows_cut_found(struct flows *flows, const struct flows_found *found, uint32_t address,
                     size_t *cut);
void flows_found_free(struct flows_found *found); /* NULL is allowed */

/* Take out of the table what was cut long enough ago. */
void flows_reap(struct flows *flows, int64_t now_ms);

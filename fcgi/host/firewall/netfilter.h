/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Use netfilter where libnftables cannot, or is slow: read logged packets (NFLOG), check the
 * identity of the table, and make small changes. Plain netlink, with the layouts of
 * linux/netfilter/nfnetlink*.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A packet that the packet filter refused. */
struct refused_packet {
    uint32_t source, target; /* host byte order */
    uint8_t protocol;
    uint16_t port; /* 0: no port */
    bool too_many; /* the target is allowed, but the sandbox has too many connections */
};

/* Open a nonblocking socket for the packets that are logged to a group. Errors: ERR_CONFIG. */
int netfilter_log_open(uint16_t group, int *fd, struct error **err);

/* Call refused() for each packet that has arrived. */
void netfilter_log_read(int fd, void (*refused)(void *context, const struct refused_packet *packet),
                        void *context);

/* Call refused() for each packet of a datagram; for netfilter_log_read() and its tests. */
void netfilter_log_parse(const uint8_t *data, size_t size,
                         void (*refused)(void *context, const struct refused_packet *packet),
                         void *context);

/* A socket to the kernel, opened on first use and kept open. A close waits until the kernel has
 * freed the objects that earlier transactions removed. That takes a grace period of RCU (7 to 20
 * ms), and delays all other changes (Linux 6, nf_tables_api.c: nft_rcv_nl_event()). Only one thread
 * at a time may use it. */
struct netfilter {
    int fd; /* -1: not open */
};
#define NETFILTER_INIT ((struct netfilter){.fd = -1})
void netfilter_close(struct netfilter *netfilter);

/* Get the kernel's number of a table of family inet. A new table with the same name has another
 * number. 0: the table does not exist. Errors: ERR_RUNTIME_REFUSED. */
int netfilter_table_handle(struct netfilter *netfilter, const char *table, uint64_t *handle,
                           struct error **err);

/* Run a transaction of nft_batch.h. After an error, nothing has changed. size: in bytes. last:
 * number of the last command. *failed: number of the refused command; 0: no single command. Errors:
 * ERR_RUNTIME_REFUSED. */
int netfilter_change(struct netfilter *netfilter, const void *batch, size_t size, uint32_t last,
                     uint32_t *failed, struct error **err);

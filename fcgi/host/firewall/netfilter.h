/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of netfilter libnftables does not do, or does slowly: what the packet filter logs (NFLOG),
 * whether our table is still the same, and small changes of it. Plain netlink; layouts of
 * linux/netfilter/nfnetlink*.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A packet that was refused. */
struct refused_packet {
    uint32_t source, target; /* host byte order */
    uint8_t protocol;
    uint16_t port; /* 0: none */
    bool too_many; /* allowed, but past what one sandbox may have */
};

/* A nonblocking socket that gets what is logged to that group. Errors: ERR_CONFIG. */
int netfilter_log_open(uint16_t group, int *fd, struct error **err);

/* Hand on what has come. */
void netfilter_log_read(int fd, void (*refused)(void *context, const struct refused_packet *packet),
                        void *context);

/* For netfilter_log_read() and its tests: the packets of one datagram. */
void netfilter_log_parse(const uint8_t *data, size_t size,
                         void (*refused)(void *context, const struct refused_packet *packet),
                         void *context);

/* A socket to the kernel that stays open from call to call, and is opened when first needed. To
 * close one waits until all that earlier transactions removed is thrown away, which is a grace
 * period of RCU (7 to 20 ms), and holds up every other change meanwhile (Linux 6, nf_tables_api.c:
 * nft_rcv_nl_event()). Of one thread at a time. */
struct netfilter {
    int fd; /* -1: not open */
};
#define NETFILTER_INIT ((struct netfilter){.fd = -1})
void netfilter_close(struct netfilter *netfilter);

/* The kernel's number of the table of family inet with that name: another one when it was made
 * anew. 0 when there is none. Errors: ERR_RUNTIME_REFUSED. */
int netfilter_table_handle(struct netfilter *netfilter, const char *table, uint64_t *handle,
                           struct error **err);

/* Run a transaction of nft_batch.h, size bytes whose last command has the number last: all of it,
 * or on an error none. *failed: the number of the command that the kernel refused, 0: none of them.
 * Errors: ERR_RUNTIME_REFUSED. */
int netfilter_change(struct netfilter *netfilter, const void *batch, size_t size, uint32_t last,
                     uint32_t *failed, struct error **err);

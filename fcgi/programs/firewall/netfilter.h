/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two things of netfilter that libnftables does not do: what the packet filter logs (NFLOG), and
 * whether our table is still the same. Plain netlink; layouts of linux/netfilter/nfnetlink*.h. */
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

/* The kernel's number of the table of family inet with that name: another one when it was made
 * anew. 0 when there is none. Errors: ERR_RUNTIME_REFUSED. */
int netfilter_table_handle(const char *table, uint64_t *handle, struct error **err);

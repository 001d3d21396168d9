/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change nftables by commands in the JSON form of libnftables (libnftables-json(5)). Each call is
 * one atomic transaction of the kernel. Commands that nft_batch.h knows go to the kernel directly,
 * others through libnftables. Only one thread at a time may use it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

struct kernel;

/* Connect to the kernel. Errors: ERR_CONFIG. */
int kernel_open(struct kernel **kernel, struct error **err);
void kernel_close(struct kernel *kernel); /* NULL is allowed */

/* Run commands, an array that the caller keeps. After an error, nothing has changed. Errors:
 * ERR_RUNTIME_REFUSED, with the message of nftables. */
int kernel_run(struct kernel *kernel, json_t *commands, struct error **err);

/* Run a command that lists, like kernel_run(). *answer: the array that nftables prints; the caller
 * owns it. */
int kernel_query(struct kernel *kernel, json_t *commands, json_t **answer, struct error **err);

/* Call netfilter_table_handle() on the open connection. */
int kernel_table_handle(struct kernel *kernel, const char *table, uint64_t *handle,
                        struct error **err);

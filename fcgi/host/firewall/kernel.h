/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nftables in the JSON form of libnftables (libnftables-json(5)): each call is one atomic
 * transaction of the kernel. What nft_batch.h knows goes to the kernel at once, the rest through
 * libnftables. Not to be used by two threads at once. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"

struct kernel;

/* Errors: ERR_CONFIG. */
int kernel_open(struct kernel **kernel, struct error **err);
void kernel_close(struct kernel *kernel); /* NULL is allowed */

/* Run commands, an array that stays the caller's: all of them, or on an error none. Errors:
 * ERR_RUNTIME_REFUSED with what nftables says. */
int kernel_run(struct kernel *kernel, json_t *commands, struct error **err);

/* As kernel_run(), for a command that lists: *answer is the array that nftables prints, the
 * caller's. */
int kernel_query(struct kernel *kernel, json_t *commands, json_t **answer, struct error **err);

/* netfilter_table_handle() by the kernel's own connection. */
int kernel_table_handle(struct kernel *kernel, const char *table, uint64_t *handle,
                        struct error **err);

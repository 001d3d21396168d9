/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of rules.h in the form that the kernel takes them in (linux/netfilter/nf_tables.h);
 * pure.
 *
 * libnftables reads all tables, chains, sets and elements of the machine before each change,
 * whatever it changes: with some hundred chains that takes longer than a whole create. What a
 * sandbox has is written here without it. What is not known here (sets of intervals, lists,
 * flushes) is left to libnftables.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"

#define NFT_BATCH_MAX (160u << 10) /* bytes; what a socket takes at once */

/* Append commands, an array, as one transaction. Message number i + 1 is of the command i, and the
 * last one asks for an acknowledgement. False: one of them is not known here, or they are too long;
 * what is in batch is of no use then. */
bool nft_batch_write(struct buffer *batch, json_t *commands);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encode commands of rules.h in the kernel's form (linux/netfilter/nf_tables.h). Without input and
 * output.
 *
 * Before each change, libnftables reads all tables, chains, sets and elements of the machine. With
 * some hundred chains, that takes longer than a whole create. This code writes the objects of a
 * sandbox directly. Other commands (sets of intervals, lists, flushes) are left to libnftables.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"

#define NFT_BATCH_MAX (160u << 10) /* bytes; the most that a socket takes at once */

/* Append commands, an array, as one transaction. Message number i + 1 belongs to command i. The
 * last message asks for an acknowledgement. Returns false when a command is not known here, or the
 * commands are too long; then the contents of batch are useless. */
bool nft_batch_write(struct buffer *batch, json_t *commands);

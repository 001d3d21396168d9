/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sandboxes that are gone, or on their way, whose flows are still in the connection table. No
 * packet of theirs passes any more; what is left is to tell the far ends and to take the entries
 * out, which is done for many at once, behind the answers. A file in the state directory stands for
 * each, so that none is forgotten when this program ends.
 */
#pragma once

#include "firewall/filter.h"

/* Remember the address, whose policy has just been taken out. Errors: ERR_INTERNAL. */
int ended_add(struct filter *filter, uint32_t address, struct error **err);

/* Another sandbox gets the address: cut what is left of the former one now. Errors:
 * ERR_RUNTIME_REFUSED; it stays remembered then. */
int ended_cut_now(struct filter *filter, uint32_t address, struct error **err);

/* What the state directory remembers. Errors: ERR_CONFIG. */
int ended_restore(struct filter *filter, struct error **err);

/* Cut all that have waited long enough. Takes the filter's lock itself, and has it not while it
 * reads the connection table; for one thread alone. */
void ended_cut_due(struct filter *filter);

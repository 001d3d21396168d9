/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Store a file for each sandbox in the state directory: <address>.json, with its policy, the tenant
 * and the size of the policy, and its answered names. It has no secrets of egress rules and no
 * password of an egress proxy, so such a policy has revision 0 in it until the control plane
 * applies the policy again. A rename replaces the file. <address>.ended stays after the end of a
 * sandbox, until its flows are cut. */
#pragma once

#include "crypto/authority.h"
#include "firewall/filter.h"

/* Write the file of a sandbox. Errors: ERR_INTERNAL. */
int state_save(const char *directory, const struct filter_sandbox *sandbox, struct error **err);
/* Write the files of the sandboxes that have other names, for most_ms. A file has the whole policy,
 * and all sandboxes wait for the lock meanwhile. Returns false when some are left; the next call
 * continues with them. */
bool state_save_dirty(struct filter *filter, int64_t most_ms);
/* Mark a sandbox as ended, or delete the mark after its flows are cut. Errors: ERR_INTERNAL. */
int state_end(const char *directory, uint32_t address, struct error **err);
int state_forget_ended(const char *directory, uint32_t address, struct error **err);

/* Store a new certificate of the relay, with its key, in relay.new. Errors: ERR_INTERNAL. */
int state_put_relay(const char *directory, const struct certificate_pair *pair, struct error **err);

/* Create table.missing, or delete it. systemd loads the packet filter while the file exists
 * (conf/systemd/sandlot-nftables-lost.path). Errors: ERR_INTERNAL. */
int state_mark_table(const char *directory, bool missing, struct error **err);

/* Call found() for each file. It takes wire; answers is an array that it must not keep. A file that
 * cannot be read is logged and skipped: its sandbox stays closed until the control plane applies
 * its policy again. Errors: ERR_CONFIG: the directory cannot be read. */
int state_load(const char *directory,
               void (*found)(void *context, struct policy_wire *wire, const json_t *answers),
               void *context, struct error **err);

/* Call found() for each address whose flows must be cut. Errors: as state_load(). */
int state_load_ended(const char *directory, void (*found)(void *context, uint32_t address),
                     void *context, struct error **err);

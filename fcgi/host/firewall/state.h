/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state directory: a file a sandbox, <address>.json, with its policy and the names that it was
 * answered. Each is replaced in one rename. Of a sandbox that is gone <address>.ended is left as
 * long as its flows are to be cut. */
#pragma once

#include "firewall/filter.h"

/* Errors: ERR_INTERNAL. */
int state_save(const char *directory, const struct filter_sandbox *sandbox, struct error **err);
/* The sandbox is gone; and its flows are cut. */
int state_end(const char *directory, uint32_t address, struct error **err);
int state_forget_ended(const char *directory, uint32_t address, struct error **err);

/* Call back for every file; the callback takes wire and answers (an array that stays the state's).
 * A file that cannot be read is logged and left out: its sandbox stays closed until the control
 * plane applies its policy again. Errors: ERR_CONFIG for a directory that cannot be read. */
int state_load(const char *directory,
               void (*found)(void *context, struct policy_wire *wire, const json_t *answers),
               void *context, struct error **err);

/* Call back for every address whose flows are to be cut. Errors: as state_load(). */
int state_load_ended(const char *directory, void (*found)(void *context, uint32_t address),
                     void *context, struct error **err);

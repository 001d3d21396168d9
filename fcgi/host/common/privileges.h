/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/error.h"

/* Keep one capability (CAP_…, below 32), and drop all others. Programs that this process executes
 * cannot gain privileges either (no_new_privs). name: the name of the capability, for messages.
 * Errors: ERR_CONFIG, also when the process does not have the capability. */
int privileges_keep(unsigned capability, const char *name, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/error.h"

/* Keep one capability (CAP_…, below 32) and give every other up, for good. name: how it is called
 * in a message. Errors: ERR_CONFIG when it is not held. */
int privileges_keep(unsigned capability, const char *name, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/error.h"

/* Keep CAP_NET_ADMIN and give every other capability up, for good. Errors: ERR_CONFIG when it is
 * not held. */
int privileges_check(struct error **err);

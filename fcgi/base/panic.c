/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/panic.h"

#include <stdlib.h>

#include "base/log.h"

void panic(const char *why)
{
    log_error("cannot continue", LOG_STR("reason", why));
    abort();
}

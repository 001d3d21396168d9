/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answer the hooks of a container (INCUSD callhook FOLDER PROJECT NAME HOOK).
 *
 * incusd is a large program, and starts for each hook only to send one request to the running
 * incusd. This code sends the request.
 */
#pragma once

#include "base/error.h"

/* Send the request of `incusd callhook` with these words. Returns 0 when incusd has handled it, 1
 * when incusd's own program must handle the hook. Errors, which liblxc must treat as a failure:
 * ERR_RUNTIME_UNAVAILABLE (no answer), ERR_RUNTIME_REFUSED (a reboot: incusd starts the container
 * again). */
int hook_call(char *const command[], struct error **err);

/* Replace incusd with a program (incusd-exec) in the hook of a container's configuration. A file
 * that cannot be changed stays as it is. */
void hook_take_over(const char *config, const char *program);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hooks of a container (INCUSD callhook FOLDER PROJECT NAME HOOK). incusd is a large program,
 * which for each of them is started to put one question to the incusd that runs; this puts it.
 */
#pragma once

#include "base/error.h"

/* Ask what `incusd callhook` with these words would. Returns 0 when incusd did what is to be done,
 * 1 when incusd's own program is to ask it, which knows more. Errors: ERR_RUNTIME_UNAVAILABLE,
 * ERR_RUNTIME_REFUSED, which liblxc is to take for a failure. */
int hook_call(char *const command[], struct error **err);

/* Have the start of the container whose configuration this is call the program (incusd-exec) for
 * its hook, for which incusd names its own. A file that cannot be changed stays as it is. */
void hook_take_over(const char *config, const char *program);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run the hooks of a sandbox (service/hooks.h). A verb runs one hook at most, and may run it again
 * after a crash of this program. */
#pragma once

#include "sandbox/lifecycle_steps.h"
#include "service/hooks.h"

/* Let the services of a sandbox that starts from its disk wait for its hook after_resume. Call it
 * before the agent is initialised. */
void work_hold_services(struct work *work);

/* Run a hook, if the sandbox has it, and then start the services that waited. It takes the hook's
 * timeout and two seconds at most, however the agent behaves, and renews the lease. Errors:
 * ERR_HOOK_FAILED, if the hook's failure counts; those of the lease. */
int work_run_hook(struct work *work, enum hook_kind kind, struct error **err);

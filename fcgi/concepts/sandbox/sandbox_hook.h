/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run the hooks of a sandbox (service/hooks.h). An operation runs one hook at most, and after a
 * crash of this program the next one finds it running. */
#pragma once

#include "sandbox/lifecycle_steps.h"
#include "service/hooks.h"

/* Let the services of a sandbox that starts from its disk wait for its hook after_resume. Call it
 * before the agent is initialised. */
void work_hold_services(struct work *work);

/* Run a hook, if the sandbox has it, and then start the services that waited. It takes the hook's
 * timeout and two seconds at most, however the agent behaves, and renews the lease. With
 * work->leaves_hook it takes a moment (an agent that is mute: two seconds). Errors:
 * ERR_HOOK_FAILED, if the hook's failure counts; ERR_HOOK_RUNS; those of the lease. */
int work_run_hook(struct work *work, enum hook_kind kind, struct error **err);

/* After ERR_HOOK_RUNS: release the operation. The next attempt, with operation.hook_since_ms,
 * repeats no step before the hook. */
int work_await_hook(struct work *work, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dispatcher's part of a host that joins. */
#pragma once

#include "joining/join.h"
#include "worker/worker.h"

/* Try the hosts whose turn it is: call what is on them, bring them the templates that others have,
 * let a sandbox run a command there, and remove it. Then they are active. What fails is written
 * down, and tried again in seconds. */
int join_try_all(struct worker *worker, struct error **err);

/* Whether an instance is the trial of a host that joins. */
int join_trial_knows(struct worker *worker, const char *instance_name, bool *known,
                     struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dispatcher's part of a joining host. */
#pragma once

#include "joining/join.h"
#include "worker/worker.h"

/* Try the joining hosts that are due. For each: call its programs, copy the templates of other
 * hosts to it, run a command in a sandbox there, and delete the sandbox. Then they are active. A
 * failure is stored, and the trial repeated after some seconds. */
int join_try_all(struct worker *worker, struct error **err);

/* Check whether an instance is the trial sandbox of a joining host. */
int join_trial_knows(struct worker *worker, const char *instance_name, bool *known,
                     struct error **err);

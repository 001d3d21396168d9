/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs of the dispatcher that have no header of their own. */
#pragma once

#include "worker/worker.h"

/* Move one sandbox whose deadline has passed to the state of its end, and leave the rest to
 * sandbox_recover_next(): this takes a transaction, the runtime may take many seconds. *worked:
 * there was one. */
int sandbox_expire_next(struct worker *worker, bool *worked, struct error **err);

/* Finish or undo one operation that has no holder any more, or none yet. *worked: there was one. */
int sandbox_recover_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the instances of every host with the rows: what belongs to nobody is removed, and what
 * runs though its sandbox is stopped is stopped. */
int sandbox_sweep(struct worker *worker, struct error **err);

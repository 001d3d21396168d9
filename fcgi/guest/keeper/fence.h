/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of a volume's files against sandboxes that start with it. Before a sandbox starts with a
 * volume, the control plane begins a new generation of the volume and raises the fence here. From
 * then on no change of an older generation starts, and the changes in progress have ended. A change
 * is short: the long part (the bytes of an upload) happens before, out of sight. The removal of a
 * tree's contents continues after the answer; a raised fence stops it, and its leftovers are out of
 * sight.
 *
 * The fences live as long as the process. A request names the process that it is meant for (its
 * epoch), so one that was allowed before a restart is refused after it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "keeper/keeper_error.h"

#define VOLUME_ID_SIZE 31
#define EPOCH_SIZE     33

struct fence;

/* Return the name of this process, which is new after each start. It is made at the first call. */
const char *fence_epoch(void);

/* Return the fence of a volume, which lives as long as the process. */
struct fence *fence_of(const char *volume_id);

/* Begin a change. Returns 0, and the caller then calls fence_leave(), or -1 with KEEPER_FENCED. */
int fence_enter(struct fence *fence, uint64_t generation, struct keeper_error *error);
void fence_leave(struct fence *fence);

/* Do the same as fence_enter() and fence_leave(), for work that continues after the answer. The
 * worker calls fence_is_raised() between its steps, and ends when the fence is raised. Each volume
 * can have four at once, and one while the volumes of this host have many. fence_enter_slow() also
 * fails when there is no room; then it does the same as fence_ask_again(). */
int fence_enter_slow(struct fence *fence, uint64_t generation);
void fence_leave_slow(struct fence *fence);
bool fence_is_raised(struct fence *fence, uint64_t generation);

/* Return true for the first call since the start, or since fence_ask_again(): the caller then
 * deletes the leftovers of earlier removals. */
bool fence_is_first(struct fence *fence);
void fence_ask_again(struct fence *fence);

/* Refuse all changes of older generations, and wait for changes in progress. */
void fence_raise(struct fence *fence, uint64_t generation);

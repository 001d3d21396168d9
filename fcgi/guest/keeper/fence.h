/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of a volume's files against sandboxes that start with it. Each time a sandbox is about
 * to, the control plane begins a new generation of the volume, and before the sandbox starts it
 * raises the fence here: from then on nothing that was allowed in an older generation is done, and
 * what was being done has ended. A change is short: what takes long (the bytes of an upload) is
 * prepared where nobody sees it. The removal of a tree's contents goes on behind the answer; it is
 * told to stop, and what it leaves is out of sight.
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

/* The name of this process's time; made at the first call. */
const char *fence_epoch(void);

/* The fence of a volume, which lives as long as the process. */
struct fence *fence_of(const char *volume_id);

/* Begin a change; 0, or -1 with KEEPER_FENCED. Every 0 needs a fence_leave(). */
int fence_enter(struct fence *fence, uint64_t generation, struct keeper_error *error);
void fence_leave(struct fence *fence);

/* As fence_enter() and fence_leave(), for work behind an answer, which is given up for a raised
 * fence: whoever does it asks fence_is_raised() between its steps. */
int fence_enter_slow(struct fence *fence, uint64_t generation);
void fence_leave_slow(struct fence *fence);
bool fence_is_raised(struct fence *fence, uint64_t generation);

/* Whether this is the first question since the start, or since fence_ask_again(): who gets true
 * looks for what earlier removals have left. */
bool fence_is_first(struct fence *fence);
void fence_ask_again(struct fence *fence);

/* Refuse everything older than this generation, and wait for what is under way. */
void fence_raise(struct fence *fence, uint64_t generation);

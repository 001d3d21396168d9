/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of teams and users in the processes that do one kind of work. Each process writes the
 * team and the user of its row into a slot of shared memory. The function lease_take() skips rows
 * whose team or user has its share of the processes. The last free process is for a team and user
 * without one. A slot ends with lease_board_leave(); the processes of a board end together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Create the board. Processes that fork from this one afterwards share it. Returns 0, or -1 with
 * errno. */
int lease_board_open(void);

/* Take a slot for this process. Its group has this number of processes. At most `most` processes of
 * the group work for one team or user at once. Without this call, or without a free slot, this
 * process limits no team and no user. */
void lease_board_join(unsigned group, unsigned processes, unsigned most);

/* Return whether this process may work for the team (0: no team) and the user (0: no user). If so,
 * note both in its slot. */
bool lease_board_enter(uint64_t team, uint64_t user);

/* Note that the work on the row has ended. */
void lease_board_leave(void);

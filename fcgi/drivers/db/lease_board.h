/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of teams in the processes that do one kind of work. Each process writes the team of its
 * row into a slot of shared memory, and lease_take() passes over rows of a team that has its share
 * of the processes. A slot ends with lease_board_leave(); the processes of a board end together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Make the board. Processes that fork from this one afterwards share it. Returns -1 with errno. */
int lease_board_open(void);

/* Take a slot for this process: its rows are of teams that have at most so many processes of the
 * group at once. Without this call no team is bounded in this process. */
void lease_board_join(unsigned group, unsigned most);

/* Whether this process may work for the team; then its slot says so. */
bool lease_board_enter(uint64_t team);

/* The work on the row has ended. */
void lease_board_leave(void);

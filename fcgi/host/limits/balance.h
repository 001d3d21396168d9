/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Share the processors of a host between teams.
 *
 * The kernel shares a busy processor between instances by their weights. Each team has one weight,
 * TEAM_WEIGHT. The instances of the team share it by the processors that they lately used. So a
 * team with twenty busy instances gets as much as a team with one, and an idle instance costs its
 * team nothing. An instance of an unknown team keeps the weight that Incus gave it.
 *
 * The control plane names the team with the network policy, before or while the instance starts. A
 * link in a folder of the host keeps it when this program starts again.
 */
#pragma once

#include "base/sizing.h"
#include "common/team_note.h"
#include "limits/group.h"

#define TEAM_WEIGHT CPU_WEIGHT_PERCENT /* that of one vCPU without this program */

struct balance;

/* Open the list, with the teams that are noted in a folder, which is created if it is missing. */
struct balance *balance_open(const char *folder);
void balance_close(struct balance *balance);

/* Note the team of an instance and the user who created it. The instance may start later. A failure
 * to write the note is logged. */
void balance_note(struct balance *balance, const char *instance, const struct tenant *tenant);

/* Read the use of all noted instances, and set their weights. Forget instances that have not run
 * for two minutes. Call this every two seconds. */
void balance_run(struct balance *balance, struct groups *groups);
/* Return the number of noted instances. */
unsigned balance_count(const struct balance *balance);

/* The processors of an instance, and how many of them it used on average. */
struct balance_use {
    unsigned cpus;
    double busy;
};
/* Return the weight that a team's instances have for each of their processors. */
double balance_weight(const struct balance_use *uses, unsigned count);

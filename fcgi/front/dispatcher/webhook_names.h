/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Look up the addresses of webhooks' hosts. A thread looks up each name: the resolver of the C
 * library waits for name servers, and the team chooses these. A team has few of these threads, so
 * servers that do not answer delay only the webhooks of their team.
 */
#pragma once

#define WEBHOOK_NAMES_TEAM 8   /* lookups of a team at the same time */
#define WEBHOOK_NAMES_ALL  128 /* lookups in all */

struct webhook_names;

/* Open the lookups. Aborts when the kernel has no descriptor left. */
struct webhook_names *webhook_names_open(void);
/* Close the lookups. Threads that still run end later by themselves. */
void webhook_names_close(struct webhook_names *names);

/* Return a descriptor that becomes readable when a lookup has ended. */
int webhook_names_fd(const struct webhook_names *names);

enum webhook_name_state { WEBHOOK_NAME_WAITS, WEBHOOK_NAME_FOUND, WEBHOOK_NAME_FAILED };

/* Find the addresses of a host for a team. Never waits; call it again while it returns
 * WEBHOOK_NAME_WAITS. *text: FOUND: the addresses in the form of CURLOPT_RESOLVE; FAILED: the
 * reason. It is borrowed until the next call. */
enum webhook_name_state webhook_names_find(struct webhook_names *names, const char *team_id,
                                           const char *host, const char **text);

/* Start queued lookups that have room, collect finished ones, and forget old ones. */
void webhook_names_turn(struct webhook_names *names);

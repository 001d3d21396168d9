/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses of the hosts that webhooks name. Each name is looked up by a thread, as the
 * resolver of the C library waits for name servers, and a team chooses its name servers. A team
 * has few of these threads, so servers that do not answer delay the webhooks of their team alone.
 */
#pragma once

#define WEBHOOK_NAMES_TEAM 8   /* lookups of a team at the same time */
#define WEBHOOK_NAMES_ALL  128 /* lookups in all */

struct webhook_names;

/* Aborts when the kernel gives no descriptor. */
struct webhook_names *webhook_names_open(void);
/* Lookups in progress end later, by themselves. */
void webhook_names_close(struct webhook_names *names);

/* A descriptor that becomes readable when a lookup has ended. */
int webhook_names_fd(const struct webhook_names *names);

enum webhook_name_state { WEBHOOK_NAME_WAITS, WEBHOOK_NAME_FOUND, WEBHOOK_NAME_FAILED };

/* The addresses of a host, for a team: to be called again while it returns WEBHOOK_NAME_WAITS.
 * Never waits. *text: FOUND: the addresses as CURLOPT_RESOLVE takes them; FAILED: why not. It is
 * borrowed until the next call. */
enum webhook_name_state webhook_names_find(struct webhook_names *names, const char *team_id,
                                           const char *host, const char **text);

/* Start lookups that have room now, collect those that have ended, forget old ones. */
void webhook_names_turn(struct webhook_names *names);

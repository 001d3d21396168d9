/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys that reach a team, whoever of its members made them: for the team's owners. */
#pragma once

#include "account/account.h"

#define TEAM_KEYS_MAX 10000

struct team_key {
    char id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    char name[65 * 4];
    bool is_ssh, can_write, all_teams;
    int64_t created_at_ms, expires_at_ms, last_used_at_ms; /* 0: none */
};

/* Those that are good, newest first; the caller frees. */
int team_key_list(struct db *db, const char *team_id, struct team_key **keys, unsigned *count,
                  struct error **err);

/* From the next request on the key reaches the team no more; what else its user gave it stays. One
 * for every team of its user is one for those others that the user is in by now, and one that
 * reaches nothing more is revoked. Errors: ERR_NOT_FOUND. */
int team_key_shut_out(struct db *db, const char *team_id, const char *key_id, struct error **err);

extern const struct db_statement_list team_key_statements;

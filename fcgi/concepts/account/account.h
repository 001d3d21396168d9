/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users, teams, memberships and plans. A user has a personal team, made with the user and carrying
 * the user's name as its slug. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ulid.h"
#include "db/db.h"

#define SLUG_MAX 63 /* [a-z0-9] then [a-z0-9-], not ending in '-' */

bool slug_is_valid(const char *text);

struct plan {
    char name[33];
    bool resource_override;
    uint32_t cpu_default, memory_mb_default; /* fallback baseline of new templates */
    uint32_t cpu_values[16];
    unsigned cpu_value_count;
    uint32_t memory_mb_min, memory_mb_max, memory_mb_increment;
    uint32_t disk_gb, max_timeout_s;
    uint32_t sandboxes, vcpus, memory_mb, stopped_sandboxes, volumes, volume_gb, checkpoints;
    /* What is stopped, or a checkpoint, for longer is removed (0: never), and not before a warning
     * has stood in its record for so long. */
    uint32_t stopped_days, checkpoint_days, cleanup_warning_hours;
    char currency[4], vcpu_hour[17], memory_gb_hour[17], storage_gb_month[17];
};

#define PLANS_MAX 32

/* Errors: ERR_NOT_FOUND. */
int plan_get(struct db *db, const char *name, struct plan *plan, struct error **err);
/* All plans in catalogue order. */
int plan_list(struct db *db, struct plan plans[PLANS_MAX], unsigned *count, struct error **err);
/* Change one column of a plan by its name ("sandboxes", "vcpu_hour"); the value is checked.
 * Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST with the field. */
int plan_set(struct db *db, const char *name, const char *column, const char *value,
             struct error **err);

/* Whether a sandbox of the plan may have as much. Errors: ERR_INVALID_REQUEST with the field. */
int plan_check_cpu(const struct plan *plan, uint32_t cpu, const char *field, struct error **err);
int plan_check_memory(const struct plan *plan, uint32_t memory_mb, const char *field,
                      struct error **err);

struct team {
    char id[ID_SIZE];
    char slug[SLUG_MAX + 1];
    char plan[33];
};

/* The team that owns the templates of the deployment, made with the schema. Its members build and
 * delete them as a team does its own; every team may use them. The id sorts before all others. */
#define TEAM_DEPLOYMENT_ID "tea_00000000000000000000000000"

struct user {
    char id[ID_SIZE];
    char name[SLUG_MAX + 1];
    char personal_team_id[ID_SIZE];
};

/* Make a user with the personal team (plan basic). Errors: ERR_NAME_TAKEN, ERR_INVALID_REQUEST. */
int user_create(struct db *db, const char *name, struct user *user, struct error **err);
/* Errors: ERR_NOT_FOUND. */
int user_get_by_name(struct db *db, const char *name, struct user *user, struct error **err);
/* All users by name; the caller frees the array. */
int user_list(struct db *db, struct user **users, unsigned *count, struct error **err);

/* Errors: ERR_NAME_TAKEN, ERR_INVALID_REQUEST (slug, plan), ERR_NOT_FOUND (owner). */
int team_create(struct db *db, const char *slug, const char *plan, const char *owner_name,
                struct team *team, struct error **err);
/* Inside a transaction: lock the team's row and read its plan. Who counts what a team has against
 * its plan does so under this lock, and adds to it in the same transaction. Errors: ERR_NOT_FOUND.
 */
int team_lock(struct db *db, const char *team_id, struct plan *plan, struct error **err);
/* Errors: ERR_NOT_FOUND. */
int team_get_by_slug(struct db *db, const char *slug, struct team *team, struct error **err);
/* All teams by slug, personal ones too; the caller frees the array. */
int team_list(struct db *db, struct team **teams, unsigned *count, struct error **err);
/* In force for the next request. Errors: ERR_NOT_FOUND (team), ERR_INVALID_REQUEST (plan). */
int team_set_plan(struct db *db, const char *slug, const char *plan, struct error **err);
/* A member already: success. Errors: ERR_NOT_FOUND (team or user). */
int team_add_member(struct db *db, const char *slug, const char *user_name, struct error **err);

extern const struct db_statement_list account_statements;
extern const struct db_statement_list plan_statements;

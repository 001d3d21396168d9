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
    uint32_t sandboxes, vcpus, memory_mb, stopped_sandboxes, paused_memory_gb;
    uint32_t volumes, volume_gb, checkpoints;
    /* What is stopped, or a checkpoint, for longer is removed (0: never), and not before a warning
     * has stood in its record for so long. */
    uint32_t stopped_days, checkpoint_days, cleanup_warning_hours;
    uint32_t audit_days;      /* that the log of what was done to its things goes back */
    uint32_t process_log_kib; /* of what the processes of a sandbox wrote, kept in its memory */
    char currency[4], vcpu_hour[17], memory_gb_hour[17], storage_gb_month[17];
    bool is_public; /* teams with other plans see it in their list of plans */
};

#define PLANS_MAX 32

/* Errors: ERR_NOT_FOUND. */
int plan_get(struct db *db, const char *name, struct plan *plan, struct error **err);
/* All plans in catalogue order. */
int plan_list(struct db *db, struct plan plans[PLANS_MAX], unsigned *count, struct error **err);
struct plan_value {
    char column[32];   /* "sandboxes" */
    const char *value; /* "200"; borrowed */
};
/* Change columns of a plan by their names, all of them or none; the values are checked, and whether
 * they fit together. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST with the column as its field. */
int plan_set(struct db *db, const char *name, const struct plan_value *values, unsigned count,
             struct error **err);

/* A new plan with the values of another, behind all in the catalogue. Errors: ERR_NOT_FOUND (from),
 * ERR_NAME_TAKEN, ERR_INVALID_REQUEST. */
int plan_create(struct db *db, const char *name, const char *from, struct error **err);
/* Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST (a team is on it). */
int plan_remove(struct db *db, const char *name, struct error **err);

/* Whether a sandbox of the plan may have as much. Errors: ERR_INVALID_REQUEST with the field. */
int plan_check_cpu(const struct plan *plan, uint32_t cpu, const char *field, struct error **err);
int plan_check_memory(const struct plan *plan, uint32_t memory_mb, const char *field,
                      struct error **err);

/* What a member of a team may do in it; each includes those before it. */
enum team_role {
    ROLE_VIEWER, /* read */
    ROLE_MEMBER, /* write */
    ROLE_OWNER,  /* manage members */
};
const char *team_role_name(enum team_role role); /* "viewer" */
/* Returns 0, or -1 when name is none. */
int team_role_parse(const char *name, enum team_role *role);

struct team {
    char id[ID_SIZE];
    char slug[SLUG_MAX + 1];
    char plan[33];
    enum team_role role; /* of the user who asks; of the teams of a principal only */
};

/* The team that owns the templates of the deployment, made with the schema. Its members build and
 * delete them as a team does its own; every team may use them. The id sorts before all others. */
#define TEAM_DEPLOYMENT_ID "tea_00000000000000000000000000"

struct user {
    char id[ID_SIZE];
    char name[SLUG_MAX + 1];
    char personal_team_id[ID_SIZE];
    int64_t disabled_at_ms; /* 0: not */
    bool has_password, has_second_factor;
};

/* Make a user with the personal team (plan basic), which the user owns. Errors: ERR_NAME_TAKEN,
 * ERR_INVALID_REQUEST. */
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

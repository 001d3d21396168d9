/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users, teams, memberships and plans. Each user has a personal team. It is made with the user, and
 * its slug is the user's name. */
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
    uint32_t cpu_default, memory_mb_default; /* for new templates that name no size */
    uint32_t cpu_values[16];
    unsigned cpu_value_count;
    uint32_t memory_mb_min, memory_mb_max, memory_mb_increment;
    uint32_t disk_gb, max_timeout_s;
    uint32_t sandboxes, vcpus, memory_mb, stopped_sandboxes, paused_memory_gb;
    uint32_t volumes, volume_gb, checkpoints;
    /* The cleanup removes sandboxes that have been stopped for more than stopped_days, and
     * checkpoints older than checkpoint_days; 0: never. Their record shows a warning for
     * cleanup_warning_hours before. */
    uint32_t stopped_days, checkpoint_days, cleanup_warning_hours;
    uint32_t audit_days;      /* the days that the audit log keeps for the team */
    uint32_t process_log_kib; /* output of the sandbox's processes to keep, in its memory */
    char currency[4], vcpu_hour[17], memory_gb_hour[17], storage_gb_month[17];
    bool is_public;             /* teams on other plans see it in their list of plans */
    bool virtual_machines_only; /* its sandboxes may not be containers */
};

#define PLANS_MAX 32

/* Read a plan. Errors: ERR_NOT_FOUND. */
int plan_get(struct db *db, const char *name, struct plan *plan, struct error **err);
/* List all plans in catalogue order. */
int plan_list(struct db *db, struct plan plans[PLANS_MAX], unsigned *count, struct error **err);
struct plan_value {
    char column[32];   /* "sandboxes" */
    const char *value; /* "200"; borrowed */
};
/* Change columns of a plan by their names: all columns, or none after an error. Checks each value,
 * and that all values fit together. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST with the column as
 * its field. */
int plan_set(struct db *db, const char *name, const struct plan_value *values, unsigned count,
             struct error **err);

/* Create a plan with the values of another one, at the end of the catalogue. Errors: ERR_NOT_FOUND
 * (from), ERR_NAME_TAKEN, ERR_INVALID_REQUEST. */
int plan_create(struct db *db, const char *name, const char *from, struct error **err);
/* Remove a plan. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST (a team is on it, or it is basic). */
int plan_remove(struct db *db, const char *name, struct error **err);

/* Check that the plan allows a sandbox of this size. Errors: ERR_INVALID_REQUEST with the field. */
int plan_check_cpu(const struct plan *plan, uint32_t cpu, const char *field, struct error **err);
int plan_check_memory(const struct plan *plan, uint32_t memory_mb, const char *field,
                      struct error **err);

/* The rights of a member in a team; each role includes those before it. */
enum team_role {
    ROLE_VIEWER, /* read */
    ROLE_MEMBER, /* write */
    ROLE_OWNER,  /* manage members */
};
const char *team_role_name(enum team_role role); /* "viewer" */
/* Find the role of a name. Returns 0, or -1 for an unknown name. */
int team_role_parse(const char *name, enum team_role *role);

struct team {
    char id[ID_SIZE];
    char slug[SLUG_MAX + 1];
    char plan[33];
    enum team_role role; /* the user's role; set only in the teams of a principal */
};

/* The team that owns the templates of the deployment, created with the schema. Its members build
 * and delete these templates as a team does its own; every team may use them. The id sorts before
 * all others. */
#define TEAM_DEPLOYMENT_ID "tea_00000000000000000000000000"

struct user {
    char id[ID_SIZE];
    char name[SLUG_MAX + 1];
    char personal_team_id[ID_SIZE];
    int64_t disabled_at_ms; /* 0: enabled */
    bool has_password, has_second_factor;
    unsigned passkeys;
};

/* Create a user together with the personal team (plan basic), which the user owns. Errors:
 * ERR_NAME_TAKEN, ERR_INVALID_REQUEST. */
int user_create(struct db *db, const char *name, struct user *user, struct error **err);
/* Do the same; then(db, user, context) runs in the same transaction. */
int user_create_and(struct db *db, const char *name,
                    int (*then)(struct db *db, const struct user *user, void *context,
                                struct error **err),
                    void *context, struct user *user, struct error **err);
/* Read a user. Errors: ERR_NOT_FOUND. */
int user_get_by_name(struct db *db, const char *name, struct user *user, struct error **err);
/* List at most limit users by name, from the one after `after` ("": from the first). The caller
 * frees the array. */
int user_list(struct db *db, const char *after, unsigned limit, struct user **users,
              unsigned *count, struct error **err);

/* Create a team with an owner. Errors: ERR_NAME_TAKEN, ERR_INVALID_REQUEST (slug, plan),
 * ERR_NOT_FOUND (owner). */
int team_create(struct db *db, const char *slug, const char *plan, const char *owner_name,
                struct team *team, struct error **err);
/* Lock the team's row inside a transaction, and read its plan. Code that compares a team's
 * resources with the plan counts and adds them under this lock, in the same transaction. Errors:
 * ERR_NOT_FOUND. */
int team_lock(struct db *db, const char *team_id, struct plan *plan, struct error **err);
/* Read a team. Errors: ERR_NOT_FOUND. */
int team_get_by_slug(struct db *db, const char *slug, struct team *team, struct error **err);
/* List all teams by slug, personal ones too; the caller frees the array. */
int team_list(struct db *db, struct team **teams, unsigned *count, struct error **err);
/* Move a team to another plan; the next request obeys it. Errors: ERR_NOT_FOUND (team),
 * ERR_INVALID_REQUEST (plan). */
int team_set_plan(struct db *db, const char *slug, const char *plan, struct error **err);

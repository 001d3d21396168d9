/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Template versions that are built from another one by steps. A dispatcher makes a sandbox of the
 * team from the base, lets the steps run in it one after the other, and hands its disk to whoever
 * builds versions (template/template_build.h); then it removes the sandbox. The sandbox is one like
 * any other: it counts in the team's quota and has the network of the deployment's class.
 *
 * A recipe is an object of JSON:
 *
 *   {"steps": [{"type": "run", "command": "make", "user": "root"},
 *              {"type": "copy", "files": "<hash>", "source": "src/", "destination": "/app/",
 *               "user": "root", "mode": "0755"},
 *              {"type": "env", "envs": {"NAME": "value"}, "expand": true},
 *              {"type": "workdir", "path": "/app"},
 *              {"type": "user", "user": "user"}],
 *    "start_command": "…", "ready_command": "…"}
 *
 * With expand, values may name variables (recipe_expand.h). What env, workdir and user say holds
 * for the steps after them and for the sandboxes that are made from the version; the start command
 * runs in each of them.
 */
#pragma once

#include <jansson.h>

#include "http/schema.h"
#include "template/template.h"
#include "worker/worker.h"

#define RECIPE_STEPS_MAX    200
#define RECIPE_UNFINISHED   20      /* of a team */
#define RECIPE_WAIT_MS      3600000 /* for the steps of one, in whose place nothing else waits */
#define RECIPE_TIME_MAX_S   3600    /* for all steps together */
#define RECIPE_COMMAND_MAX  65536
#define RECIPE_PATH_MAX     4096
#define RECIPE_FAILURE_SIZE 1024

enum recipe_state { RECIPE_WAITING, RECIPE_RUNNING, RECIPE_COPYING, RECIPE_DONE };

/* Members of a body that say a recipe. */
#define RECIPE_MEMBERS                                                                           \
    {.name = "steps", .type = SCHEMA_ARRAY, .max = RECIPE_STEPS_MAX, .item = &recipe_step_item}, \
        {.name = "start_command", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX},             \
    {                                                                                            \
        .name = "ready_command", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX                \
    }
extern const struct schema_member recipe_step_item;

struct recipe_owner {
    const char *team_id, *user_id;
    const json_t *tags;
};

/* Whether the steps of a recipe that has passed its schema have what their types need and nothing
 * else, and the files that they name are there. Errors: ERR_INVALID_REQUEST with the field. */
int recipe_check(struct db *db, const char *team_id, const json_t *recipe, struct error **err);

/* Whether a list of strings can be given as tags; NULL: none. field: of the errors. Errors:
 * ERR_INVALID_REQUEST. */
int recipe_check_tags(const json_t *tags, const char *field, struct error **err);

/* Inside the transaction that inserts the version (template_request.claim): its steps follow, and
 * it gets these tags (NULL: none) when it is built. Errors: ERR_SANDBOX_QUOTA_EXCEEDED
 * (RECIPE_UNFINISHED). */
int recipe_open(struct db *db, const char *version_id, const struct recipe_owner *owner,
                struct error **err);

/* Nobody will say them: the version fails, for that reason. */
int recipe_give_up(struct db *db, const char *version_id, const char *failure, struct error **err);

/* What to do, checked: base: a version that the team sees; network: the policy of the sandbox. */
struct recipe_order {
    const char *version_id;
    const struct template_version *base;
    const json_t *recipe;
    const char *network;
};

/* Let the first dispatcher begin; inside a transaction. Errors: ERR_NOT_FOUND (no version waits for
 * its steps by this id). */
int recipe_begin(struct db *db, const struct keyring *ring, const struct recipe_order *order,
                 struct error **err);

/* How one goes, for who asks. */
struct recipe_status {
    enum recipe_state state;
    char failed_step[16]; /* "": none */
    char failure[RECIPE_FAILURE_SIZE];
};
/* *found false: the version has no recipe. */
int recipe_status_get(struct db *db, const char *version_id, struct recipe_status *status,
                      bool *found, struct error **err);

/* For the dispatcher: go on with one, for a few seconds at most. *worked: there was one. */
int recipe_next(struct worker *worker, bool *worked, struct error **err);

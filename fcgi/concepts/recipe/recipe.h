/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Template versions that are built from another one by steps. A dispatcher makes a sandbox of the
 * team from the base, and runs the steps in it one after the other. Then it builds the version from
 * the sandbox's disk (template/template_build.h) and deletes the sandbox. This sandbox is like any
 * other: it counts in the team's quota and has the network of the deployment's class.
 *
 * A recipe is an object of JSON:
 *
 *   {"steps": [{"type": "run", "command": "make", "user": "root"},
 *              {"type": "copy", "files": "<hash>", "source": "src/", "destination": "/app/",
 *               "user": "root", "mode": "0755"},
 *              {"type": "env", "envs": {"NAME": "value"}, "expand": true},
 *              {"type": "workdir", "path": "/app"},
 *              {"type": "user", "user": "user"}],
 *    "start_command": "…", "ready_command": "…", "start_image_command": true, "no_cache": true,
 *    "services": […]}
 *
 * The services (service/service.h) replace those of the base. With no_cache, no step of an earlier
 * build is used (recipe_cache.h).
 *
 * A recipe for an OCI image has the step that fetches it in front (recipe_image.h).
 *
 * The recipe of a Dockerfile has further members (recipe_dockerfile_add()).
 *
 * With expand, values may name variables (recipe_expand.h). The settings of env, workdir and user
 * hold for the steps after them, and for the sandboxes that are made from the version. The start
 * command and the services run in each of these sandboxes. After the copy, the dispatcher creates a
 * sandbox from the version. It waits for the ready command, and keeps a checkpoint with memory.
 * Creates start from this memory. Where it cannot be kept or used, the agent runs the start
 * command.
 */
#pragma once

#include <jansson.h>

#include "base/guest_limits.h"
#include "dockerfile/dockerfile.h"
#include "http/schema.h"
#include "service/service.h"
#include "template/template.h"
#include "worker/worker.h"

#define RECIPE_STEPS_MAX    200
#define RECIPE_UNFINISHED   20      /* of a team */
#define RECIPE_WAIT_MS      3600000 /* how long a version waits for its steps */
#define RECIPE_TIME_MAX_S   3600    /* for all steps together */
#define RECIPE_COMMAND_MAX  65536
#define RECIPE_NEW_USER     "new" /* in place of the "number" of a user */
#define RECIPE_PATH_MAX     4096
#define RECIPE_FAILURE_SIZE 1024
#define RECIPE_USER_MAX     64
#define RECIPE_KEPT_MAX     262144    /* bytes of the recipe of a failed build */
#define RECIPE_SECRETS      "secrets" /* member of the recipe: values of secrets by their ids */
#define RECIPE_CONFIG       "config"  /* member of the recipe of a Dockerfile */
#define RECIPE_BUILD        "build"   /* likewise: plan->build, for ONBUILD of the base */
/* Member of the recipe: a start command of the base keeps the base's user, folder and variables, as
 * at E2B. Otherwise it gets those of the version, as in Docker. */
#define RECIPE_KEEPS_START "keeps_start"
/* Members of RECIPE_BUILD: the names in the Dockerfile that mean the template with which the
 * sandbox begins, and those of unused stages that mean other ones. */
#define RECIPE_TEMPLATES       "templates"
#define RECIPE_OTHER_TEMPLATES "other_templates"

enum recipe_state {
    RECIPE_WAITING,
    RECIPE_RUNNING,
    RECIPE_COPYING,
    RECIPE_STARTING, /* a sandbox of the copy runs the start command, to keep its memory */
    RECIPE_DONE
};

/* The members of a request body that has a recipe. */
#define RECIPE_MEMBERS                                                                           \
    {.name = "steps", .type = SCHEMA_ARRAY, .max = RECIPE_STEPS_MAX, .item = &recipe_step_item}, \
        {.name = "start_command", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX},             \
        {.name = "ready_command", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX},             \
        {.name = "start_image_command", .type = SCHEMA_BOOLEAN},                                 \
        {.name = "services", .type = SCHEMA_ARRAY, .max = SERVICES_MAX, .item = &service_item},  \
    {                                                                                            \
        .name = "no_cache", .type = SCHEMA_BOOLEAN                                               \
    }
extern const struct schema_member recipe_step_item;

struct recipe_owner {
    const char *team_id, *user_id;
    const json_t *tags;
};

/* Check a recipe that has passed its schema. Each step must have the members that its type needs
 * and no others, and its files must exist. Errors: ERR_INVALID_REQUEST with the field. */
int recipe_check(struct db *db, const char *team_id, const json_t *recipe, struct error **err);

/* Make the recipe that of a Dockerfile: add the plan's steps and configuration. Then steps begin as
 * root in "/", unless the base has its own user and folder. With ENTRYPOINT, CMD, EXPOSE,
 * STOPSIGNAL and HEALTHCHECK the version has the configuration of an image. Its steps have these
 * members besides:
 *
 *   all: "line", in the Dockerfile
 *   run: "arguments" instead of the shell and its command, "shell_at": the place of the
 *        words that the base's SHELL replaces, "variables" of this command alone, "proxies",
 *        "secrets" (recipe_secret.h), "caches", a list of folders (recipe_mount.h)
 *   copy: "exact": a source that does not exist is an error; "unpack" a source that is an archive
 *   copy, workdir: "open": the paths name variables (recipe_expand.h)
 *   user: "number" of a user without a name, who is added; "group": instead of the user's own ones
 *
 * Variables that only the base sets can be in the arguments of a command at the places "open_at",
 * and then also in its "caches", and in the values of its "open_variables". The ENV of the base
 * hides these.
 *
 * Steps of E2B's clients have the number RECIPE_NEW_USER: a missing user gets a free number. The
 * proxies are variables that do not count for the cache.
 *
 * When the root of a base is there, the Dockerfile is planned once more with the base's ONBUILD
 * (recipe_trigger.c).
 *
 * A Dockerfile of several stages has one sandbox, whose root changes. First the images of all
 * stages are fetched, each into its own folder. If the sandbox begins with a template, a step of
 * type "template" copies its root into the folders of the "numbers"; the folder of the number
 * "moves" gets the root itself when the first stage leaves it. A step of type "stage" exchanges the
 * root for the folder of its "number", if this folder exists.
 *
 * A step of type "save" packs the "sources". A later step of type "copy_stage" copies them. It is
 * like copy, and has the number of the "stage" instead of "files".
 */
void recipe_dockerfile_add(json_t *recipe, const struct dockerfile_plan *plan,
                           const json_t *secrets);

/* Check that a list of strings can be used as tags; NULL: none. field: for the errors. Errors:
 * ERR_INVALID_REQUEST. */
int recipe_check_tags(const json_t *tags, const char *field, struct error **err);

/* Return the ids of the sandboxes in which builds of the team run, as an array of strings. */
int recipe_sandboxes(struct db *db, const char *team_id, json_t **ids, struct error **err);

/* Open a recipe inside the transaction that inserts the version (template_request.claim). Its steps
 * follow with recipe_begin(). The finished version gets these tags (NULL: none). Errors:
 * ERR_BUILD_QUOTA_EXCEEDED (RECIPE_UNFINISHED). */
int recipe_open(struct db *db, const char *version_id, const struct recipe_owner *owner,
                struct error **err);

/* Fail the version for this reason, because its steps will never come. */
int recipe_give_up(struct db *db, const char *version_id, const char *failure, struct error **err);

/* A checked recipe. base: a version that the team may use. image: of the first step; NULL: none.
 * network: the policy of the sandbox. */
struct recipe_order {
    const char *version_id;
    const struct template_version *base;
    const char *image;
    const json_t *recipe;
    const char *network;
};

/* Let the first dispatcher begin; inside a transaction. Errors: ERR_NOT_FOUND (no version with this
 * id waits for its steps). */
int recipe_begin(struct db *db, const struct keyring *ring, const struct recipe_order *order,
                 struct error **err);

/* Read the recipe of a failed build, to repeat it. *recipe: a new reference; NULL: it is not kept.
 * Recipes with a login at a registry, those with secrets, and those beyond RECIPE_KEPT_MAX, are not
 * kept. */
int recipe_kept_read(struct db *db, const struct keyring *ring, const char *version_id,
                     json_t **recipe, struct error **err);

/* The progress of a recipe, for the API. */
enum recipe_failure_code {
    RECIPE_OTHER_FAILURE,
    RECIPE_NO_USER, /* the sandbox has no user of the name that the step wants */
};
struct recipe_status {
    enum recipe_state state;
    char failed_step[16]; /* "": none */
    char failure[RECIPE_FAILURE_SIZE];
    enum recipe_failure_code code;
    char no_user[RECIPE_USER_MAX + 1]; /* with RECIPE_NO_USER: the name */
};
/* Read the progress. *found false: the version has no recipe. */
int recipe_status_get(struct db *db, const char *version_id, struct recipe_status *status,
                      bool *found, struct error **err);

/* List the steps of a version with their progress, for the API; a new reference, empty without a
 * recipe. */
int recipe_steps_read(struct db *db, const struct template_version *version, json_t **steps,
                      struct error **err);

/* For the dispatcher: continue one recipe, for a few seconds at most. *worked: there was one. */
int recipe_next(struct worker *worker, bool *worked, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run the steps of a recipe inside the sandbox. Each step is a program that the agent starts; its
 * output and exit status are in files. For this folder only. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "db/lease.h"
#include "runtime/agent_client.h"

#define RECIPE_TAIL_SIZE 512 /* bytes of a failed step's output */

/* A sandbox in which steps run. */
struct recipe_place {
    struct db *db;
    struct agent_place at;
    char secret[AGENT_SECRET_SIZE]; /* wiped by the caller */
    struct lease *lease;
    struct deadline until; /* end of this turn, for all calls of the agent */
    const char *team_id;
    bool caches;             /* steps of this sandbox are cached (recipe_cache.h) */
    uint64_t cache_mount_gb; /* size of the volume of caches (recipe_mount.h) */
    const json_t *recipe;
    json_t *defaults; /* the base's defaults: {"user", "workdir", "envs"}; owned by the caller */
    char *path;       /* PATH of its programs; likewise */
    json_t *shell;    /* SHELL of the base, a list of strings; likewise; NULL: it has no SHELL */
    char *no_user;    /* after ERR_NO_SUCH_USER: the user of the command; likewise */
    enum {
        START_IN_STEPS, /* the start command runs behind the steps */
        START_LATER,    /* not in this sandbox */
        START_IN_AGENT, /* the agent of this sandbox has begun it */
    } start;
};

/* Behind the steps come three more: the start command, the ready command, the clean-up. */
enum recipe_end { RECIPE_END_START, RECIPE_END_READY, RECIPE_END_CLEAN, RECIPE_ENDS };

/* Return a member that is a text; "": it has no such member. */
static inline const char *recipe_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

unsigned recipe_step_count(const struct recipe_place *place);
const json_t *recipe_step_at(const struct recipe_place *place, unsigned step); /* NULL: none */

/* Return whether a step fetches an image. After it, the defaults of the place are outdated. */
bool recipe_step_is_image(const struct recipe_place *place, unsigned step);

/* Write the name of a step for a failure: "base" (-1), its number from 1, or "finalize". */
void recipe_step_name(const struct recipe_place *place, int step, char name[16]);
/* Return a step as a text of one line, and as a title for the build log, with its number; the
 * caller frees them. */
char *recipe_step_text(const struct recipe_place *place, unsigned step);
char *recipe_step_title(const struct recipe_place *place, unsigned step);

/* The folder of the build's own files, and the start of scripts: an image may lack their tools. The
 * build adds them in this folder. */
#define RECIPE_WORK_DIR "/var/tmp/.sandlot-build"
#define RECIPE_TOOLS    "PATH=$PATH:/usr/lib/sandlot/tools; "

/* Run a short script of root that must succeed; takes args. input: in Base64; NULL: none. Errors:
 * those of agent_exec(), and ERR_INVALID_REQUEST (it failed). */
int recipe_place_call(struct recipe_place *place, json_t *args, const char *input,
                      struct error **err);

/* Run a short script of root that changes nothing, for `seconds` at most; takes args. *answer: of
 * the agent, with its output. Errors: those of agent_exec(), and ERR_INVALID_REQUEST (the output
 * has more than `most` bytes). */
int recipe_place_look(struct recipe_place *place, json_t *args, unsigned seconds, size_t most,
                      json_t **answer, struct error **err);

/* Do the same within a few seconds. A script that fails is an error. */
int recipe_place_ask(struct recipe_place *place, json_t *args, size_t most, json_t **answer,
                     struct error **err);

/* Start the program of a step. args: of sh, behind its -c; taken. as: NULL: root. */
struct recipe_setting;
int recipe_step_start(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      json_t *args, struct error **err);

/* Read the defaults of the base into place->defaults and place->path; a second call reads them
 * again. Errors: those of agent_exec(). */
int recipe_place_read(struct recipe_place *place, struct error **err);

/* The result of recipe_step_begin(). */
enum recipe_start {
    RECIPE_STARTED,
    RECIPE_NOTHING_TO_RUN,
    RECIPE_NEW_ROOT,    /* nothing to run, and the defaults of the place are outdated */
    RECIPE_START_LATER, /* its archive is not complete yet: begin the step again in the next turn */
};

/* Start a step in the sandbox. Errors: those of agent_exec(), and ERR_INVALID_REQUEST (the archive
 * is gone, or the sandbox cannot be prepared). */
int recipe_step_begin(struct recipe_place *place, unsigned step, enum recipe_start *start,
                      struct error **err);

/* Delete the files of the steps, after all steps. */
int recipe_place_clean(struct recipe_place *place, struct error **err);

/* Read the state of a step, and append its output from byte `from` to output, as UTF-8 text. */
struct recipe_poll {
    bool is_there; /* the step was started */
    bool is_over;
    int status;    /* of its program, when it is over; -1: it was killed */
    uint64_t read; /* bytes of the output */
};
int recipe_step_poll(struct recipe_place *place, unsigned step, uint64_t from,
                     struct recipe_poll *poll, struct buffer *output, struct error **err);

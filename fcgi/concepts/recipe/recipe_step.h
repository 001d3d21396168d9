/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the steps of a recipe are inside the sandbox: programs that its agent starts, each of which
 * leaves its output and how it ended in a file; for this folder. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "db/lease.h"
#include "runtime/agent_client.h"

#define RECIPE_TAIL_SIZE 512 /* of the output of what failed */

/* A sandbox in which steps run. */
struct recipe_place {
    struct db *db;
    struct agent_place at;
    char secret[AGENT_SECRET_SIZE]; /* wiped by the caller */
    struct lease *lease;
    struct deadline until; /* of this turn: of all calls of the agent in it */
    const char *team_id;
    const json_t *recipe;
    json_t *defaults; /* what the base says: {"user", "workdir", "envs"}; owned by the caller */
};

/* Behind the steps come those of the end: the start command, the ready command, the clean-up. */
enum recipe_end { RECIPE_END_START, RECIPE_END_READY, RECIPE_END_CLEAN, RECIPE_ENDS };

unsigned recipe_step_count(const struct recipe_place *place);

/* How a failure names a step: "base" (-1), its number from 1, or "finalize". */
void recipe_step_name(const struct recipe_place *place, int step, char name[16]);
/* What a log says of it; the caller's. */
char *recipe_step_title(const struct recipe_place *place, unsigned step);

/* Read what the base of the sandbox says to place->defaults. Errors: those of agent_exec(). */
int recipe_place_read(struct recipe_place *place, struct error **err);

/* What has become of a step by recipe_step_begin(). */
enum recipe_start {
    RECIPE_STARTED,
    RECIPE_NOTHING_TO_RUN,
    RECIPE_START_LATER, /* its archive is on its way: begin it again in the next turn */
};

/* Start a step in the sandbox. Errors: those of agent_exec(). */
int recipe_step_begin(struct recipe_place *place, unsigned step, enum recipe_start *start,
                      struct error **err);

/* When all steps are over: remove what they left for us. */
int recipe_place_clean(struct recipe_place *place, struct error **err);

/* How one is that was begun; its output from byte `from` is appended to output, as UTF-8 text. */
struct recipe_poll {
    bool is_there; /* it was begun at all */
    bool is_over;
    int status;    /* then: of its program; -1: it was killed */
    uint64_t read; /* bytes of the output */
};
int recipe_step_poll(struct recipe_place *place, unsigned step, uint64_t from,
                     struct recipe_poll *poll, struct buffer *output, struct error **err);

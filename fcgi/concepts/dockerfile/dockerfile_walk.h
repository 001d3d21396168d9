/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way through the instructions of a stage; for this folder only. */
#pragma once

#include "dockerfile/dockerfile_text.h"

struct dockerfile_walk {
    const struct dockerfile *file;  /* that has the present instruction */
    const struct dockerfile *whole; /* that has the stages: the same, or the file is of triggers */
    unsigned trigger_line;          /* of the FROM whose triggers run; 0: none run */
    const struct dockerfile_build *build;
    const struct dockerfile_instruction *one; /* the present instruction */
    struct dockerfile_scope scope;
    json_t *globals; /* values of the ARG before the first FROM */
    json_t *place;   /* of the base's name; NULL: it is not read yet */
    json_t *shell;   /* the program of the shell form, and its arguments; NULL: that of the base */
    json_t *steps, *config;
    size_t bytes;   /* of all steps */
    size_t number;  /* of the stage that is walked through */
    json_t *copied; /* number of a stage: list of the paths that are copied from it */
    json_t *images; /* {"name", "line", "place"}: of COPY --from; their numbers follow those of the
                       stages */
    bool has_command; /* this stage had CMD */
    bool is_wanted;   /* the build needs this stage; other stages are only checked */
};

/* Refuse the place in the present instruction. Returns -1. */
#define walk_refuse(walk, at, err, ...) \
    dockerfile_refuse((walk)->file, (walk)->one, at, err, __VA_ARGS__)

/* The refusal of a variable without a value. */
#define WALK_UNKNOWN "this has a variable that the file does not set: set it with ARG or ENV first."

/* Add a step; takes the reference. */
int dockerfile_walk_add(struct dockerfile_walk *walk, json_t *step, struct error **err);

/* Expand a word. dockerfile_walk_expand_known() refuses variables that the file does not set. The
 * caller frees the result, also after an error. */
int dockerfile_walk_expand(const struct dockerfile_walk *walk, const struct dockerfile_word *word,
                           struct dockerfile_value *value, struct error **err);
int dockerfile_walk_expand_known(const struct dockerfile_walk *walk,
                                 const struct dockerfile_word *word, char **text,
                                 struct error **err);

/* Return whether commands see a build argument of this name without an ARG. */
bool dockerfile_is_proxy(const char *name);

/* Return whether an ARG of the file has this name. */
bool dockerfile_declares(const struct dockerfile *file, const char *wanted);

/* Find a stage by its name or its number, before the given one. False: no stage is found. */
bool dockerfile_stage_find(const struct dockerfile *file, const char *name, size_t before,
                           size_t *number);

/* A flag of an instruction, --name=value. */
struct dockerfile_flag {
    const char *name, *unless; /* the name without hyphens; why it is refused, NULL: it is taken */
    struct dockerfile_word value;
    size_t at;
    bool is_given;
    bool repeats; /* the table has the last one */
};
/* Read the flags in front of the arguments. The table ends with a name of NULL. RUN reads its flags
 * by itself. */
int dockerfile_walk_flags(const struct dockerfile_walk *walk, struct dockerfile_flag *flags,
                          struct error **err);

/* Read the arguments as a JSON array of strings, when they are one. *array: a new reference, NULL:
 * they are not. */
int dockerfile_walk_array(const struct dockerfile_walk *walk, size_t at, json_t **array,
                          struct error **err);

/* Return the program of the shell form, without the command; a new reference. */
json_t *dockerfile_walk_shell_words(const struct dockerfile_walk *walk);

/* Read "NAME=value NAME=value …" or "NAME value". take() gets each pair. */
typedef int dockerfile_take_pair(void *context, const char *name, size_t at,
                                 const struct dockerfile_word *value, struct error **err);
int dockerfile_walk_pairs(const struct dockerfile_walk *walk, dockerfile_take_pair *take,
                          void *context, struct error **err);

/* A mount of type bind: from names a stage or an image, NULL: the context. Borrowed. */
struct dockerfile_bind {
    const char *from, *source, *target;
    size_t at; /* its place in the present instruction */
};
/* Add the step that copies the files of a mount. */
int dockerfile_walk_bind(struct dockerfile_walk *walk, const struct dockerfile_bind *bind,
                         struct error **err);

/* Execute the present instruction. */
int dockerfile_walk_instruction(struct dockerfile_walk *walk, struct error **err);

/* Execute the instructions of ONBUILD at the present FROM. is_base: they are those of a base, and
 * not of a stage of this file. */
int dockerfile_walk_triggers(struct dockerfile_walk *walk, const json_t *triggers, bool is_base,
                             struct error **err);

/* Execute an instruction (dockerfile_run.c, dockerfile_copy.c, dockerfile_settings.c,
 * dockerfile_trigger.c). */
int dockerfile_walk_run(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_copy(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_env(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_label(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_workdir(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_user(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_shell(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_command(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_expose(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_volume(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_stop_signal(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_onbuild(struct dockerfile_walk *walk, struct error **err);
int dockerfile_walk_health_check(struct dockerfile_walk *walk, struct error **err);

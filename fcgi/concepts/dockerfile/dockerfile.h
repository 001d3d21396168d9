/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dockerfiles. dockerfile_parse() takes the text apart into stages and instructions.
 * dockerfile_plan() turns one stage into the steps of a recipe (recipe/recipe.h).
 *
 * Every error is ERR_INVALID_REQUEST with the field /dockerfile, and begins with the place: "Line
 * 3, column 5: …". Columns count characters from 1.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

#define DOCKERFILE_MAX              65536 /* bytes */
#define DOCKERFILE_LINES_MAX        5000
#define DOCKERFILE_INSTRUCTIONS_MAX 500
#define DOCKERFILE_STAGES_MAX       32
#define DOCKERFILE_HEREDOCS_MAX     16 /* of an instruction */
#define DOCKERFILE_ARGS_MAX         64
#define DOCKERFILE_SECRETS_MAX      16
#define DOCKERFILE_SECRET_MAX       65536             /* bytes of a secret */
#define DOCKERFILE_NAME_MAX         128               /* of a stage, a variable */
#define DOCKERFILE_VALUE_MAX        32768             /* of a variable */
#define DOCKERFILE_EXPANDED_MAX     ((size_t)4 << 20) /* bytes of all words of a plan */
#define DOCKERFILE_PATH_MAX         4096
#define DOCKERFILE_STEPS_MAX        200
#define DOCKERFILE_STEPS_BYTES_MAX  ((size_t)1 << 20) /* of all steps as JSON */

#define DOCKERFILE_FIELD            "/dockerfile"
#define DOCKERFILE_CONTEXT_FIELD    "/context"

/* The name in capitals, then the flags that the parser takes. */
enum dockerfile_kind {
#define X(name) DOCKERFILE_##name,
#include "dockerfile/instructions.def"
#undef X
    DOCKERFILE_KINDS
};

/* A part of an instruction's text, and where it was in the file. */
struct dockerfile_piece {
    size_t at, source;
};

struct dockerfile_heredoc {
    char *name;
    char *content; /* without its last line, and with <<- without tabs at the beginning of lines */
    char *raw;     /* with its last line */
    size_t at;     /* of the word in the instruction's text */
    bool expands;  /* its name was not quoted */
};

/* An instruction: its lines joined, without comments. */
struct dockerfile_instruction {
    enum dockerfile_kind kind;
    unsigned line; /* from 1 */
    char *text;
    size_t rest; /* where its arguments begin in text, behind the flags */
    struct dockerfile_piece *pieces;
    size_t piece_count;
    struct dockerfile_heredoc *heredocs;
    size_t heredoc_count;
};

/* The instructions from a FROM to the next one. */
struct dockerfile_stage {
    size_t first, count; /* the first is FROM */
    char *name;          /* in small letters; NULL: none */
};

struct dockerfile {
    char *source;
    char escape;
    struct dockerfile_instruction *instructions;
    size_t instruction_count;
    size_t first_stage; /* how many ARG come before the first FROM */
    struct dockerfile_stage *stages;
    size_t stage_count;
};

/* Take a Dockerfile apart. text has size bytes. The caller frees *file, also after an
 * error. */
int dockerfile_parse(const char *text, size_t size, struct dockerfile **file, struct error **err);
void dockerfile_free(struct dockerfile *file);

static inline void dockerfile_autofree_(struct dockerfile **file)
{
    dockerfile_free(*file);
}
#define dockerfile_auto __attribute__((cleanup(dockerfile_autofree_))) struct dockerfile

/* The parameters of a build from a Dockerfile. All pointers are borrowed. */
struct dockerfile_build {
    const json_t *args;    /* name: text; NULL: none */
    const json_t *secrets; /* name: text, for RUN --mount=type=secret; NULL: none */
    const char *target;    /* a stage; NULL: the last one */
    const char *context;   /* the hash of an archive (recipe/recipe_file.h); NULL: none */
    const char *machine;   /* as Docker names it, such as "amd64"; NULL: not known */
    /* The ONBUILD instructions of bases, as far as they are known: the base's name: list of texts;
     * NULL: none. They run directly after each FROM with this name. */
    const json_t *triggers;
};

/* A build of several stages has several bases; an image from which COPY takes files is a stage of
 * its own. A step of type "stage" precedes each stage, with the "number" of its base, and
 * "files_only" for such an image. A step of type "save" follows each stage from which another one
 * copies, with the "sources" and the "stage".
 */
struct dockerfile_plan {
    json_t *bases;  /* the names of images or templates; the last one is that of the target */
    json_t *places; /* the places that name them: [line, column] */
    json_t *unused; /* the names with which stages begin that the target does not need */
    json_t *steps;  /* each with its "line" */
    /* "entrypoint", "command", "exposed_ports", "stop_signal", "health_check", "shell",
     * DOCKERFILE_TRIGGERS, DOCKERFILE_BASE_SHELL and DOCKERFILE_OPEN_PORTS, as far as given */
    json_t *config;
    json_t *build; /* for dockerfile_plan_again(); its "base" is the name of the target's base */
};

/* The instructions of ONBUILD, a list of texts. Steps of a base's ONBUILD have it too. So a cache
 * never takes them for the same instructions in the Dockerfile, and a base with ONBUILD has at
 * least one such step. */
#define DOCKERFILE_TRIGGERS "on_build"

/* A program in the shell form without SHELL before it has the words of DOCKERFILE_USUAL_SHELL, and
 * the build replaces them by the base's own SHELL. Steps have their place in "arguments" as
 * "shell_at", and the configuration has the names of such commands in the object
 * DOCKERFILE_BASE_SHELL. */
#define DOCKERFILE_USUAL_SHELL "/bin/sh", "-c"
#define DOCKERFILE_USUAL_WORDS 2
#define DOCKERFILE_BASE_SHELL  "base_shell"

/* The words of EXPOSE with variables that the file does not set, a list of open texts. */
#define DOCKERFILE_OPEN_PORTS "open_ports"
#define DOCKERFILE_PORTS_MAX  64
/* Read the ports of a word of EXPOSE, such as "80 53/udp", and append them to the list. The text is
 * changed. Returns false if a part is not a port, or the list has too many. */
bool dockerfile_ports_read(char *text, json_t *ports);

/* Return whether chmod takes the text: three to five octal digits, or changes such as u+x,go-w. */
#define DOCKERFILE_MODE_MAX 64
bool dockerfile_mode_is_valid(const char *mode);

/* The user of USER: a user of a number gets a name, as the user of an image does. */
#define DOCKERFILE_USER_MAX 32
struct dockerfile_user {
    char name[65]; /* of a step of a recipe, too, which may be longer */
    char number[8], group[DOCKERFILE_USER_MAX + 1]; /* "": none */
};
/* Read "USER" or "USER:GROUP". False: it is neither, or a number is above 65535. */
bool dockerfile_user_read(const char *text, struct dockerfile_user *user);

/* Return the owner of --chown in the form of the command chown; the caller frees it. As in Docker,
 * a number without a group is both. */
char *dockerfile_owner(const char *given);

/* Plan the build of one stage. Errors also: the fields /target, /build_args, and /context (the
 * stage copies files, and there is no context). The caller calls dockerfile_plan_deinit(), also
 * after an error. */
int dockerfile_plan(const struct dockerfile *file, const struct dockerfile_build *build,
                    struct dockerfile_plan *plan, struct error **err);
void dockerfile_plan_deinit(struct dockerfile_plan *plan);

/* Plan the same build once more, from the plan->build of its first plan. secrets, triggers: see
 * struct dockerfile_build. */
int dockerfile_plan_again(const json_t *kept, const json_t *secrets, const json_t *triggers,
                          struct dockerfile_plan *plan, struct error **err);

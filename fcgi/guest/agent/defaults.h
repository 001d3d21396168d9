/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The template's defaults for the agent, in a file of the sandbox: TEMPLATE_DEFAULTS_FILE.
 */
#pragma once

#include <jansson.h>

#include "agent/common/environment.h"

struct defaults {
    struct environment environment; /* of all processes, behind the sandbox's own */
    char *user;                     /* user of processes whose call names none; NULL: no default */
    char *workdir;                  /* where they begin, likewise */
    char *start_command;            /* to run once in the sandbox, or NULL */
    json_t *start_health, *start_stop_signal; /* of the image, unchecked; NULL: none */
    json_t *start_place; /* its "user", "cwd" and "envs", unchecked; NULL: those above */
    char *ready_command; /* it succeeds when these are ready, or NULL */
    json_t *services;    /* the template's, unchecked; NULL: none */
};

/* Read the defaults; without a file all are empty. A wrong part is skipped and logged, because the
 * owner of the sandbox may change the file. */
void defaults_read(struct defaults *defaults);
void defaults_deinit(struct defaults *defaults);

#define defaults_auto __attribute__((cleanup(defaults_deinit))) struct defaults

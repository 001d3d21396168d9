/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sandbox's template says to its agent, in a file of the sandbox: TEMPLATE_DEFAULTS_FILE.
 */
#pragma once

#include "agent/common/environment.h"

struct agent;

struct defaults {
    struct environment environment; /* of all processes, behind the sandbox's own */
    char *user;                     /* who processes are of, when a call does not say; NULL: none */
    char *workdir;                  /* where they begin, likewise */
    char *start_command;            /* to run once in the sandbox, or NULL */
};

/* Read them; none is there: all empty. What is wrong in the file is left out, and logged: the
 * sandbox is its owner's. */
void defaults_read(struct defaults *defaults);
void defaults_deinit(struct defaults *defaults);

/* Run the start command as a process of the agent. That it cannot be started is logged. */
void defaults_start(struct agent *agent, const struct defaults *defaults);

#define defaults_auto __attribute__((cleanup(defaults_deinit))) struct defaults

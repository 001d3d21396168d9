/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common command line of all programs of the control plane: --config FILE, --check-config,
 * --version, --help. The default FILE is SANDLOT_CONFIG of the environment, then the installed one.
 * Also the set-up of the log from the settings.
 *
 *   struct program_call call;
 *   int status = program_start(argc, argv, &program, &call);
 *   if (status != PROGRAM_RUN)
 *       return status;
 */
#pragma once

#include <stdbool.h>

#include "config/settings.h"

#define PROGRAM_RUN (-1)

struct program {
    const char *name;      /* also names the log lines; static storage */
    const char *summary;   /* one line for --help */
    const char *arguments; /* "COMMAND…"; NULL: it takes none */
    const char *help;      /* further text for --help, or NULL */
    /* A program for people: takes --json, always logs to standard error, and loads its settings
     * itself (program_settings()), since some commands need none. */
    bool interactive;
};

struct program_call {
    struct settings *settings; /* loaded unless the program is interactive; the caller frees it */
    const char *config_path;
    bool json;
    char **arguments; /* the words after the options, NULL-terminated; borrowed from argv */
};

/* Handle the options that all programs have. Return PROGRAM_RUN, or the exit status of a call that
 * is already done. It is 0 after --help, --version and a good --check-config. It is EX_USAGE or
 * EX_CONFIG (sysexits.h) after a line on standard error. A daemon whose settings are wrong first
 * waits, as in program_end(). */
int program_start(int argc, char **argv, const struct program *program, struct program_call *call);

/* End a daemon. Returns the exit status: 0 without an error, else EX_UNAVAILABLE after a line in
 * the log and three seconds. Without that pause, workers that cannot start take all processors:
 * multiwatch starts an ended program again at once. A signal ends the pause. */
int program_end(const struct error *err);

/* Run a daemon: program_start(), run, and program_end() with the error that run has set. */
int program_main(int argc, char **argv, const struct program *program,
                 void (*run)(const struct settings *settings, struct error **err));

/* Load the settings of call->config_path into call->settings and set the log up from them. */
int program_settings(const struct program *program, struct program_call *call, struct error **err);

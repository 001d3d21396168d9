/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handle the command line that all programs of the control plane share: --config FILE,
 * --check-config, --version, --help. Also set up the log from the settings. The default FILE is
 * SANDLOT_CONFIG of the environment, or else the installed file.
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
    const char *arguments; /* "COMMAND…"; NULL: it has no arguments */
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

/* Handle the options that all programs have. Returns PROGRAM_RUN, or the exit status if the program
 * must end: 0 after --help, --version and a successful --check-config, or EX_USAGE or EX_CONFIG
 * (sysexits.h) after a message on standard error. With wrong settings, a daemon first waits, as in
 * program_end(). */
int program_start(int argc, char **argv, const struct program *program, struct program_call *call);

/* End a daemon. err may be NULL. Returns the exit status: 0 without an error. With an error, logs
 * it, waits three seconds, and returns EX_UNAVAILABLE. Without this pause, workers that cannot
 * start would take all processors, because multiwatch starts an ended program again at once. A
 * signal ends the pause. */
int program_end(const struct error *err);

/* Run a daemon: program_start(), run, and program_end() with the error that run has set. Returns
 * the exit status. */
int program_main(int argc, char **argv, const struct program *program,
                 void (*run)(const struct settings *settings, struct error **err));

/* Load the settings of call->config_path into call->settings, and set up the log from them. Errors:
 * ERR_CONFIG. */
int program_settings(const struct program *program, struct program_call *call, struct error **err);

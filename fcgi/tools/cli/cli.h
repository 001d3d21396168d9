/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot: the command line for users of a deployment. It speaks the public API and the data planes
 * over HTTPS and knows nothing of the machine that serves them.
 *
 * verbs.def has one row for each verb. Parsing, help, completion and the manual page follow from
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The exit codes of the program; exec and shell exit with the remote program's code. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_DENIED = 4,      /* no key, a wrong one, or one that may not */
    CLI_UNAVAILABLE = 5, /* the service is not reached, or has no room: another try may do */
    CLI_EXEC_FAILED = 125,
};

struct cli {
    const char *deployment; /* the name that was asked for; NULL: none */
    char *url, *key, *ca_file;
    void *curl; /* for one exchange at a time; opened by the first */
    bool json, color;
    int exit_code; /* of a verb that succeeds */
};

struct cli_option {
    const char *name; /* without dashes; NULL ends a table */
    char letter;
    const char *argument; /* NULL: a flag. In capitals; completion goes by it */
    const char *help;
};

struct cli_given {
    const struct cli_option *option;
    const char *value;
};

struct cli_verb;

/* One call of a verb: the parsed command line. */
struct cli_call {
    struct cli *cli;
    const struct cli_verb *verb;
    struct cli_given *given;
    size_t given_count;
    char **operands; /* NULL-terminated, into argv */
    size_t operand_count;
};

enum cli_verb_flags {
    CLI_REST = 1,    /* the words after the first operand belong to another program */
    CLI_OFFLINE = 2, /* needs no key */
    CLI_EXEC = 4,    /* fails with CLI_EXEC_FAILED */
    CLI_HIDDEN = 8,  /* for scripts of the program's own */
};

typedef int cli_function(struct cli_call *call, struct error **err);

struct cli_verb {
    const char *name; /* one or two words */
    const char *operands;
    const char *help;
    cli_function *run;
    const struct cli_option *options; /* NULL: only those of all verbs */
    unsigned least, most;             /* operands */
    unsigned flags;
};

extern const struct cli_verb cli_verbs[];
extern const size_t cli_verb_count;

/* Command lines for the help texts and the manual page, in the order of a first session. */
extern const char *const cli_examples[];
extern const size_t cli_example_count;

/* Options of every verb: --deployment, --ca, --json, --help. */
extern const struct cli_option cli_common_options[];

/* Return the last value of an option, NULL when it is not there. */
const char *cli_value(const struct cli_call *call, const char *name);
bool cli_flag(const struct cli_call *call, const char *name);

/* Return the values of an option that may be there several times: *at begins at 0; NULL at the
 * end. */
const char *cli_next_value(const struct cli_call *call, const char *name, size_t *at);

/* Report a wrong command line: ERR_CONFIG, which ends with CLI_USAGE. Returns -1. */
int cli_misuse(struct error **err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Return an operand, or NULL. */
const char *cli_operand(const struct cli_call *call, size_t at);

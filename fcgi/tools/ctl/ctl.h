/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlotctl: administration. Each command is a row of the table commands.def. A row has its words,
 * its operands and options, the resources to open before it runs, and its handler. A handler prints
 * through output.h and returns 0, or -1 with an error that main() prints (exit status 1). Help and
 * manual page follow from the table.
 */
#pragma once

#include <stdbool.h>

#include "account/account.h"
#include "audit/audit.h"
#include "config/settings.h"
#include "crypto/keyring.h"
#include "ctl/arguments.h"
#include "db/db.h"
#include "host/runtimes.h"
#include "worker/worker.h"

struct ctl {
    const char *config_path;
    bool json;       /* print JSON */
    int exit_status; /* of a command that succeeded and has more to say than that */
    struct settings *settings;
    struct keyring *ring;
    struct db *db;
    struct runtimes *runtimes;
    struct audit audit; /* of a command that changes something; see ctl_run() */
};

/* The resources of a command. Each includes the previous ones, but CTL_KEYRING has no
 * connections to hosts. */
enum ctl_need {
    CTL_NOTHING,
    CTL_SETTINGS,
    CTL_CONNECTION, /* a database of any schema version */
    CTL_DATABASE,   /* a database with the schema of this build */
    CTL_RUNTIMES,   /* also connections to the hosts */
    CTL_KEYRING,    /* a database and the key ring */
    CTL_WORKER,     /* the whole worker */
};

typedef int ctl_handler(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err);

struct ctl_command {
    /* "user create"; "": not a command, the summary is the title of the rows below it. Help does
     * not list words that begin with "_". */
    const char *words;
    const char *operands; /* "NAME"; "..." after the last one: one or more; [...]: any number */
    const struct ctl_option *options; /* ends with a row without a name; NULL: none */
    enum ctl_need need;
    ctl_handler *run;
    const char *summary; /* a sentence without its full stop */
    const char *details; /* more sentences; NULL: none */
};

/* Return the row with the most words that the arguments begin with; *used: the number of its words.
 * NULL for an unknown command. */
const struct ctl_command *ctl_command_match(int argc, char **argv, int *used);

/* Return the same; for an unknown command print a message on standard error. */
const struct ctl_command *ctl_command_find(int argc, char **argv, int *used);

/* Open the resources of a command. The caller calls ctl_close(), also after an error. Errors:
 * ERR_CONFIG, and those of the database. */
int ctl_open(struct ctl *ctl, enum ctl_need need, struct error **err);
void ctl_close(struct ctl *ctl);

/* Open a connection to a host's Incus; the host needs no row. The caller closes it. */
struct incus;
int ctl_open_incus(const struct ctl *ctl, const struct host *host, struct incus **incus,
                   struct error **err);

/* Call the handler of a command, and record its change as an act of the operator
 * (audit/actions.def); the handler may add details to ctl->audit. A sandbox TEAM/NAME among the
 * arguments becomes its id. */
const char *ctl_operator(void); /* the login behind it */
int ctl_run(struct ctl *ctl, const struct ctl_command *command, struct ctl_arguments *arguments,
            struct error **err);

/* Return the worker of a handler that needs CTL_WORKER. When the operator interrupts an operation,
 * a dispatcher finishes it after its lease has run out. */
struct worker ctl_worker(const struct ctl *ctl);

/* All commands, for tests. */
extern const struct ctl_command ctl_commands[];
extern const unsigned ctl_command_count;

/* Bring the database to the schema of this build, and grant the programs' database user its rights.
 * applied: the number of migrations. */
int ctl_migrate_schema(struct ctl *ctl, unsigned *applied, struct error **err);

/* The handlers. */
#define COMMAND(words, operands, options, need, handler, ...) ctl_handler handler;
#define SUBJECT(title)
#include "ctl/commands.def"
#undef COMMAND
#undef SUBJECT

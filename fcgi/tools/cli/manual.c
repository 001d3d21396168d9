/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print sandlot(1) from the table of verbs. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/verbs.h"

static const char head[] =
    ".\\\" SPDX-License-Identifier: GPL-2.0-or-later\n"
    ".\\\" Made by `sandlot __manual`.\n"
    ".Dd November 22, 2026\n"
    ".Dt SANDLOT 1\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm sandlot\n"
    ".Nd sandboxes from the command line\n"
    ".Sh SYNOPSIS\n"
    ".Nm\n"
    ".Op Ar option ...\n"
    ".Ar command\n"
    ".Op Ar option ...\n"
    ".Op Ar operand ...\n"
    ".Sh DESCRIPTION\n"
    ".Nm\n"
    "makes sandboxes of a deployment of sandlot, runs commands and moves files in them.\n"
    "A sandbox is named by its id, or by the name that it was given\n"
    ".Pq Cm create Fl -name .\n"
    "A command that reaches into a paused sandbox resumes it; each starts the sandbox's time "
    "again.\n"
    "Options may stand before and behind operands; behind the sandbox of\n"
    ".Cm exec\n"
    "all words belong to the command.\n"
    ".Pp\n"
    "Options of every command:\n";

static const char tail[] =
    ".Sh ENVIRONMENT\n"
    ".Bl -tag -width Ds\n"
    ".It Ev SANDLOT_URL , SANDLOT_KEY\n"
    "The API and the key, instead of a deployment of `sandlot login`.\n"
    ".It Ev SANDLOT_CA\n"
    "A file of certificates, as\n"
    ".Fl -ca .\n"
    ".It Ev SANDLOT_DEPLOYMENT\n"
    "As\n"
    ".Fl -deployment .\n"
    ".It Ev NO_COLOR\n"
    "Without colors. Output to a file or a pipe never has colors.\n"
    ".El\n"
    ".Sh FILES\n"
    ".Bl -tag -width Ds\n"
    ".It Pa $XDG_CONFIG_HOME/sandlot/deployments.json\n"
    "Deployments and keys, mode 600.\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    ".Bl -tag -width Ds -compact\n"
    ".It 0\n"
    "It is done.\n"
    ".It 1\n"
    "The service or this machine refused.\n"
    ".It 2\n"
    "The command line or the file of deployments is wrong.\n"
    ".It 3\n"
    "There is no such sandbox, volume, template or file.\n"
    ".It 4\n"
    "There is no key, or it may not.\n"
    ".It 5\n"
    "The service is not reached or has no room.\n"
    ".El\n"
    ".Pp\n"
    ".Cm exec\n"
    "and\n"
    ".Cm shell\n"
    "end with the code of the program, with 128 and the number of the signal that ended it, or "
    "with 125\n"
    "when it could not be run.\n"
    ".Sh EXAMPLES\n"
    ".Bd -literal -offset indent\n";

static const char completion[] = ".Ed\n"
                                 ".Pp\n"
                                 "Names of sandboxes, templates and volumes behind the tabulator:\n"
                                 ".Bd -literal -offset indent\n"
                                 "source <(sandlot completion bash)\n"
                                 ".Ed\n";

static void print_options(const struct cli_option *options)
{
    if (!options || !options->name)
        return;
    puts(".Bl -tag -width Ds");
    for (; options->name; options++) {
        fputs(".It", stdout);
        if (options->letter)
            printf(" Fl %c ,", options->letter);
        printf(" Fl -%s", options->name);
        if (options->argument)
            printf(" Ar %s", options->argument);
        printf("\n%c%s.\n", toupper((unsigned char)options->help[0]), options->help + 1);
    }
    puts(".El");
}

int verb_manual(struct cli_call *call, struct error **err)
{
    (void)call;
    (void)err;
    fputs(head, stdout);
    print_options(cli_common_options);
    puts(".Sh COMMANDS\n.Bl -tag -width Ds");
    for (size_t i = 0; i < cli_verb_count; i++) {
        const struct cli_verb *verb = &cli_verbs[i];
        if (verb->flags & CLI_HIDDEN)
            continue;
        printf(".It Cm %s%s%s\n%s.\n", verb->name, *verb->operands ? " Ar " : "", verb->operands,
               verb->help);
        print_options(verb->options);
    }
    puts(".El");
    fputs(tail, stdout);
    for (size_t i = 0; i < cli_example_count; i++)
        puts(cli_examples[i]);
    fputs(completion, stdout);
    return 0;
}

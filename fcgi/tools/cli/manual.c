/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print sandlot(1) from the table of verbs. */
#include <ctype.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/prose.h"
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
    "creates sandboxes in a deployment of sandlot, runs commands in them, and copies files.\n"
    ".Ar SANDBOX\n"
    "is the id or the name of a sandbox\n"
    ".Pq Cm create Fl -name .\n"
    "Commands that work in a sandbox, such as\n"
    ".Cm exec\n"
    "and\n"
    ".Cm cp ,\n"
    "resume a paused sandbox. They also start a running sandbox's timeout again.\n"
    "You can write options before and after operands. After the sandbox of\n"
    ".Cm exec ,\n"
    "all words belong to the command that runs in it.\n"
    ".Pp\n"
    ".Nm sandlot Fl -version\n"
    "prints the version.\n"
    ".Pp\n"
    "Options of every command:\n";

static const char tail[] =
    ".Sh ENVIRONMENT\n"
    ".Bl -tag -width Ds\n"
    ".It Ev SANDLOT_URL , SANDLOT_KEY\n"
    "The address of the API and the key, instead of a deployment of `sandlot login`.\n"
    ".It Ev SANDLOT_CA\n"
    "The certificates of the authority of the service, like\n"
    ".Fl -ca .\n"
    ".It Ev SANDLOT_DEPLOYMENT\n"
    "The name of the deployment, like\n"
    ".Fl -deployment .\n"
    ".It Ev NO_COLOR\n"
    "Any value switches colors off. Output to a file or a pipe never has colors.\n"
    ".El\n"
    ".Sh FILES\n"
    ".Bl -tag -width Ds\n"
    ".It Pa $XDG_CONFIG_HOME/sandlot/deployments.json\n"
    "Deployments and keys, mode 600.\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    ".Bl -tag -width Ds -compact\n"
    ".It 0\n"
    "Success.\n"
    ".It 1\n"
    "Another failure, or\n"
    ".Cm network check\n"
    "denies the host.\n"
    ".It 2\n"
    "The command line or the file of deployments is wrong.\n"
    ".It 3\n"
    "The sandbox, volume, template or file does not exist.\n"
    ".It 4\n"
    "The key is missing or wrong, or has no permission.\n"
    ".It 5\n"
    "The service cannot be reached, or has no room. Try again later.\n"
    ".El\n"
    ".Pp\n"
    ".Cm exec , shell\n"
    "and\n"
    ".Cm attach\n"
    "end with the exit code of the program. The code is 128 plus the number of a signal that ended "
    "the program.\n"
    "In place of 1, 3, 4 and 5, these commands use 125, for example if the sandbox does not "
    "exist.\n"
    ".Sh EXAMPLES\n"
    ".Bd -literal -offset indent\n";

static const char completion[] =
    ".Ed\n"
    ".Pp\n"
    "Let the tabulator key complete commands and names of sandboxes, templates and volumes:\n"
    ".Bd -literal -offset indent\n"
    "source <(sandlot completion bash)\n"
    ".Ed\n";

/* A sentence from a text without capital and full stop. */
static void print_sentence(const char *text)
{
    putchar(toupper((unsigned char)*text));
    autofree char *line = xasprintf("%s.", text + 1);
    prose_roff(stdout, line);
}

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
        putchar('\n');
        print_sentence(options->help);
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
        printf(".It Cm %s%s%s\n", verb->name, *verb->operands ? " Ar " : "", verb->operands);
        print_sentence(verb->help);
        print_options(verb->options);
    }
    puts(".El");
    fputs(tail, stdout);
    for (size_t i = 0; i < cli_example_count; i++)
        puts(cli_examples[i]);
    fputs(completion, stdout);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print sandlotctl(8) from the table of commands. */
#include <ctype.h>

#include "base/mem.h"
#include "base/prose.h"
#include "config.h"
#include "ctl/help.h"

static const char head[] =
    ".\\\" SPDX-License-Identifier: GPL-2.0-or-later\n"
    ".\\\" Made by `sandlotctl __manual`.\n"
    ".Dd November 30, 2026\n"
    ".Dt SANDLOTCTL 8\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm sandlotctl\n"
    ".Nd administration of sandlot\n"
    ".Sh SYNOPSIS\n"
    ".Nm\n"
    ".Op Fl -config Ar FILE\n"
    ".Op Fl -json\n"
    ".Ar COMMAND\n"
    ".Op Ar ARGUMENT ...\n"
    ".Nm\n"
    ".Op Fl -config Ar FILE\n"
    ".Fl -check-config\n"
    ".Nm\n"
    ".Fl -version | -help\n"
    ".Sh DESCRIPTION\n"
    ".Nm\n"
    "administers an installation of sandlot through its database and its host nodes.\n"
    "It needs the settings file and, for most commands, the database;\n"
    "it does not need the workers to run.\n"
    ".Pp\n"
    "The options before the command are:\n"
    ".Bl -tag -width Ds\n"
    ".It Fl -config Ar FILE\n"
    "Read the settings from this file.\n"
    ".It Fl -check-config\n"
    "Check the settings and exit.\n"
    ".It Fl -json\n"
    "Print JSON on standard output.\n"
    "It can also follow the command.\n"
    ".It Fl -version , Fl -help\n"
    "Print the version or a list of all commands.\n"
    "After a command,\n"
    ".Fl -help\n"
    "explains the options of the command.\n"
    ".El\n"
    ".Pp\n"
    "A duration is a number of seconds, or numbers with units, such as\n"
    ".Li 90 , 30m , 1h30m\n"
    "or\n"
    ".Li 2d .\n"
    ".Cm delete\n"
    "and\n"
    ".Cm remove\n"
    "mean\n"
    ".Cm rm .\n"
    "A\n"
    ".Ar SANDBOX\n"
    "is an id, or the slug of its team and its name:\n"
    ".Li acme/work .\n"
    ".Sh COMMANDS\n";

static const char tail[] =
    ".Sh ENVIRONMENT\n"
    ".Bl -tag -width Ds\n"
    ".It Ev SANDLOT_CONFIG\n"
    "The settings file, if\n"
    ".Fl -config\n"
    "is not given.\n"
    ".El\n"
    ".Sh FILES\n"
    ".Bl -tag -width Ds\n"
    ".It Pa " SANDLOT_SYSCONF_DIR "/sandlot.conf\n"
    "The default settings file.\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    "0 on success, 1 if the command failed, 2 if the command line is wrong.\n"
    "backup and check also use 2 for other cases, as their descriptions say.\n"
    ".Sh EXAMPLES\n"
    ".Bd -literal -offset indent\n";

/* A sentence from a text without capital and full stop. */
static void print_sentence(FILE *out, const char *text, const char *more)
{
    fputc(toupper((unsigned char)*text), out);
    autofree char *line = xasprintf("%s%s.", text + 1, more);
    prose_roff(out, line);
}

static void print_options(FILE *out, const struct ctl_option *options)
{
    if (!options)
        return;
    fputs(".Bl -tag -width Ds\n", out);
    for (const struct ctl_option *option = options; option->name; option++) {
        fprintf(out, ".It Fl -%s%s%s%s\n", option->name, option->metavar ? " Ar " : "",
                option->metavar ? option->metavar : "", option->kind == CTL_LIST ? " ..." : "");
        print_sentence(out, option->help, option->required ? " (required)" : "");
    }
    fputs(".El\n", out);
}

static void print_command(FILE *out, const struct ctl_command *command)
{
    fprintf(out, ".It Cm %s%s%s\n", command->words, *command->operands ? " Ar " : "",
            command->operands);
    print_sentence(out, command->summary, "");
    if (command->details)
        prose_roff(out, command->details);
    print_options(out, command->options);
}

void ctl_manual_print(FILE *out)
{
    fputs(head, out);
    for (size_t i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        if (!*command->words)
            fprintf(out, "%s.Ss %s\n.Bl -tag -width Ds\n", i ? ".El\n" : "", command->summary);
        else if (ctl_help_shows(command))
            print_command(out, command);
    }
    fputs(".El\n", out);
    fputs(tail, out);
    for (size_t i = 0; i < ctl_example_count; i++)
        prose_roff(out, ctl_examples[i]);
    fputs(".Ed\n", out);
}

int ctl_manual(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    (void)ctl;
    (void)arguments;
    (void)err;
    ctl_manual_print(stdout);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/help.h"

#include "base/mem.h"
#include "base/prose.h"
#include "base/str.h"
#include "cli/arguments.h"
#include "cli/verbs.h"

#define FIRST_EXAMPLES 6 /* in the list of all commands */
#define VERB_COLUMN    41
#define OPTION_COLUMN  33

static void print_options(FILE *out, const struct cli_option *options)
{
    for (; options && options->name; options++) {
        autofree char *left = xasprintf(
            "%c%c%s--%s%s%s", options->letter ? '-' : ' ', options->letter ? options->letter : ' ',
            options->letter ? ", " : "  ", options->name, options->argument ? " " : "",
            options->argument ? options->argument : "");
        prose_row(out, left, OPTION_COLUMN, prose_width(), options->help);
    }
}

static void print_examples(FILE *out, const struct cli_verb *verb)
{
    autofree char *start = xasprintf("sandlot %s ", verb->name);
    bool any = false;
    for (size_t i = 0; i < cli_example_count; i++) {
        if (!str_starts_with(cli_examples[i], start))
            continue;
        fprintf(out, "%s  %s\n", any ? "" : "\nExamples:\n", cli_examples[i]);
        any = true;
    }
}

static void print_row(FILE *out, const struct cli_verb *verb)
{
    autofree char *left =
        xasprintf("%s%s%s", verb->name, *verb->operands ? " " : "", verb->operands);
    prose_row(out, left, VERB_COLUMN, prose_width(), verb->help);
}

void help_print_verb(FILE *out, const struct cli_verb *verb)
{
    fprintf(out, "usage: sandlot %s [OPTION...]%s%s\n%s.\n\n", verb->name,
            *verb->operands ? " " : "", verb->operands, verb->help);
    print_options(out, verb->options);
    print_options(out, cli_common_options);
    print_examples(out, verb);
}

/* The title above a verb; NULL: it stands below the same title as the verb before it. The table of
 * doc/reference/cli.md has these titles too. */
static const char *title_above(const char *verb)
{
    static const struct {
        const char *first, *title;
    } groups[] = {
        {"login", "Login"},
        {"create", "Sandboxes"},
        {"service list", "Services"},
        {"port list", "Ports"},
        {"checkpoint create", "Checkpoints"},
        {"network show", "Network"},
        {"volume create", "Volumes"},
        {"template list", "Templates"},
        {"key create", "Keys"},
        {"member list", "Members and invitations"},
        {"secret set", "Secrets"},
        {"webhook create", "Webhooks"},
        {"events", "Events and usage"},
        {"help", "Help"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (str_equal(verb, groups[i].first))
            return groups[i].title;
    return NULL;
}

void help_print_all(FILE *out)
{
    fputs("usage: sandlot [OPTION...] COMMAND [OPTION...] [OPERAND...]\n\n", out);
    for (size_t i = 0; i < cli_verb_count; i++) {
        const struct cli_verb *verb = &cli_verbs[i];
        if (verb->flags & CLI_HIDDEN)
            continue;
        const char *title = title_above(verb->name);
        if (title)
            fprintf(out, "%s%s:\n", i ? "\n" : "", title);
        print_row(out, verb);
    }
    fputc('\n', out);
    prose_wrap(out, "", 0, prose_width(),
               "A SANDBOX is the id or the name of a sandbox. Options of every command:");
    print_options(out, cli_common_options);
    fputs("`sandlot --version` prints the version.\n", out);
    fputs("\nExamples; `sandlot help COMMAND` has more:\n", out);
    for (size_t i = 0; i < FIRST_EXAMPLES; i++)
        fprintf(out, "  %s\n", cli_examples[i]);
}

void help_print_short(FILE *out)
{
    fputs("usage: sandlot COMMAND [OPTION...] [OPERAND...]\n"
          "  sandlot login URL             Store a key for a deployment\n"
          "  sandlot create                Create a sandbox and print its id\n"
          "  sandlot exec SANDBOX COMMAND  Run a command in a sandbox\n"
          "  sandlot help                  List all commands\n",
          out);
}

/* The commands of two words that begin with this one. False: no command does. */
static bool print_group(FILE *out, const char *word)
{
    autofree char *start = xasprintf("%s ", word);
    bool any = false;
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (!str_starts_with(cli_verbs[i].name, start))
            continue;
        print_row(out, &cli_verbs[i]);
        any = true;
    }
    return any;
}

int verb_help(struct cli_call *call, struct error **err)
{
    size_t words;
    if (!call->operand_count) {
        help_print_all(stdout);
        return 0;
    }
    const struct cli_verb *verb = arguments_verb(call->operands, call->operand_count, &words);
    if (verb && words == call->operand_count)
        help_print_verb(stdout, verb);
    else if (call->operand_count > 1 || !print_group(stdout, cli_operand(call, 0)))
        return cli_misuse(err, "there is no command '%s%s%s'", cli_operand(call, 0),
                          call->operand_count > 1 ? " " : "",
                          call->operand_count > 1 ? cli_operand(call, 1) : "");
    return 0;
}

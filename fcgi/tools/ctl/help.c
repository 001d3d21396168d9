/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/help.h"

#include <string.h>

#include "base/mem.h"
#include "base/prose.h"

#define COMMAND_COLUMN 36

const char *const ctl_examples[] = {
    "sandlotctl user create alice",
    "sandlotctl team create acme --plan pro --owner alice",
    "KEY=$(sandlotctl key create --user alice --team acme --scope write)",
    "sandlotctl sandbox log acme/work",
    "sandlotctl host token second --range 10.89.0.0/16",
    "sandlotctl backup /srv/backup/new --base /srv/backup/old --passphrase-file /root/passphrase",
    "sandlotctl audit --team acme --since 1h30m",
};
const size_t ctl_example_count = ARRAY_SIZE(ctl_examples);

bool ctl_help_shows(const struct ctl_command *command)
{
    return *command->words && *command->words != '_';
}

static void print_row(FILE *out, const struct ctl_command *command, size_t width)
{
    autofree char *left =
        xasprintf("%s%s%s", command->words, *command->operands ? " " : "", command->operands);
    prose_row(out, left, COMMAND_COLUMN, width, command->summary);
}

void ctl_help_print_all(FILE *out, size_t width)
{
    for (size_t i = 0; i < ctl_command_count; i++) {
        if (ctl_help_shows(&ctl_commands[i]))
            print_row(out, &ctl_commands[i], width);
        else if (!*ctl_commands[i].words)
            fprintf(out, "%s%s:\n", i ? "\n" : "", ctl_commands[i].summary);
    }
    fputc('\n', out);
    prose_wrap(out, "", 0, width < PROSE_PARAGRAPH ? width : PROSE_PARAGRAPH,
               "A SANDBOX is an id, or the slug of its team and its name: acme/work. Each command "
               "takes --json and --help; `sandlotctl help COMMAND` explains its options too.");
    fputs("\nExamples:\n", out);
    for (size_t i = 0; i < ctl_example_count; i++)
        fprintf(out, "  %s\n", ctl_examples[i]);
}

static bool is_in_group(const struct ctl_command *command, const char *word)
{
    size_t size = strlen(word);
    return size && !strncmp(command->words, word, size) && command->words[size] == ' ';
}

bool ctl_help_has_group(const char *word)
{
    for (size_t i = 0; i < ctl_command_count; i++)
        if (is_in_group(&ctl_commands[i], word))
            return true;
    return false;
}

void ctl_help_print_group(FILE *out, const char *word, size_t width)
{
    for (size_t i = 0; i < ctl_command_count; i++)
        if (is_in_group(&ctl_commands[i], word))
            print_row(out, &ctl_commands[i], width);
}

/* --- one command --- */

void ctl_help_print_usage(FILE *out, const struct ctl_command *command)
{
    fprintf(out, "usage: sandlotctl %s%s%s", command->words, *command->operands ? " " : "",
            command->operands);
    for (const struct ctl_option *option = command->options; option && option->name; option++)
        fprintf(out, " %s--%s%s%s%s%s", option->required ? "" : "[", option->name,
                option->metavar ? " " : "", option->metavar ? option->metavar : "",
                option->required ? "" : "]", option->kind == CTL_LIST ? "..." : "");
    fputc('\n', out);
}

static char *option_text(const struct ctl_option *option)
{
    return xasprintf("--%s%s%s", option->name, option->metavar ? " " : "",
                     option->metavar ? option->metavar : "");
}

static void print_options(FILE *out, const struct ctl_option *options, size_t width)
{
    size_t column = 0;
    for (const struct ctl_option *option = options; option && option->name; option++) {
        autofree char *left = option_text(option);
        size_t own = strlen(left) + 4;
        column = own > column ? own : column;
    }
    fputs(column ? "\nOptions:\n" : "", out);
    for (const struct ctl_option *option = options; option && option->name; option++) {
        autofree char *left = option_text(option);
        autofree char *text =
            xasprintf("%s%s", option->help, option->required ? " (required)" : "");
        prose_row(out, left, column, width, text);
    }
}

static void print_examples(FILE *out, const struct ctl_command *command)
{
    autofree char *start = xasprintf("sandlotctl %s ", command->words);
    bool any = false;
    for (size_t i = 0; i < ctl_example_count; i++) {
        if (!strstr(ctl_examples[i], start))
            continue;
        fprintf(out, "%s  %s\n", any ? "" : "\nExamples:\n", ctl_examples[i]);
        any = true;
    }
}

static void print_command(FILE *out, const struct ctl_command *command, size_t width)
{
    size_t line = width < PROSE_PARAGRAPH ? width : PROSE_PARAGRAPH;
    ctl_help_print_usage(out, command);
    fputs("       ", out);
    prose_wrap(out, "       ", 7, width, command->summary);
    if (command->details) {
        fputc('\n', out);
        prose_wrap(out, "", 0, line, command->details);
    }
    print_options(out, command->options, width);
    print_examples(out, command);
}

bool ctl_help_explain(FILE *out, int argc, char **argv, size_t width)
{
    int used;
    const struct ctl_command *command = ctl_command_match(argc, argv, &used);
    if (command && used == argc)
        print_command(out, command, width);
    else if (argc == 1 && ctl_help_has_group(argv[0]))
        ctl_help_print_group(out, argv[0], width);
    else
        return false;
    return true;
}

int ctl_help(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    (void)ctl;
    int count = (int)arguments->operand_count;
    char **words = (char **)(uintptr_t)arguments->operands;
    if (!count)
        ctl_help_print_all(stdout, prose_width());
    else if (!ctl_help_explain(stdout, count, words, prose_width()))
        return error_set(err, ERR_NOT_FOUND, "there is no command '%.60s%s%.60s'", words[0],
                         count > 1 ? " " : "", count > 1 ? words[1] : "");
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/panic.h"
#include "base/printable.h"
#include "base/prose.h"
#include "base/str.h"
#include "config/program.h"
#include "ctl/help.h"

enum { EXIT_FAILED = 1, EXIT_WRONG_USAGE = 2 };

static char *help_text(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        panic("out of memory");
    ctl_help_print_all(out, prose_width());
    fclose(out);
    return text;
}

static int print_error(const struct ctl_command *command, const struct error *err)
{
    printable_print(stderr, "sandlotctl %s: %s%s%s%s\n", command->words, err->message,
                    err->field ? " (" : "", err->field ? err->field : "", err->field ? ")" : "");
    return EXIT_FAILED;
}

static int run(struct ctl *ctl, const struct ctl_command *command, struct ctl_arguments *arguments)
{
    error_auto err = NULL;
    int status = EXIT_SUCCESS;
    if (ctl_open(ctl, command->need, &err) < 0 || ctl_run(ctl, command, arguments, &err) < 0)
        status = print_error(command, err);
    else
        status = ctl->exit_status;
    ctl_close(ctl);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("sandlotctl: standard output");
        status = EXIT_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    autofree char *help = help_text();
    const struct program program = {
        .name = "sandlotctl",
        .summary = "Administration of sandlot.",
        .arguments = "COMMAND [ARGUMENT]...",
        .help = help,
        .interactive = true,
    };
    struct program_call call;
    setlocale(LC_CTYPE, "C.UTF-8"); /* for the width of characters */
    int status = program_start(argc, argv, &program, &call);
    if (status != PROGRAM_RUN)
        return status ? EXIT_WRONG_USAGE : EXIT_SUCCESS;

    int words, count = argc - (int)(call.arguments - argv);
    if (count > 1 && str_equal(call.arguments[count - 1], "--help") &&
        ctl_help_explain(stdout, count - 1, call.arguments, prose_width()))
        return EXIT_SUCCESS;
    const struct ctl_command *command = ctl_command_find(count, call.arguments, &words);
    struct ctl_arguments arguments;
    if (!command)
        return EXIT_WRONG_USAGE;
    if (ctl_arguments_parse(count - words + 1, call.arguments + words - 1, command->operands,
                            command->options, &arguments) < 0) {
        ctl_help_print_usage(stderr, command);
        return EXIT_WRONG_USAGE;
    }
    if (arguments.help) {
        ctl_help_explain(stdout, words, call.arguments, prose_width());
        return EXIT_SUCCESS;
    }
    struct ctl ctl = {.config_path = call.config_path, .json = call.json || arguments.json};
    return run(&ctl, command, &arguments);
}

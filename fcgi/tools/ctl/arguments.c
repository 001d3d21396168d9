/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/arguments.h"

#include <getopt.h>
#include <string.h>

#include "base/duration.h"
#include "base/panic.h"
#include "base/str.h"

/* getopt_long() values: the option's index, behind those of every command. */
enum { VALUE_JSON = 256, VALUE_HELP, VALUE_FIRST_OPTION };

static void complain(const char *before, const char *what, const char *after)
{
    fprintf(stderr, "sandlotctl: %s%s%s\n", before, what, after);
}

static unsigned option_count(const struct ctl_option *options)
{
    unsigned count = 0;
    while (options && options[count].name)
        count++;
    return count;
}

/* The number of operands of a row; operands in brackets are optional. */
static void operand_bounds(const char *operands, unsigned *least, unsigned *most)
{
    *least = *operands && *operands != '[';
    for (const char *c = operands; *c; c++)
        *least += *c == ' ' && c[1] != '[';
    bool many = str_ends_with(operands, "...") || str_ends_with(operands, "...]");
    *most = many ? CTL_OPERANDS_MAX : *least;
}

static int check_value(const struct ctl_option *option, const char *value)
{
    uint64_t number;
    switch (option->kind) {
    case CTL_FLAG:
        return 0;
    case CTL_TEXT:
    case CTL_LIST:
        if (*value)
            return 0;
        complain("--", option->name, " must not be empty");
        return -1;
    case CTL_NUMBER:
        if (str_parse_u64(value, option->least, option->most, &number) == 0)
            return 0;
        fprintf(stderr, "sandlotctl: --%s must be a whole number from %llu to %llu\n", option->name,
                (unsigned long long)option->least, (unsigned long long)option->most);
        return -1;
    case CTL_DURATION:
        if (duration_parse(value, &number) == 0 && number >= option->least &&
            number <= option->most)
            return 0;
        fprintf(
            stderr,
            "sandlotctl: --%s must be a duration such as 1h30m or 2d, of %llu to %llu seconds\n",
            option->name, (unsigned long long)option->least, (unsigned long long)option->most);
        return -1;
    case CTL_CHOICE:
        if (str_is_choice(option->metavar, value))
            return 0;
        fprintf(stderr, "sandlotctl: --%s must be one of %s\n", option->name, option->metavar);
        return -1;
    }
    return -1;
}

static int take_option(struct ctl_arguments *arguments, unsigned index, const char *value)
{
    const struct ctl_option *option = &arguments->options[index];
    unsigned *count = &arguments->given[index].count;
    if (check_value(option, value ? value : "") < 0)
        return -1;
    if (*count == (option->kind == CTL_LIST ? CTL_VALUES_MAX : 1)) {
        complain("--", option->name,
                 option->kind == CTL_LIST ? " is given too often" : " is given twice");
        return -1;
    }
    arguments->given[index].values[(*count)++] = value;
    return 0;
}

/* Our rows as getopt_long() wants them. */
static void long_options(const struct ctl_option *options, struct option *out)
{
    unsigned count = option_count(options);
    if (count > CTL_OPTIONS_MAX)
        panic("a command has more options than CTL_OPTIONS_MAX");
    for (unsigned i = 0; i < count; i++)
        *out++ = (struct option){options[i].name,
                                 options[i].kind == CTL_FLAG ? no_argument : required_argument,
                                 NULL, VALUE_FIRST_OPTION + (int)i};
    *out++ = (struct option){"json", no_argument, NULL, VALUE_JSON};
    *out++ = (struct option){"help", no_argument, NULL, VALUE_HELP};
    *out = (struct option){0};
}

static int parse_options(int argc, char **argv, struct ctl_arguments *arguments)
{
    struct option list[CTL_OPTIONS_MAX + 3];
    long_options(arguments->options, list);
    /* argv[0] is the last word of the command, which getopt_long() passes over and names. */
    optind = 0;
    opterr = 0;
    for (int value; (value = getopt_long(argc, argv, ":", list, NULL)) != -1;) {
        if (value == '?' || value == ':') {
            complain(value == '?' ? "unknown option " : "a value is missing after ",
                     argv[optind - 1], "");
            return -1;
        }
        if (value == VALUE_JSON)
            arguments->json = true;
        else if (value == VALUE_HELP)
            arguments->help = true;
        else if (take_option(arguments, (unsigned)(value - VALUE_FIRST_OPTION), optarg) < 0)
            return -1;
    }
    return 0;
}

static int take_operands(int argc, char **argv, const char *operands,
                         struct ctl_arguments *arguments)
{
    unsigned least, most, count = (unsigned)(argc - optind);
    operand_bounds(operands, &least, &most);
    if (count < least) {
        complain("missing: ", operands, "");
        return -1;
    }
    if (count > most) {
        complain("unexpected argument: ", argv[optind + (int)most], "");
        return -1;
    }
    arguments->operand_count = count;
    for (unsigned i = 0; i < count; i++) {
        arguments->operands[i] = argv[optind + (int)i];
        if (!*arguments->operands[i]) {
            complain("empty argument: ", operands, "");
            return -1;
        }
    }
    return 0;
}

static int require_options(const struct ctl_arguments *arguments)
{
    for (unsigned i = 0; i < option_count(arguments->options); i++) {
        if (!arguments->options[i].required || arguments->given[i].count)
            continue;
        complain("missing: --", arguments->options[i].name, "");
        return -1;
    }
    return 0;
}

int ctl_arguments_parse(int argc, char **argv, const char *operands,
                        const struct ctl_option *options, struct ctl_arguments *arguments)
{
    *arguments = (struct ctl_arguments){.options = options};
    if (parse_options(argc, argv, arguments) < 0)
        return -1;
    if (arguments->help)
        return 0;
    if (take_operands(argc, argv, operands, arguments) < 0)
        return -1;
    return require_options(arguments);
}

/* --- reading --- */

static unsigned find(const struct ctl_arguments *arguments, const char *name)
{
    for (unsigned i = 0; i < option_count(arguments->options); i++)
        if (!strcmp(arguments->options[i].name, name))
            return i;
    panic("a handler asks for an option that its row does not have");
}

const char *ctl_text(const struct ctl_arguments *arguments, const char *name)
{
    unsigned i = find(arguments, name);
    return arguments->given[i].count ? arguments->given[i].values[0] : NULL;
}

uint64_t ctl_number(const struct ctl_arguments *arguments, const char *name, uint64_t fallback)
{
    unsigned i = find(arguments, name);
    uint64_t number = fallback;
    if (arguments->given[i].count)
        str_parse_u64(arguments->given[i].values[0], arguments->options[i].least,
                      arguments->options[i].most, &number);
    return number;
}

uint64_t ctl_seconds(const struct ctl_arguments *arguments, const char *name, uint64_t fallback)
{
    const char *text = ctl_text(arguments, name);
    uint64_t seconds = fallback;
    if (text)
        duration_parse(text, &seconds);
    return seconds;
}

bool ctl_flag(const struct ctl_arguments *arguments, const char *name)
{
    return arguments->given[find(arguments, name)].count > 0;
}

const char *const *ctl_list(const struct ctl_arguments *arguments, const char *name,
                            unsigned *count)
{
    unsigned i = find(arguments, name);
    *count = arguments->given[i].count;
    return arguments->given[i].values;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operands and options of one command, checked against its row before anything is opened. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum ctl_option_kind {
    CTL_FLAG,     /* takes no value */
    CTL_TEXT,     /* a value that is not empty */
    CTL_LIST,     /* may be given again and again */
    CTL_NUMBER,   /* a whole number from least to most */
    CTL_DURATION, /* such as 1h30m, from least to most seconds */
    CTL_CHOICE,   /* one of the words in metavar, with '|' between */
};

struct ctl_option {
    const char *name;
    enum ctl_option_kind kind;
    bool required;
    const char *metavar;
    uint64_t least, most;
    const char *help;
};

#define CTL_OPERANDS_MAX 64
#define CTL_OPTIONS_MAX  16
#define CTL_VALUES_MAX   256

struct ctl_arguments {
    const char *operands[CTL_OPERANDS_MAX];
    unsigned operand_count;
    const struct ctl_option *options;
    struct {
        const char *values[CTL_VALUES_MAX];
        unsigned count;
    } given[CTL_OPTIONS_MAX]; /* one for each entry of options */
    bool json, help;          /* taken by every command */
};

/* Read argv[0..argc) (the words behind the command's). operands: the row's text, "NAME" or
 * "PLAN FIELD=VALUE..." or "NAME [ENTRY...]". Strings are borrowed. Returns 0, or -1 after a
 * message on standard error.
 */
int ctl_arguments_parse(int argc, char **argv, const char *operands,
                        const struct ctl_option *options, struct ctl_arguments *arguments);

/* Return values of an option of the row; NULL, the fallback or false when it was not given. */
const char *ctl_text(const struct ctl_arguments *arguments, const char *name);
uint64_t ctl_number(const struct ctl_arguments *arguments, const char *name, uint64_t fallback);
uint64_t ctl_seconds(const struct ctl_arguments *arguments, const char *name, uint64_t fallback);
bool ctl_flag(const struct ctl_arguments *arguments, const char *name);
const char *const *ctl_list(const struct ctl_arguments *arguments, const char *name,
                            unsigned *count);

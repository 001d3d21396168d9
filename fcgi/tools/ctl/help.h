/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help texts of sandlotctl, from the table of commands. width: the longest line. */
#pragma once

#include "ctl/ctl.h"

/* Return whether the row is a command for people, not a title or a command of the build. */
bool ctl_help_shows(const struct ctl_command *command);

/* Print all commands by subject, with examples. */
void ctl_help_print_all(FILE *out, size_t width);

/* Say whether commands of two words begin with this word; print them. */
bool ctl_help_has_group(const char *word);
void ctl_help_print_group(FILE *out, const char *word, size_t width);

/* Print `usage: sandlotctl user create NAME` with the options. */
void ctl_help_print_usage(FILE *out, const struct ctl_command *command);

/* Explain the command with exactly these words, or list the commands that begin with the only word.
 * False: no command has them. */
bool ctl_help_explain(FILE *out, int argc, char **argv, size_t width);

/* Command lines for help and manual page. */
extern const char *const ctl_examples[];
extern const size_t ctl_example_count;

/* Print sandlotctl(8). */
void ctl_manual_print(FILE *out);

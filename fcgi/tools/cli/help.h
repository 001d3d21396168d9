/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help texts from the table of verbs. */
#pragma once

#include <stdio.h>

#include "cli/cli.h"

void help_print_all(FILE *out);
void help_print_short(FILE *out);
void help_print_verb(FILE *out, const struct cli_verb *verb);

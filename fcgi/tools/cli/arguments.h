/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the words of the command line to a call of a verb. */
#pragma once

#include "cli/cli.h"

/* Read the words behind the program's name. Options stand anywhere, before the verb those of all
 * verbs. call->verb is NULL when no verb is named. Errors: ERR_CONFIG. */
int arguments_parse(char **words, size_t count, struct cli_call *call, struct error **err);
void arguments_free(struct cli_call *call);

/* Return the verb that these words begin with, and how many words its name has. */
const struct cli_verb *arguments_verb(char **words, size_t count, size_t *name_words);

/* Return the option of a verb, or of all, by its name or its letter (the other one NULL, 0). */
const struct cli_option *arguments_option(const struct cli_verb *verb, const char *name,
                                          size_t length, char letter);

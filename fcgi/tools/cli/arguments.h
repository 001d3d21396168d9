/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the words of the command line to a call of a verb. */
#pragma once

#include "cli/cli.h"

/* Read the words after the program's name. Options may be anywhere; before the verb, only those of
 * all verbs. call->verb is NULL without a verb. The caller calls arguments_free(). Errors:
 * ERR_CONFIG. */
int arguments_parse(char **words, size_t count, struct cli_call *call, struct error **err);
void arguments_free(struct cli_call *call);

/* Return the verb at the start of these words, or NULL. *name_words: the number of words of its
 * name. */
const struct cli_verb *arguments_verb(char **words, size_t count, size_t *name_words);

/* Return the option of a verb, or of all, by its name or its letter (the other one NULL, 0). */
const struct cli_option *arguments_option(const struct cli_verb *verb, const char *name,
                                          size_t length, char letter);

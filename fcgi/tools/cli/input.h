/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From options to the members of a request. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

/* Add a member, unless the value is NULL. */
void input_text(json_t *body, const char *member, const char *value);
int input_number(json_t *body, const char *member, const char *value, const char *option,
                 struct error **err);

/* Add a member in seconds, or at a time that is written as such or as a duration from now; unless
 * the text is NULL. */
int input_duration(json_t *body, const char *member, const char *text, struct error **err);
void input_time(json_t *body, const char *member, const char *text);

/* Set a member to the list of an option's values, unless the option is missing. */
void input_texts(const struct cli_call *call, const char *option, json_t *body, const char *member);

/* Read a text file of at most max bytes, without NUL; the caller frees *text. */
int input_file(const char *path, size_t max, char **text, struct error **err);

/* Set a member to the JSON value of this type in a file, which the service checks. path NULL: not
 * given. */
int input_json(json_t *body, const char *member, const char *path, json_type type,
               struct error **err);

/* Add "NAME=VALUE" to an object. */
int input_pair(json_t *object, const char *value, struct error **err);

/* Add --no-internet, --internet, --ask, --allow, --deny, --profile, --rules as members of a network
 * policy. */
int input_network(const struct cli_call *call, json_t *body, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Add the values of options to the body of a request. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

/* Add a member, unless the value is NULL. Errors: ERR_CONFIG (not a number). */
void input_text(json_t *body, const char *member, const char *value);
int input_number(json_t *body, const char *member, const char *value, const char *option,
                 struct error **err);

/* Add a duration in seconds, or a time, unless the text is NULL. The text of a time is a time, or a
 * duration from now. Errors: ERR_CONFIG (not a duration). */
int input_duration(json_t *body, const char *member, const char *text, struct error **err);
void input_time(json_t *body, const char *member, const char *text);

/* Set a member to the list of an option's values, unless the option is missing. */
void input_texts(const struct cli_call *call, const char *option, json_t *body, const char *member);

/* Read a text file of at most max bytes, without NUL; the caller frees *text. Errors:
 * ERR_INVALID_REQUEST. */
int input_file(const char *path, size_t max, char **text, struct error **err);

/* Set a member to the JSON value of this type in a file; the service checks its contents. path
 * NULL: do nothing. Errors: ERR_INVALID_REQUEST. */
int input_json(json_t *body, const char *member, const char *path, json_type type,
               struct error **err);

/* Add "NAME=VALUE" to an object. Errors: ERR_CONFIG. */
int input_pair(json_t *object, const char *value, struct error **err);

/* The options that input_network() reads. */
#define NETWORK_OPTIONS                                                                  \
    {"no-internet", 0, NULL, "allow only the allowed entries"},                          \
        {"ask", 0, NULL, "allow only the allowed entries, and ask you about others"},    \
        {"allow", 0, "ENTRY", "a name, address or network to allow; may be repeated"},   \
        {"deny", 0, "ENTRY", "a name, address or network to deny; may be repeated"},     \
        {"profile", 0, "PROFILE", "an egress profile of the operator; may be repeated"}, \
        {"rules", 0, "FILE", "egress rules, a JSON array"},                              \
    {                                                                                    \
        "egress-proxy", 0, "FILE", "the proxy for its connections, a JSON object"        \
    }

/* Add the options of NETWORK_OPTIONS, and --internet, as members of a network policy. Errors:
 * ERR_CONFIG, ERR_INVALID_REQUEST (a file cannot be read, or has other JSON). */
int input_network(const struct cli_call *call, json_t *body, struct error **err);

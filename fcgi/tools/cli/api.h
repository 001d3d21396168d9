/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call the API, and make short calls to a sandbox's data plane. */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/exchange.h"

/* Call the API. body (NULL: none) is taken over. *answer (answer may be NULL) is a new reference;
 * NULL: the answer is empty. When the service asks to wait, the call is repeated. A change has an
 * Idempotency-Key, so it is made once. Errors: those of exchange_run(), and the code of the API's
 * error. */
int api_call(struct cli *cli, const char *method, const char *path, json_t *body, json_t **answer,
             struct error **err);

/* Read all pages of a list. *rows: a new reference to an array. path may have a query. */
int api_list(struct cli *cli, const char *path, const char *member, json_t **rows,
             struct error **err);

/* Return a path with an escaped value in it, or an escaped text. The caller frees it. */
char *api_path(const char *before, const char *after, const char *value);
char *api_escape(const char *text);

/* Append a query parameter to a path, unless the value is NULL. */
void api_add_query(struct buffer *path, const char *name, const char *value);

/* Append a time as a query parameter, unless the value is NULL. value: a time, or a duration before
 * now. */
void api_add_time(struct buffer *path, const char *name, const char *value);

/* Set the error of an answer outside 2xx, with its field and message. Returns -1. */
int api_error(const struct exchange *exchange, struct error **err);

/* Find the id of a sandbox by its id or name. The caller frees *id. */
int api_sandbox_id(struct cli *cli, const char *word, char **id, struct error **err);

/* Call api_call() for the path `what` below the sandbox that the first operand names. */
int api_call_sandbox(struct cli_call *call, const char *method, const char *what, json_t *body,
                     json_t **answer, struct error **err);

/* Find the id of a volume by its id or name. The caller frees *id. */
int api_volume_id(struct cli *cli, const char *word, char **id, struct error **err);

/* Find the id of a checkpoint by its id, NAME or NAME:VERSION. The caller frees *id. newest: NAME
 * stands for its newest version; otherwise a name with several versions is an error. */
int api_checkpoint_id(struct cli *cli, const char *word, bool newest, char **id,
                      struct error **err);

/* A running sandbox, and the address and token of its data plane. */
struct session {
    char *id, *url;
    char *token_header; /* wiped at its end */
};

/* Make the sandbox run if it is paused, and open a session. */
int session_open(struct cli *cli, const char *word, struct session *session, struct error **err);
void session_close(struct session *session);
#define session_auto __attribute__((cleanup(session_close))) struct session

/* Run a program in the sandbox (POST /exec); a failure of the program is an error. `what`: the
 * subject of the message. *output (may be NULL) gets its standard output, which the caller
 * frees. */
int session_run(struct cli *cli, const struct session *session, json_t *call, const char *what,
                char **output, struct error **err);

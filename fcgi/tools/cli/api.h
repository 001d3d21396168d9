/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the API, and short calls to a sandbox's data plane. */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "cli/cli.h"
#include "cli/exchange.h"

/* Call the API. body (NULL: none) is taken over. *answer, if it is asked for, is a new reference,
 * NULL for an empty one. A call that the service puts off is made again by itself; a change has an
 * Idempotency-Key, so it is made once. Errors have the code that the API gave. */
int api_call(struct cli *cli, const char *method, const char *path, json_t *body, json_t **answer,
             struct error **err);

/* List all pages of a list: its rows, a new reference. path may have a query. */
int api_list(struct cli *cli, const char *path, const char *member, json_t **rows,
             struct error **err);

/* Return a path with a value in it, which is escaped; the caller's. */
char *api_path(const char *before, const char *after, const char *value);
char *api_escape(const char *text);

/* Append a query parameter to a path, unless the value is NULL. */
void api_add_query(struct buffer *path, const char *name, const char *value);

/* Append a time, which is written as such or as a duration before now; unless the value is NULL. */
void api_add_time(struct buffer *path, const char *name, const char *value);

/* Set the error of an answer outside 2xx, with its field and message. Returns -1. */
int api_error(const struct exchange *exchange, struct error **err);

/* Find the id of the sandbox that a word means: an id, or a name. The caller's. */
int api_sandbox_id(struct cli *cli, const char *word, char **id, struct error **err);

/* Call api_call() for a path below the sandbox that the first operand names. */
int api_call_sandbox(struct cli_call *call, const char *method, const char *what, json_t *body,
                     json_t **answer, struct error **err);

/* Find the id of a volume, likewise. */
int api_volume_id(struct cli *cli, const char *word, char **id, struct error **err);

/* Find the id of a checkpoint, likewise, or NAME:VERSION. newest: NAME is its newest version;
 * without it, a name with several versions is an error. */
int api_checkpoint_id(struct cli *cli, const char *word, bool newest, char **id,
                      struct error **err);

/* A sandbox that runs, and how its data plane is reached. */
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

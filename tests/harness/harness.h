/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests through the workers of the API and of the gate without a stack: a request goes in as
 * nginx would hand it over, through the real routes, handlers, concepts and a database server of
 * the test's own; the answer comes out as nginx would get it. Only the runtime is another one
 * (recorder.h). There is a user with a key, a template `python` and a host; no dispatcher and no
 * firewall.
 */
#pragma once

#include <jansson.h>

#include "account/api_key.h"
#include "api/access.h"
#include "api/api.h"
#include "gate/decide.h"
#include "harness/recorder.h"
#include "unit/db/server.h"

struct harness {
    struct server *server;
    MYSQL *sql; /* beside the workers, for server_say() and server_ask() */
    char directory[64];
    struct settings *settings;
    struct api api;
    struct gate gate;
    char key[API_KEY_TEXT_SIZE];
    struct user user;
    struct host host;
};

/* Group fixtures of cmocka; *state becomes the struct harness. */
int harness_setup(void **state);
int harness_teardown(void **state);

struct harness_answer {
    int status;
    char *head;   /* its header lines */
    char *body;   /* as text, "" for none */
    json_t *json; /* NULL: it is none */
};
void harness_answer_deinit(struct harness_answer *answer);
#define harness_answer_auto __attribute__((cleanup(harness_answer_deinit))) struct harness_answer

/* The value of a header in the answer, up to the end of its line; NULL: not there. The caller frees
 * it. */
char *harness_header(const struct harness_answer *answer, const char *name);

/* A request to the API with the user's key. headers: "Name: value" each, NULL at the end; NULL:
 * none. body: JSON, or NULL. */
struct harness_answer harness_api(struct harness *harness, const char *method, const char *uri,
                                  const char *body, const char *const *headers);

/* A question to the gate, by its parameters ("SANDLOT_KIND=data", …; NULL at the end). */
struct harness_answer harness_gate(struct harness *harness, const char *const *parameters);

/* Further workers of a pool ("api", "gate"), half of which serve other requests with this claim. */
#define HARNESS_WORKERS 4 /* of the pool then, with the harness's own one */
struct harness_others {
    struct pool *pools[HARNESS_WORKERS - 1];
};
void harness_occupy(struct harness *harness, const char *pool, const struct pool_claim *claim,
                    struct harness_others *others);
void harness_others_end(struct harness_others *others);
#define harness_others_auto __attribute__((cleanup(harness_others_end))) struct harness_others

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server: libmicrohttpd with a thread a connection, so that a handler may wait for the
 * file system and delays nobody else. All requests come from the control plane and show its secret.
 *
 *   GET  /health                      {"epoch"}
 *   POST /v/<id>/open                 whether the volume is mounted, and a change may be made
 *   POST /v/<id>/fence?generation=    fence.h
 *   GET|PUT /v/<id>/file?path=        bytes; PUT: &mode=
 *   GET|PUT /v/<id>/directory?path=   GET: &after=&limit=; PUT: &mode=
 *   GET|DELETE /v/<id>/path?path=     DELETE: &recursive=1
 *   POST /v/<id>/move?from=&to=
 *
 * Changes carry &generation= and &epoch= as well. Paths are percent-encoded bytes, absolute in the
 * volume. A refusal is {"code", "message"}.
 */
#pragma once

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "keeper/fence.h"
#include "keeper/refusal.h"

#define SECRET_HEADER  "X-Sandlot-Keeper-Secret"
#define SECRET_HEX_MAX 64

struct request {
    struct MHD_Connection *connection;
    const struct route *route;
    char volume_id[VOLUME_ID_SIZE];
    struct fence *fence;
    uint64_t generation; /* of a change */
    int volume;          /* root of the volume, or -1 */
    int file;            /* what an upload goes into, or -1 */
    bool failed, answered;
    bool room_made; /* what removals have left to be given back was given back once */
    struct refusal refusal;
    uint64_t swallowed; /* bytes of the body after the failure */
};

/* A handler answers, or fills *refusal and returns -1. */
struct route {
    const char *method, *name;
    bool changes; /* needs the present epoch, and a generation that is not fenced */
    /* Called with the head, and for each piece of the body; NULL: there is none. */
    int (*begin)(struct request *request, struct refusal *refusal);
    int (*data)(struct request *request, const char *data, size_t size, struct refusal *refusal);
    int (*finish)(struct request *request, struct refusal *refusal);
};

/* The path argument of that name without its leading slashes. */
int request_path(const struct request *request, const char *name, const char **path,
                 struct refusal *refusal);
/* A number; *value stays what it is when there is none. */
int request_number(const struct request *request, const char *name, uint64_t *value,
                   struct refusal *refusal);
/* An octal mode. *given: whether there is one. */
int request_mode(const struct request *request, mode_t *mode, bool *given, struct refusal *refusal);

/* Answers; the references are taken over. */
int request_reply(struct request *request, unsigned status, struct MHD_Response *response);
int request_reply_json(struct request *request, unsigned status, json_t *json);
int request_reply_empty(struct request *request);

/* Serve on the port until a signal ends the process. Returns -1 when it cannot. */
int serve(uint16_t port, const char *secret);

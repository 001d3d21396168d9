/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server: libmicrohttpd with a thread a connection, so that a handler that waits for the
 * file system delays no other request. All requests come from the control plane and show its
 * secret.
 *
 *   GET  /health                      {"epoch"}
 *   POST /v/<id>/open                 whether the volume is mounted, and a change may be made
 *   POST /v/<id>/fence?generation=    fence.h
 *   GET|PUT /v/<id>/file?path=        bytes; PUT: &mode=&uid=&gid=&new=
 *   GET|PUT /v/<id>/directory?path=   GET: &after=&limit=; PUT: &mode=&uid=&gid=&new=
 *   GET /v/<id>/tree?path=&depth=     entries below a directory, to that depth
 *   GET|DELETE /v/<id>/path?path=     DELETE: &recursive=1
 *   PATCH /v/<id>/path?path=          &mode=&uid=&gid=
 *   POST /v/<id>/move?from=&to=
 *
 * Changes carry &generation= and &epoch= as well. Paths are percent-encoded bytes, absolute in the
 * volume. An error is {"code", "message"}.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "httpd/request.h"
#include "httpd/secret.h"
#include "keeper/fence.h"
#include "keeper/keeper_error.h"

struct request {
    struct httpd_request http;
    const struct route *route;
    char volume_id[VOLUME_ID_SIZE];
    struct fence *fence;
    uint64_t generation; /* of a change */
    int volume;          /* root of the volume, or -1 */
    int file;            /* the file of an upload, or -1 */
    bool room_made;      /* a commit was forced once, to free the space of removed files */
    struct keeper_error error;
};

/* A handler answers, or fills *error and returns -1. */
struct route {
    const char *method, *name;
    bool changes;  /* needs the present epoch, and a generation that is not fenced */
    bool is_alone; /* is about no volume's files: none is opened */
    /* Called with the head, and for each piece of the body; may be NULL. */
    int (*begin)(struct request *request, struct keeper_error *error);
    int (*data)(struct request *request, const char *data, size_t size, struct keeper_error *error);
    int (*finish)(struct request *request, struct keeper_error *error);
};

/* Return the path argument with this name, without its leading slashes. */
int request_path(const struct request *request, const char *name, const char **path,
                 struct keeper_error *error);
/* Read a number; *value stays unchanged without the argument. */
int request_number(const struct request *request, const char *name, uint64_t *value,
                   struct keeper_error *error);
/* Read owner and mode (octal) of a request; -1 where it has none. is_new: it has the argument new,
 * and replaces nothing. */
struct attributes {
    int mode, uid, gid;
    bool is_new;
};
int request_attributes(const struct request *request, struct attributes *attributes,
                       struct keeper_error *error);

/* Serve on the port until a signal ends the process. The secret is borrowed. Errors: those of
 * httpd_listen() and httpd_start(). */
int serve(uint16_t port, const struct shared_secret *secret, struct error **err);

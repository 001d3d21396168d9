/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read answers of Incus into types: envelopes, operations, and the refusals that mean that another
 * caller was faster. */
#pragma once

#include <jansson.h>

#include "base/error.h"

enum incus_error {
    INCUS_ERROR_NONE,
    INCUS_ERROR_NOT_FOUND,   /* the instance, or another object of the path */
    INCUS_ERROR_EXISTS,      /* the name is taken */
    INCUS_ERROR_BUSY,        /* another operation on the instance is under way */
    INCUS_ERROR_STOPPED,     /* it is stopped already */
    INCUS_ERROR_RUNNING,     /* it runs already, or still */
    INCUS_ERROR_IN_USE,      /* an instance has the volume */
    INCUS_ERROR_START,       /* a container did not start; liblxc's log has the reason */
    INCUS_ERROR_NO_SPACE,    /* the storage pool or the instance's quota is full */
    INCUS_ERROR_POOL_CLOSED, /* the server could not mount the storage pool */
    INCUS_ERROR_MOUNT_POINT, /* a start failed: the place of a mount is not suitable (incusd-exec)
                              */
    INCUS_ERROR_STUCK,       /* a start did not end, and was killed (incusd-exec) */
    INCUS_ERROR_UNAVAILABLE, /* the server is starting or ending */
    INCUS_ERROR_INTERRUPTED, /* the server ended during the operation */
    INCUS_ERROR_OTHER,
};

enum incus_answer_type { INCUS_ANSWER_SYNC, INCUS_ANSWER_ASYNC, INCUS_ANSWER_ERROR };

#define INCUS_UUID_SIZE 37

struct incus_answer {
    enum incus_answer_type type;
    int code;                        /* of an error; 0 otherwise */
    const char *error;               /* of an error; borrowed from the document */
    json_t *metadata;                /* borrowed from the document; may be NULL */
    char operation[INCUS_UUID_SIZE]; /* of an async answer */
};

/* Read an envelope. Returns -1 for any other text. */
int incus_answer_read(json_t *document, struct incus_answer *answer);

enum incus_operation_state {
    INCUS_OPERATION_RUNNING,
    INCUS_OPERATION_DONE,
    INCUS_OPERATION_FAILED,
};

/* Return the string of a key in an object, borrowed; "" without one. */
const char *incus_string(const json_t *object, const char *key);

/* Read the state of an operation from its metadata. *code and *error: of a failed operation; else 0
 * and "". *error is borrowed. Returns -1 for other metadata. */
int incus_operation_read(json_t *metadata, enum incus_operation_state *state, int *code,
                         const char **error);

/* Return the kind of a refusal: Incus has codes for a few; for the rest the message decides. */
enum incus_error incus_error_of(int code, const char *text);

/* Set *err from a refusal: the code follows from the kind (see incus.h), and the message has the
 * text of Incus in one line of bounded length. With INCUS_ERROR_MOUNT_POINT, the field is the path.
 * Returns -1. */
int incus_error_set(struct error **err, enum incus_error kind, const char *text);

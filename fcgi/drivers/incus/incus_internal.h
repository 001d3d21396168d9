/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For incus_*.c only. */
#pragma once

#include <curl/curl.h>

#include "base/buffer.h"
#include "incus/incus.h"

struct incus {
    struct incus_options options; /* strings are ours */
    char *socket_path;            /* NULL: https */
    char *base;                   /* the prefix of paths */
    CURL *curl;
    struct curl_slist *headers;
    struct buffer answer;
    char *member; /* the name of this server in its cluster; "" in none; NULL: not asked yet */
    FILE *sink;   /* takes the body of a success instead of answer; borrowed */
    enum incus_error last_error;
    unsigned orders_sent;
    int64_t ticked_at_ms;     /* monotonic */
    struct error *tick_error; /* set by tick() inside a transfer */
};

/* How far a request got. */
enum incus_reach {
    INCUS_ANSWERED, /* *document is set */
    INCUS_NOT_SENT, /* *err is ERR_RUNTIME_UNAVAILABLE */
    INCUS_NO_ANSWER /* the server may have read it; *err: ERR_OUTCOME_UNKNOWN, or of tick() */
};

struct incus_request {
    const char *method;
    const char *path; /* below the server, "/1.0/…" */
    json_t *body;     /* borrowed or NULL */
    const void *data; /* instead of body: these bytes, under these headers */
    size_t data_size;
    struct curl_slist *data_headers;
    unsigned timeout_s; /* of the whole exchange; with a file, of each time without data */
    size_t answer_max;
    bool outside_project; /* do not name the project */
    bool places;          /* it creates an object, on this member of a cluster */
    bool text;            /* the answer of a success is not JSON: *document stays NULL */
    FILE *to;             /* likewise, and the answer is written here */
    FILE *from;           /* instead of body and data: from_size bytes from here */
    uint64_t from_size;
};

#define INCUS_REQUEST_TIMEOUT_S 60

/* The time limits of orders in the background. The host ends a start after 60 s
 * (fcgi/host/helper/launcher). Its limit here is longer, for the case that this fails. Other orders
 * may write the memory or the disk of an instance. */
#define INCUS_START_MOST_S 90
#define INCUS_ORDER_MOST_S (15 * 60)
#define INCUS_ANSWER_MAX   ((size_t)16 << 20)

/* Set the options of every connection to this server: its address, and the certificates of both
 * sides. */
void incus_set_connection(const struct incus *incus, CURL *curl);

/* Send one request, and read one answer; *document is owned by the caller. */
enum incus_reach incus_exchange(struct incus *incus, const struct incus_request *request,
                                json_t **document, struct error **err);

/* Get a text that is not JSON. *text is valid until the next call. Errors as incus_get(). */
int incus_get_text(struct incus *incus, const char *path, size_t answer_max, const char **text,
                   struct error **err);

/* Read the name of this server in its cluster into incus->member, if it is not known yet. Errors as
 * incus_get(). */
int incus_find_member(struct incus *incus, struct error **err);

/* Do the same as incus_order(), for a POST that creates an object on this member of a cluster. */
int incus_order_new(struct incus *incus, const char *path, json_t *body, struct error **err);

/* Delete the object at the path. Success if it does not exist. */
int incus_drop(struct incus *incus, const char *path, struct error **err);

/* Send an order of any kind, and do not wait for its operation. answer borrows from *document,
 * which the caller frees, also after an error. */
int incus_order_begin(struct incus *incus, const struct incus_request *request, json_t **document,
                      struct incus_answer *answer, struct error **err);

/* Do the same as incus_order_within(), for any request. */
int incus_order_request(struct incus *incus, const struct incus_request *request, unsigned most_s,
                        struct error **err);

/* Wait at most most_s for the end of an operation. Errors: those of the operation, and
 * ERR_OUTCOME_UNKNOWN, also when the time is over. */
int incus_operation_wait(struct incus *incus, const char *uuid, unsigned most_s,
                         struct error **err);

/* Do the same as incus_order(), but wait at most most_s for the operation. */
int incus_order_within(struct incus *incus, const char *method, const char *path, json_t *body,
                       unsigned most_s, struct error **err);

/* Return "/1.0/storage-pools/<pool>/volumes/custom", and with a name the volume below it. Owned by
 * the caller. */
char *incus_volumes_path(struct incus *incus, const char *pool, const char *name);

/* Return "/1.0/<collection>/<name>" with the name escaped; owned by the caller. */
char *incus_path(struct incus *incus, const char *collection, const char *name);

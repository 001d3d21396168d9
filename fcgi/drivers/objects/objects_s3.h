/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For objects_s3*.c only: one request of the interface of S3, signed and repeated. */
#pragma once

#include <curl/curl.h>

#include "base/buffer.h"
#include "objects/objects_internal.h"

#define S3_ANSWER_MAX ((size_t)8 << 20)
#define S3_TRIES_MOST 6

struct s3_login {
    char *id, *secret; /* the secret is wiped */
};

struct s3 {
    struct objects base;
    char *bucket_url; /* https://server/bucket */
    char *prefix;     /* "" or "prefix/", before each key */
    char *signing;    /* the region and service for libcurl's signature */
    struct s3_login login;
    unsigned tries;
    CURL *curl;
    struct buffer answer;      /* of a request without room for it */
    struct error *tick_error;  /* set by tick() inside a transfer */
    struct s3_request *asking; /* the current request */
    int64_t ticked_at_ms;      /* monotonic */
};

struct s3_request {
    const char *method;
    const char *key;   /* NULL: the bucket itself */
    const char *query; /* in the order and the form in which it is signed; NULL: none */
    const void *data;
    size_t size;
    uint64_t offset; /* of a read into room */
    char *room;
    size_t room_size, got;
    char tag[256]; /* of the answer */
    long status;
};

static inline struct s3 *s3_of(struct objects *objects)
{
    return (struct s3 *)objects;
}

/* Send a request, and repeat it after temporary failures. An answer without room is in s3->answer
 * until the next request. Errors: see objects.h. */
int s3_ask(struct s3 *s3, struct s3_request *request, struct error **err);

/* Set *err from an answer that reports an error. Returns -1. */
int s3_refused(struct s3 *s3, const struct s3_request *request, struct error **err);

/* Return a text percent-encoded as signatures need it; the caller frees it. */
char *s3_escape(struct s3 *s3, const char *text);

int s3_upload_begin(struct objects_upload *upload, struct error **err);
int s3_upload_part(struct objects_upload *upload, const void *data, size_t size,
                   struct error **err);
int s3_upload_finish(struct objects_upload *upload, struct error **err);
int s3_upload_abandon(struct objects *objects, const char *key, const char *name,
                      struct error **err);

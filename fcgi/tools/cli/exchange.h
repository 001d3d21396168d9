/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTPS request and its answer, over libcurl. */
#pragma once

#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "cli/cli.h"

#define EXCHANGE_HEADERS_MAX 6

struct exchange {
    const char *method, *url;
    const char *headers[EXCHANGE_HEADERS_MAX]; /* "Name: value" */

    /* The body: in memory, or read from a file from where it stands, of upload_size bytes (-1: to
     * its end). */
    const char *body;
    size_t body_size;
    FILE *upload;
    int64_t upload_size, uploaded;

    int64_t download_max, downloaded; /* the most bytes for download; -1: any number */
    FILE *download;                   /* for the body of a 2xx; NULL: into answer */
    const char *shown;  /* the name of the transferred file, for a progress bar; NULL: no bar */
    int64_t shown_from; /* bytes that were transferred before */
    int64_t shown_size; /* of all that goes up; 0: not known */

    long status;
    int64_t length; /* of the answer, as its header says; -1: not known */
    struct buffer answer;
    unsigned retry_after_s;
    char etag[128];
    CURL *handle;
};

/* Send the request, and read the answer. An answer of any status is success. The caller calls
 * exchange_free() after an error too. Errors: as exchange_failed(), and ERR_INTERNAL (the answer
 * has more than download_max bytes). */
int exchange_run(struct cli *cli, struct exchange *exchange, struct error **err);
void exchange_free(struct exchange *exchange);
#define exchange_auto __attribute__((cleanup(exchange_free))) struct exchange

/* Set the common options of all requests: certificates, and names below localhost, which always
 * lead to this machine (RFC 6761). The certificate must have the name in every case. Returns a list
 * that the caller frees after the transfer, or NULL. */
struct curl_slist *exchange_prepare(const struct cli *cli, CURL *handle, const char *url);

/* Set the error for a failed transfer. Returns -1. */
int exchange_failed(const struct cli *cli, CURLcode code, const char *url, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common parts of our HTTP clients (libcurl) for agents, volume servers and firewalls. */
#pragma once

#include <curl/curl.h>
#include <stddef.h>

/* The handle in *kept, which is made at the first call (NULL before), reset for another request:
 * its connections stay. It uses no proxy and no signals, and follows no redirect. It has a second
 * to connect, and takes at most 64 KiB of header lines. The caller sets the other options, and at
 * the end cleans *kept up. Aborts if libcurl gives no handle. */
CURL *http_client_handle(CURL **kept);

/* For CURLOPT_HEADERFUNCTION, with the handle in CURLOPT_HEADERDATA, where both are from the start:
 * the transfer fails when the header lines of its answer have more than 64 KiB. */
size_t http_client_bound_headers(char *data, size_t size, size_t count, void *curl);

/* For CURLOPT_WRITEFUNCTION, with a struct buffer in CURLOPT_WRITEDATA: collects the body. The
 * transfer fails when it goes past the maximum of the buffer. */
size_t http_client_collect(char *data, size_t size, size_t count, void *buffer);

/* Wipe headers that carry secrets, and free them. */
void http_client_free_headers(struct curl_slist *headers);

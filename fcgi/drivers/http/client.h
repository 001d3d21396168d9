/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Share the common parts of the HTTP clients (libcurl) of agents, volume servers and firewalls. */
#pragma once

#include <curl/curl.h>
#include <stddef.h>

/* Return the handle in *kept, reset for another request; its connections stay open. *kept is NULL
 * before the first call, which creates the handle. The caller sets further options, and at the end
 * calls curl_easy_cleanup(). The handle uses no proxy and no signals, and follows no redirect. It
 * must connect within a second, and takes at most 64 KiB of header lines. Aborts without memory. */
CURL *http_client_handle(CURL **kept);

/* Let the transfer fail when the header lines of its answer have more than 64 KiB. For
 * CURLOPT_HEADERFUNCTION, with the handle in CURLOPT_HEADERDATA; http_client_handle() sets both. */
size_t http_client_bound_headers(char *data, size_t size, size_t count, void *curl);

/* Append the body of an answer to a buffer. The transfer fails when the body is larger than the
 * maximum of the buffer. For CURLOPT_WRITEFUNCTION, with a struct buffer in CURLOPT_WRITEDATA. */
size_t http_client_collect(char *data, size_t size, size_t count, void *buffer);

/* Wipe headers that carry secrets, and free them. */
void http_client_free_headers(struct curl_slist *headers);

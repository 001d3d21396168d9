/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FastCGI 1.0 as nginx speaks it: one request of a responder on each connection, which ends with it
 * (https://fastcgi-archives.github.io/FastCGI_Specification.html).
 *
 * libfcgi keeps a worker at the end of each request until nginx has read the answer and closed its
 * side. Here a connection of which all has been read is closed at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fastcgi;

/* Accept from a listening socket that does not block, and read the parameters of the request. NULL
 * with EAGAIN in errno: there is no connection, or none that is a request. Other errors are those
 * of accept(2). */
struct fastcgi *fastcgi_accept(int listener);

/* "NAME=value", NULL-terminated; they live as long as the request. */
char **fastcgi_parameters(const struct fastcgi *request);

/* What is there of the body, size bytes at most; waits for the first of it, wait_ms at most. 0: the
 * body is over; -1: it broke off, or nothing came in time. */
long fastcgi_read(struct fastcgi *request, void *data, size_t size, int wait_ms);
/* Whether its end has been read. */
bool fastcgi_body_is_over(const struct fastcgi *request);

/* Returns -1 when nginx is gone. */
int fastcgi_write(struct fastcgi *request, const void *data, size_t size);
/* Likewise, and that is the end of the answer. */
void fastcgi_write_last(struct fastcgi *request, const void *data, size_t size);

/* Close the connection and free the request. What is still to come of the body is waited for, for a
 * bounded time: nginx would take its loss for a failure. */
void fastcgi_free(struct fastcgi *request);

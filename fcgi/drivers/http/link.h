/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connect to services on a host: agents, volume servers and the firewall. On the same machine, the
 * connection is direct. On another machine, one TLS port serves all: the relay (conf/nginx/host/).
 * Both sides have certificates of the deployment's own authority. A header names the target.
 *
 * A link of NULL is always the direct connection.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#define LINK_TARGET_HEADER   "X-Sandlot-To"
#define LINK_TARGET_FIREWALL "firewall"
/* The suffix of a host's name in its certificate. */
#define LINK_DOMAIN "host.sandlot"

/* The files in the folder of credentials of a front (caller) and of a host. The last two hold a
 * certificate and its key. Only the caller's own are read here. */
#define LINK_AUTHORITY_FILE "ca.pem"
#define LINK_CALLER_FILE    "front.pem"
#define LINK_HOST_FILE      "host.pem"

struct http_link;

/* Return whether the address of a relay has the form https://a.b.c.d:port. A name is not allowed,
 * because nginx would resolve it only once. */
bool http_link_url_is_valid(const char *relay_url);

/* Return the link to a host by its relay; the texts are copied. relay_url is valid. */
struct http_link *http_link_new(const char *host_name, const char *relay_url,
                                const char *credentials_dir);
void http_link_free(struct http_link *link); /* NULL is allowed */

/* Prepare a handle for a request to a path of a target: "address:port", or LINK_TARGET_FIREWALL,
 * which needs a link. Set the address, protocol and credentials, and append to *headers, which the
 * caller sets. The link is borrowed until the transfer is over. */
void http_link_set(const struct http_link *link, CURL *curl, const char *target, const char *path,
                   struct curl_slist **headers);

/* Let the transfer fail, and its connection end, unless each status line is one that nginx writes
 * for a final answer. For CURLOPT_HEADERFUNCTION, with the handle in CURLOPT_HEADERDATA;
 * http_link_set() sets it for a link that is not NULL.
 *
 * A relay keeps its connection to us for the targets of all tenants. nginx passes on the bytes
 * after a status below 200 as they are, and so all bytes that it cannot read as HTTP. A target
 * could therefore write the answer of the next target. The limit of http_client_bound_headers()
 * applies too. */
size_t http_link_check_header(char *data, size_t size, size_t count, void *curl);

/* Return the status of the target's answer after a successful transfer. 0: the relay cannot connect
 * to the target, and has answered itself. */
long http_link_status(const struct http_link *link, CURL *curl);

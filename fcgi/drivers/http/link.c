/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/link.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "http/client.h"

#define SCHEME "https://"
/* By this header the relay reports to nginx that it did not reach its target. It does not pass on
 * such a header. */
#define UNREACHED_HEADER "X-Accel-Redirect"
#define PROTOCOL         "HTTP/"
#define VERSION          PROTOCOL "1.1 " /* nginx writes no other */
#define STATUS_DIGITS    3

struct http_link {
    char *origin;                  /* of the host by its name, which its certificate must have */
    struct curl_slist *connect_to; /* where it really is */
    char *ca_file, *pair_file;
};

bool http_link_url_is_valid(const char *relay_url)
{
    uint64_t port;
    struct in_addr address;
    if (!str_starts_with(relay_url, SCHEME))
        return false;
    const char *authority = relay_url + strlen(SCHEME);
    size_t length = strcspn(authority, ":");
    char text[INET_ADDRSTRLEN];
    if (length >= sizeof text || !authority[length])
        return false;
    memcpy(text, authority, length);
    text[length] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 &&
           str_parse_u64(authority + length + 1, 1, 65535, &port) == 0;
}

struct http_link *http_link_new(const char *host_name, const char *relay_url,
                                const char *credentials_dir)
{
    struct http_link *link = xcalloc(1, sizeof *link);
    autofree char *where = xasprintf("::%s", relay_url + strlen(SCHEME));
    link->origin = xasprintf(SCHEME "%s." LINK_DOMAIN, host_name);
    link->connect_to = curl_slist_append(NULL, where);
    if (!link->connect_to)
        panic("curl_slist_append() failed");
    link->ca_file = xasprintf("%s/" LINK_AUTHORITY_FILE, credentials_dir);
    link->pair_file = xasprintf("%s/" LINK_CALLER_FILE, credentials_dir);
    return link;
}

void http_link_free(struct http_link *link)
{
    if (!link)
        return;
    curl_slist_free_all(link->connect_to);
    free(link->origin);
    free(link->ca_file);
    free(link->pair_file);
    free(link);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Return whether nginx, too, takes a line for the status line of a last answer. It takes fewer
 * lines than libcurl. */
static bool is_last_status(const char *line, size_t size)
{
    const size_t begin = strlen(VERSION), end = begin + STATUS_DIGITS;
    if (size < end + 1 || memcmp(line, VERSION, begin) != 0 || line[begin] < '2' ||
        line[begin] > '5' || !is_digit(line[begin + 1]) || !is_digit(line[begin + 2]) ||
        line[size - 1] != '\n')
        return false;
    size -= line[size - 2] == '\r' ? 2 : 1;
    return size == end || (line[end] == ' ' && !memchr(line + end, '\r', size - end));
}

size_t http_link_check_header(char *data, size_t size, size_t count, void *curl)
{
    size_t length = strlen(PROTOCOL);
    bool is_status = size * count >= length && !memcmp(data, PROTOCOL, length);
    return is_status && !is_last_status(data, size * count)
               ? 0
               : http_client_bound_headers(data, size, count, curl);
}

/* The deployment's own authority counts and no other. */
static void set_credentials(const struct http_link *link, CURL *curl)
{
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    curl_easy_setopt(curl, CURLOPT_CAINFO, link->ca_file);
    curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(curl, CURLOPT_SSLCERT, link->pair_file);
    curl_easy_setopt(curl, CURLOPT_SSLKEY, link->pair_file);
}

void http_link_set(const struct http_link *link, CURL *curl, const char *target, const char *path,
                   struct curl_slist **headers)
{
    autofree char *url =
        xasprintf("%s%s%s", link ? link->origin : "http://", link ? "" : target, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, link ? "https" : "http");
    if (!link)
        return;
    autofree char *header = xasprintf(LINK_TARGET_HEADER ": %s", target);
    *headers = curl_slist_append(*headers, header);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, link->connect_to);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_link_check_header);
    set_credentials(link, curl);
}

long http_link_status(const struct http_link *link, CURL *curl)
{
    long status = 0;
    struct curl_header *unreached;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    bool reached = !link || curl_easy_header(curl, UNREACHED_HEADER, 0, CURLH_HEADER, -1,
                                             &unreached) != CURLHE_OK;
    return reached ? status : 0;
}

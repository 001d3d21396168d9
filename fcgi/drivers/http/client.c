/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/panic.h"

#define CONNECT_TIMEOUT_MS 1000
#define HEADERS_MAX        65536 /* bytes of all header lines of an answer, 1xx included */

/* libcurl keeps header lines in memory as they come, and an answer may never end them. */
size_t http_client_bound_headers(char *data, size_t size, size_t count, void *curl)
{
    long all = 0;
    (void)data;
    curl_easy_getinfo(curl, CURLINFO_HEADER_SIZE, &all);
    return all > HEADERS_MAX ? 0 : size * count;
}

CURL *http_client_handle(CURL **kept)
{
    if (!*kept) {
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_free_wiped, mem_realloc_wiped, strdup,
                             calloc);
        *kept = curl_easy_init();
        if (!*kept)
            panic("curl_easy_init() failed");
    }
    curl_easy_reset(*kept);
    curl_easy_setopt(*kept, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(*kept, CURLOPT_PROXY, "");
    curl_easy_setopt(*kept, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(*kept, CURLOPT_HEADERFUNCTION, http_client_bound_headers);
    curl_easy_setopt(*kept, CURLOPT_HEADERDATA, *kept);
    return *kept;
}

size_t http_client_collect(char *data, size_t size, size_t count, void *buffer)
{
    return buffer_append(buffer, data, size * count) < 0 ? 0 : size * count;
}

void http_client_free_headers(struct curl_slist *headers)
{
    for (struct curl_slist *item = headers; item; item = item->next)
        mem_wipe(item->data, strlen(item->data));
    curl_slist_free_all(headers);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/link_ask.h"

#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/client.h"

#define ANSWER_MAX 65536
#define EXPIRES    "Expire date:" /* libcurl's name for it */

static int64_t peer_expiry(CURL *curl)
{
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(curl, CURLINFO_CERTINFO, &chain) != CURLE_OK || !chain ||
        chain->num_of_certs < 1)
        return 0;
    for (const struct curl_slist *line = chain->certinfo[0]; line; line = line->next)
        if (str_starts_with(line->data, EXPIRES))
            return (int64_t)curl_getdate(line->data + strlen(EXPIRES), NULL) * 1000;
    return 0;
}

int http_link_ask(const struct http_link *link, unsigned wait_ms, int64_t *expires_at_ms,
                  struct error **err)
{
    CURL *curl = NULL;
    struct curl_slist *headers = NULL;
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    http_client_handle(&curl);
    http_link_set(link, curl, "", "/", &headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)wait_ms);
    curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    CURLcode result = curl_easy_perform(curl);
    *expires_at_ms = result == CURLE_OK ? peer_expiry(curl) : 0;
    if (result != CURLE_OK)
        error_set(err, ERR_RUNTIME_UNAVAILABLE, "%s", curl_easy_strerror(result));
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return result == CURLE_OK ? 0 : -1;
}

int http_own_ask(const char *host, unsigned port, const char *path, unsigned wait_ms,
                 struct http_own_answer *out, struct error **err)
{
    CURL *curl = NULL;
    long status = 0;
    autofree char *url = xasprintf("https://%s:%u%s", host, port, path);
    autofree char *here = xasprintf("::127.0.0.1:%u", port);
    struct curl_slist *targets = curl_slist_append(NULL, here);
    buffer_auto answer = BUFFER_INIT(ANSWER_MAX);
    http_client_handle(&curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, targets);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)wait_ms);
    curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_client_collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    CURLcode result = curl_easy_perform(curl);
    out->expires_at_ms = result == CURLE_OK ? peer_expiry(curl) : 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    out->status = (unsigned)status;
    curl_slist_free_all(targets);
    curl_easy_cleanup(curl);
    return result == CURLE_OK
               ? 0
               : error_set(err, ERR_RUNTIME_UNAVAILABLE, "%s", curl_easy_strerror(result));
}

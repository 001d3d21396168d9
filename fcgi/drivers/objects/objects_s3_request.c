/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl signs (Signature Version 4), but for the hash of the body, which releases before 8.0 only
 * take from us. Data is sent from memory, so each request can be sent again.
 */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "objects/objects_s3.h"
#include "objects/objects_xml.h"

#define REST_MS          500 /* doubles with each try */
#define REST_STEP_MS     250
#define TICK_MS          500
#define CONNECT_MOST_MS  5000L
#define SLOWEST_BYTES    4096L /* a second, and for so long: */
#define STANDSTILL_S     30L
#define WORDS_MAX        200 /* of an error of the server */
#define STATUS_STORAGE   507
#define STATUS_TOO_MANY  429
#define STATUS_NOT_FOUND 404

char *s3_escape(struct s3 *s3, const char *text)
{
    char *escaped = curl_easy_escape(s3->curl, text, 0);
    char *copy = xstrdup(escaped ? escaped : "");
    curl_free(escaped);
    return copy;
}

/* --- one transfer --- */

static size_t on_data(char *data, size_t size, size_t count, void *context)
{
    struct s3 *s3 = context;
    struct s3_request *request = s3->asking;
    size_t bytes = size * count;
    long status = 0;
    curl_easy_getinfo(s3->curl, CURLINFO_RESPONSE_CODE, &status);
    if (!request->room || status / 100 != 2)
        return buffer_append(&s3->answer, data, bytes) < 0 ? 0 : bytes;
    if (bytes > request->room_size - request->got)
        return 0;
    memcpy(request->room + request->got, data, bytes);
    request->got += bytes;
    return bytes;
}

static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct s3 *s3 = context;
    (void)down_total, (void)down, (void)up_total, (void)up;
    if (clock_monotonic_ms() - s3->ticked_at_ms < TICK_MS)
        return 0;
    s3->ticked_at_ms = clock_monotonic_ms();
    return objects_tick_now(&s3->base, &s3->tick_error) < 0;
}

static char *hash_line(const struct s3_request *request)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256(hash, request->data, request->size);
    return xasprintf("x-amz-content-sha256: %s",
                     sodium_bin2hex(hex, sizeof hex, hash, sizeof hash));
}

static char *url_of(const struct s3 *s3, const struct s3_request *request)
{
    return xasprintf("%s%s%s%s%s%s", s3->bucket_url, request->key ? "/" : "",
                     request->key ? s3->prefix : "", request->key ? request->key : "",
                     request->query ? "?" : "", request->query ? request->query : "");
}

static void set_connection(struct s3 *s3)
{
    CURL *curl = s3->curl;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MOST_MS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, SLOWEST_BYTES);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STANDSTILL_S);
    curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, s3->signing);
    curl_easy_setopt(curl, CURLOPT_USERNAME, s3->login.id);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, s3->login.secret);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s3);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, s3);
}

static CURLcode transfer(struct s3 *s3, struct s3_request *request)
{
    CURL *curl = s3->curl;
    autofree char *url = url_of(s3, request);
    autofree char *line = hash_line(request);
    char range[64];
    struct curl_slist *headers = curl_slist_append(NULL, line);
    bool has_body = !str_equal(request->method, "GET") && !str_equal(request->method, "DELETE");
    curl_easy_reset(curl); /* connections stay */
    set_connection(s3);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    if (has_body) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->size ? request->data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
    }
    if (request->room) {
        snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)request->offset,
                 (unsigned long long)(request->offset + request->room_size - 1));
        curl_easy_setopt(curl, CURLOPT_RANGE, range);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    request->got = 0;
    buffer_clear(&s3->answer);
    s3->asking = request;
    CURLcode result = curl_easy_perform(curl);
    s3->asking = NULL;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &request->status);
    curl_slist_free_all(headers);
    return result;
}

/* --- results --- */

static void take_tag(struct s3 *s3, struct s3_request *request)
{
    struct curl_header *header;
    request->tag[0] = '\0';
    if (curl_easy_header(s3->curl, "ETag", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
        snprintf(request->tag, sizeof request->tag, "%s", header->value);
}

static enum error_code code_of(const struct s3_request *request, const char *code)
{
    if (request->status == STATUS_NOT_FOUND && !str_equal(code, "NoSuchBucket"))
        return ERR_NOT_FOUND;
    if (request->status == STATUS_STORAGE || strstr(code, "Quota") || strstr(code, "StorageFull"))
        return ERR_INSUFFICIENT_STORAGE;
    return request->status >= 500 || request->status == STATUS_TOO_MANY ? ERR_RUNTIME_UNAVAILABLE
                                                                        : ERR_CONFIG;
}

int s3_refused(struct s3 *s3, const struct s3_request *request, struct error **err)
{
    const char *text = buffer_string(&s3->answer);
    autofree char *code = objects_xml_find(text, "Code");
    autofree char *words = objects_xml_find(text, "Message");
    return error_set(err, code_of(request, code ? code : ""), "the server answered %ld %.*s%s%.*s",
                     request->status, WORDS_MAX, code ? code : "", words ? ": " : "", WORDS_MAX,
                     words ? words : "");
}

static int judge(struct s3 *s3, struct s3_request *request, CURLcode result, struct error **err)
{
    if (s3->tick_error)
        return error_move(err, &s3->tick_error);
    if (result != CURLE_OK)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "cannot connect: %s",
                         curl_easy_strerror(result));
    take_tag(s3, request);
    return request->status / 100 == 2 ? 0 : s3_refused(s3, request, err);
}

/* A refusal is final; storage that is away may come back. */
static bool may_try_again(const struct error *failure)
{
    return failure->code == ERR_RUNTIME_UNAVAILABLE;
}

static int rest(struct s3 *s3, unsigned ms, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + ms;
    while (clock_monotonic_ms() < until_ms) {
        clock_sleep_ms(REST_STEP_MS);
        if (objects_tick_now(&s3->base, err) < 0)
            return -1;
    }
    return 0;
}

int s3_ask(struct s3 *s3, struct s3_request *request, struct error **err)
{
    for (unsigned try = 1;; try++) {
        error_auto failure = NULL;
        if (judge(s3, request, transfer(s3, request), &failure) == 0)
            return 0;
        if (try >= s3->tries || !may_try_again(failure))
            return error_move(err, &failure);
        if (rest(s3, REST_MS << (try - 1), err) < 0)
            return -1;
    }
}

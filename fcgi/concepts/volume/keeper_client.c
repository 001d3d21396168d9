/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "volume/keeper_client.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/instance.h"
#include "base/ipv4.h"
#include "base/mem.h"
#include "crypto/mac.h"
#include "http/client.h"

/* A transfer may take any time as long as bytes move. The other side (the disk, a client) has
 * shorter time limits of its own. */
#define STALLED_S  120
#define ANSWER_MAX ((size_t)8 << 20)
/* Less than the shortest lease of a process that starts a sandbox. */
#define FENCE_TIMEOUT_MS 3000
#define HEAD_VALUE_SIZE  64

struct exchange {
    CURL *curl; /* for the life of the process, so that connections are kept */
    const struct http_link *link;
    const struct keeper_request *request;
    struct keeper_answer *answer;
    char mode[HEAD_VALUE_SIZE], modified_at[HEAD_VALUE_SIZE];
};

void keeper_answer_deinit(struct keeper_answer *answer)
{
    buffer_deinit(&answer->text);
    *answer = (struct keeper_answer){0};
}

int keeper_secret(const struct keyring *ring, const struct keeper *keeper,
                  char secret[KEEPER_SECRET_SIZE], struct error **err)
{
    return mac_hex(ring, keeper->secret_key_id, KEY_PURPOSE_AGENT, keeper->instance_name, secret,
                   err);
}

/* --- callbacks of a transfer --- */

static void take_value(const char *line, size_t size, const char *name, char out[HEAD_VALUE_SIZE])
{
    size_t length = strlen(name);
    if (size <= length || strncasecmp(line, name, length) != 0)
        return;
    line += length + strspn(line + length, " ");
    snprintf(out, HEAD_VALUE_SIZE, "%.*s", (int)strcspn(line, "\r\n"), line);
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    autofree char *line = xstrndup(data, size * count);
    take_value(line, size * count, KEEPER_MODE_HEADER ":", exchange->mode);
    take_value(line, size * count, KEEPER_MODIFIED_AT_HEADER ":", exchange->modified_at);
    return http_link_check_header(data, size, count, exchange->curl);
}

/* Called before the first byte of a download, or after an empty one. */
static int begin_download(struct exchange *exchange)
{
    const struct keeper_download *download = exchange->request->download;
    curl_off_t size = 0;
    curl_easy_getinfo(exchange->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &size);
    exchange->answer->body_begun = true;
    return download->begin(download->context, size > 0 ? (uint64_t)size : 0, exchange->mode,
                           exchange->modified_at);
}

static size_t on_data(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    const struct keeper_download *download = exchange->request->download;
    long status = 0;
    curl_easy_getinfo(exchange->curl, CURLINFO_RESPONSE_CODE, &status);
    if (!download || status != 200)
        return buffer_append(&exchange->answer->text, data, size * count) < 0 ? 0 : size * count;
    if ((!exchange->answer->body_begun && begin_download(exchange) < 0) ||
        download->data(download->context, data, size * count) < 0) {
        exchange->answer->broken = true;
        return 0;
    }
    return size * count;
}

static size_t on_upload(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    const struct keeper_upload *upload = exchange->request->upload;
    exchange->answer->body_begun = true;
    long got = upload->read(upload->context, data, size * count);
    if (got >= 0)
        return (size_t)got;
    exchange->answer->broken = true;
    return CURL_READFUNC_ABORT;
}

/* --- the exchange --- */

static void set_options(struct exchange *exchange, struct curl_slist *headers)
{
    CURL *curl = exchange->curl;
    const struct keeper_request *request = exchange->request;
    if (request->timeout_ms)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)STALLED_S);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    if (request->upload) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(curl, CURLOPT_READDATA, exchange);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->upload->size);
    } else {
        curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L * 1024);
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static int perform(struct exchange *exchange)
{
    long status = 0;
    CURLcode result = curl_easy_perform(exchange->curl);
    status = http_link_status(exchange->link, exchange->curl);
    /* A refusal may come while the body is still being sent, and ends the connection. */
    bool refused_early = status >= 400 && exchange->answer->text.size && !exchange->answer->broken;
    exchange->answer->failure = curl_easy_strerror(result);
    if (result != CURLE_OK && !refused_early)
        return 0;
    if (result == CURLE_OK && exchange->request->download && status == 200 &&
        !exchange->answer->body_begun && begin_download(exchange) < 0)
        return 0;
    return (int)status;
}

int keeper_ask(struct worker *worker, const struct keeper *keeper,
               const struct keeper_request *request, struct keeper_answer *answer,
               struct error **err)
{
    char address[IPV4_TEXT_SIZE], target[IPV4_TEXT_SIZE + 8];
    char secret[KEEPER_SECRET_SIZE], header[128];
    static CURL *kept;
    struct exchange exchange = {.request = request, .answer = answer};
    keeper_answer_deinit(answer);
    buffer_init(&answer->text, ANSWER_MAX);
    if (runtimes_link(worker->runtimes, worker->db, keeper->host_id, &exchange.link, err) < 0 ||
        keeper_secret(worker->ring, keeper, secret, err) < 0)
        return -1;
    snprintf(header, sizeof header, KEEPER_SECRET_HEADER ": %s", secret);
    mem_wipe(secret, sizeof secret);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    headers = curl_slist_append(headers, "Expect:");
    mem_wipe(header, sizeof header);
    snprintf(target, sizeof target, "%s:%d", ipv4_format(keeper->address, address), KEEPER_PORT);
    exchange.curl = http_client_handle(&kept);
    http_link_set(exchange.link, exchange.curl, target, request->path, &headers);
    set_options(&exchange, headers);
    answer->status = perform(&exchange);
    http_client_free_headers(headers);
    return 0;
}

int keeper_fence(struct worker *worker, const struct keeper *keeper, const char *volume_id,
                 uint64_t generation, bool *reached, struct error **err)
{
    autofree char *path =
        xasprintf("/v/%s/fence?generation=%llu", volume_id, (unsigned long long)generation);
    struct keeper_request request = {
        .method = "POST", .path = path, .timeout_ms = FENCE_TIMEOUT_MS};
    keeper_answer_auto answer = {0};
    if (keeper_ask(worker, keeper, &request, &answer, err) < 0)
        return -1;
    *reached = answer.status == 204;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/progress.h"

#define ANSWER_MAX        (64 * 1024 * 1024)
#define CONNECT_TIMEOUT_S 20L
/* A create that starts from the disk, a resume that ends in a start. */
#define ANSWER_TIMEOUT_S 600L
#define SILENCE_MAX_S    300L /* of a download */

static struct curl_slist *local_name(const char *url)
{
    struct curl_slist *resolve = NULL;
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        (!strcasecmp(host, "localhost") || str_ends_with(host, ".localhost"))) {
        autofree char *entry = xasprintf("%s:%s:127.0.0.1", host, port);
        resolve = curl_slist_append(NULL, entry);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return resolve;
}

struct curl_slist *exchange_prepare(const struct cli *cli, CURL *handle, const char *url)
{
    struct curl_slist *resolve = local_name(url);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "sandlot/" PACKAGE_VERSION);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    /* The token is in each request. */
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https");
#else
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
    if (resolve)
        curl_easy_setopt(handle, CURLOPT_RESOLVE, resolve);
    if (cli->ca_file)
        curl_easy_setopt(handle, CURLOPT_CAINFO, cli->ca_file);
    return resolve;
}

int exchange_failed(const struct cli *cli, CURLcode code, const char *url, struct error **err)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        return error_set(err, ERR_CONFIG,
                         "the certificate of %s is not trusted; give the file of its authority "
                         "with --ca, SANDLOT_CA or at `sandlot login`",
                         url);
    case CURLE_SSL_CACERT_BADFILE:
        return error_set(err, ERR_CONFIG, "cannot read the certificates in %s",
                         cli->ca_file ? cli->ca_file : "the folder of the system");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        return error_set(err, ERR_CONFIG, "%s is not an https address", url);
    case CURLE_WRITE_ERROR:
        return error_set(err, ERR_INTERNAL,
                         "cannot take the answer of %s: it cannot be written, or is too long", url);
    case CURLE_READ_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
        return error_set(err, ERR_INTERNAL, "cannot read the data for %s", url);
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the connection to %s broke: %s", url,
                         curl_easy_strerror(code));
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "%s did not answer in time", url);
    default:
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "cannot connect to %s: %s", url,
                         curl_easy_strerror(code));
    }
}

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size *= count;
    long status = 0;
    curl_easy_getinfo(exchange->handle, CURLINFO_RESPONSE_CODE, &status);
    if (exchange->download && status >= 200 && status < 300) {
        exchange->downloaded += (int64_t)size;
        if (exchange->download_max >= 0 && exchange->downloaded > exchange->download_max)
            return 0;
        return fwrite(data, 1, size, exchange->download);
    }
    return buffer_append(&exchange->answer, data, size) == 0 ? size : 0;
}

static const char *header_value(const char *line, const char *name)
{
    size_t length = strlen(name);
    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + strspn(line + length + 1, " \t");
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    autofree char *line = xstrndup(data, size * count);
    line[strcspn(line, "\r\n")] = '\0';
    const char *retry = header_value(line, "retry-after");
    const char *etag = header_value(line, "etag");
    uint64_t seconds;
    if (retry && str_parse_u64(retry, 0, 3600, &seconds) == 0)
        exchange->retry_after_s = (unsigned)seconds;
    if (etag)
        snprintf(exchange->etag, sizeof exchange->etag, "%s", etag);
    return size * count;
}

/* libcurl would send bytes beyond the announced length. */
static size_t on_upload(char *out, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    size_t room = size * count;
    if (exchange->upload_size >= 0 && (int64_t)room > exchange->upload_size - exchange->uploaded)
        room = (size_t)(exchange->upload_size - exchange->uploaded);
    size_t given = room ? fread(out, 1, room, exchange->upload) : 0;
    exchange->uploaded += (int64_t)given;
    return ferror(exchange->upload) ? CURL_READFUNC_ABORT : given;
}

static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    const struct exchange *exchange = context;
    int64_t from = exchange->shown_from;
    (void)up_total; /* the library says none */
    if (exchange->upload)
        progress_show(exchange->shown, from + up, exchange->shown_size);
    else
        progress_show(exchange->shown, from + down, down_total > 0 ? from + down_total : 0);
    return 0;
}

static void set_body(struct exchange *exchange, CURL *handle)
{
    if (exchange->upload) {
        curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(handle, CURLOPT_READDATA, exchange);
        curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)exchange->upload_size);
    } else if (exchange->body) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, exchange->body);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body_size);
    } else if (str_equal(exchange->method, "HEAD")) {
        curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    } else if (!str_equal(exchange->method, "GET") && !str_equal(exchange->method, "DELETE")) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, 0L);
    }
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, exchange->method);
}

static struct curl_slist *make_headers(const struct exchange *exchange)
{
    /* No waiting for "100 Continue": it costs a second where the other side does not know it. */
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; i < EXCHANGE_HEADERS_MAX && exchange->headers[i]; i++)
        headers = curl_slist_append(headers, exchange->headers[i]);
    return headers;
}

int exchange_run(struct cli *cli, struct exchange *exchange, struct error **err)
{
    if (!cli->curl)
        cli->curl = curl_easy_init();
    CURL *handle = exchange->handle = cli->curl;
    curl_easy_reset(handle);
    buffer_deinit(&exchange->answer);
    buffer_init(&exchange->answer, ANSWER_MAX);
    struct curl_slist *resolve = exchange_prepare(cli, handle, exchange->url);
    struct curl_slist *headers = make_headers(exchange);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
    if (!exchange->upload && !exchange->download)
        curl_easy_setopt(handle, CURLOPT_TIMEOUT, ANSWER_TIMEOUT_S);
    else if (exchange->download) {
        curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, SILENCE_MAX_S);
    }
    if (exchange->shown) {
        curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(handle, CURLOPT_XFERINFODATA, exchange);
    }
    set_body(exchange, handle);
    CURLcode code = curl_easy_perform(handle);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &exchange->status);
    curl_off_t length = -1;
    curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    exchange->length = length;
    if (exchange->shown)
        progress_end();
    curl_easy_reset(handle);
    curl_slist_free_all(resolve);
    curl_slist_free_all(headers);
    if (exchange->download_max >= 0 && exchange->downloaded > exchange->download_max)
        return error_set(err, ERR_INTERNAL, "%s has sent more bytes than the file's size",
                         exchange->url);
    return code == CURLE_OK ? 0 : exchange_failed(cli, code, exchange->url, err);
}

void exchange_free(struct exchange *exchange)
{
    buffer_deinit(&exchange->answer);
}

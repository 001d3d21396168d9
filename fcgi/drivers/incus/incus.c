/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connection and its requests. */
#include "incus/incus.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "base/trace.h"
#include "incus/incus_internal.h"

#define CONNECT_TIMEOUT_MS 5000
/* curl looks in about once a second while nothing moves. */
#define TICK_INTERVAL_MS 500
#define IDLE_STEP_MS     250

#define ANSWER_MAX_LARGE ((size_t)128 << 20)

/* Call tick() if it is time. */
static int tick_if_due(struct incus *incus, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!incus->options.tick || now_ms - incus->ticked_at_ms < TICK_INTERVAL_MS)
        return 0;
    incus->ticked_at_ms = now_ms;
    return incus->options.tick(incus->options.tick_context, err);
}

static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct incus *incus = context;
    (void)down_total, (void)down, (void)up_total, (void)up;
    if (incus->tick_error)
        return 1;
    return tick_if_due(incus, &incus->tick_error) ? 1 : 0;
}

static size_t on_data(char *data, size_t size, size_t count, void *context)
{
    struct incus *incus = context;
    long status = 0;
    if (incus->sink)
        curl_easy_getinfo(incus->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status == 200)
        return fwrite(data, 1, size * count, incus->sink);
    return buffer_append(&incus->answer, data, size * count) ? 0 : size * count;
}

/* A file that breaks off is no file that ends. */
static size_t on_read(char *data, size_t size, size_t count, void *context)
{
    FILE *from = context;
    size_t got = fread(data, 1, size * count, from);
    return ferror(from) ? CURL_READFUNC_ABORT : got;
}

/* --- opening --- */

static void set_tls_options(const struct incus *incus, CURL *curl)
{
    const struct incus_options *options = &incus->options;
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    curl_easy_setopt(curl, CURLOPT_SSLCERT, options->client_cert_file);
    curl_easy_setopt(curl, CURLOPT_SSLKEY, options->client_key_file);
    if (options->server_cert) {
        struct curl_blob pem = {
            .data = (void *)(uintptr_t)options->server_cert,
            .len = strlen(options->server_cert),
            .flags = CURL_BLOB_NOCOPY,
        };
        /* Incus signs its own certificate, with the host's name of the day it was made. We trust
         * that one certificate and no authority, so the server that completes the handshake has its
         * key. Checking the name would add nothing, and would break hosts that are called by
         * address. */
        curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &pem);
        curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
        curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

void incus_set_connection(const struct incus *incus, CURL *curl)
{
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    if (incus->socket_path)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, incus->socket_path);
    else
        set_tls_options(incus, curl);
}

static void set_request_options(struct incus *incus)
{
    CURL *curl = incus->curl;
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, incus);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, incus);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, incus->headers);
}

static int check_url(struct incus *incus, struct error **err)
{
    const char *url = incus->options.url;
    size_t length = url ? strlen(url) : 0;
    if (url && str_starts_with(url, "unix:///")) {
        incus->socket_path = xstrdup(url + strlen("unix://"));
        incus->base = xstrdup("http://incus");
        return 0;
    }
    if (!url || !str_starts_with(url, "https://") || length == strlen("https://"))
        return error_set(err, ERR_CONFIG,
                         "%s is not an address of Incus; write unix:///path or https://host",
                         url ? url : "(nothing)");
    if (!incus->options.client_cert_file || access(incus->options.client_cert_file, R_OK) != 0 ||
        !incus->options.client_key_file || access(incus->options.client_key_file, R_OK) != 0)
        return error_set(err, ERR_CONFIG,
                         "cannot connect to Incus at %s: set incus_client_cert_file and "
                         "incus_client_key_file to files that this program can read",
                         url);
    while (url[length - 1] == '/')
        length--;
    incus->base = xstrndup(url, length);
    return 0;
}

static void initialise_curl(void)
{
    static bool done;
    if (!done)
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_free_wiped, mem_realloc_wiped, strdup,
                             calloc);
    done = true;
}

int incus_open(const struct incus_options *options, struct incus **out, struct error **err)
{
    struct incus *incus = xcalloc(1, sizeof *incus);
    incus->options = (struct incus_options){
        .url = xstrdup_or_null(options->url),
        .project = xstrdup(options->project ? options->project : "default"),
        .server_cert = xstrdup_or_null(options->server_cert),
        .client_cert_file = xstrdup_or_null(options->client_cert_file),
        .client_key_file = xstrdup_or_null(options->client_key_file),
        .tick = options->tick,
        .tick_context = options->tick_context,
    };
    buffer_init(&incus->answer, INCUS_ANSWER_MAX);
    if (check_url(incus, err) < 0) {
        incus_close(incus);
        return -1;
    }
    initialise_curl();
    incus->curl = curl_easy_init();
    incus->headers = curl_slist_append(NULL, "Content-Type: application/json");
    /* No "Expect: 100-continue", which would cost large orders a second. */
    incus->headers = curl_slist_append(incus->headers, "Expect:");
    if (!incus->curl || !incus->headers) {
        incus_close(incus);
        return error_set(err, ERR_CONFIG, "libcurl cannot be initialised");
    }
    incus_set_connection(incus, incus->curl);
    set_request_options(incus);
    *out = incus;
    return 0;
}

void incus_close(struct incus *incus)
{
    if (!incus)
        return;
    if (incus->curl)
        curl_easy_cleanup(incus->curl);
    curl_slist_free_all(incus->headers);
    buffer_deinit(&incus->answer);
    error_clear(&incus->tick_error);
    free(incus->socket_path);
    free(incus->base);
    free(incus->member);
    free((char *)(uintptr_t)incus->options.url);
    free((char *)(uintptr_t)incus->options.project);
    free((char *)(uintptr_t)incus->options.server_cert);
    free((char *)(uintptr_t)incus->options.client_cert_file);
    free((char *)(uintptr_t)incus->options.client_key_file);
    free(incus);
}

enum incus_error incus_last_error(const struct incus *incus)
{
    return incus->last_error;
}

unsigned incus_orders_sent(const struct incus *incus)
{
    return incus->orders_sent;
}

/* --- one request --- */

static char *escape(struct incus *incus, const char *text)
{
    char *escaped = curl_easy_escape(incus->curl, text, 0);
    char *copy = escaped ? xstrdup(escaped) : xstrdup("");
    curl_free(escaped);
    return copy;
}

char *incus_path(struct incus *incus, const char *collection, const char *name)
{
    autofree char *escaped = escape(incus, name);
    return xasprintf("/1.0/%s/%s", collection, escaped);
}

static char *url_of(struct incus *incus, const struct incus_request *request)
{
    if (request->outside_project)
        return xasprintf("%s%s", incus->base, request->path);
    autofree char *project = escape(incus, incus->options.project);
    autofree char *member = escape(incus, request->places ? incus->member : "");
    return xasprintf("%s%s%cproject=%s%s%s", incus->base, request->path,
                     strchr(request->path, '?') ? '&' : '?', project, *member ? "&target=" : "",
                     member);
}

static enum incus_reach transport_failure(struct incus *incus, CURLcode result, struct error **err)
{
    long sent = 0;
    if (result == CURLE_ABORTED_BY_CALLBACK && incus->tick_error) {
        error_move(err, &incus->tick_error);
        return INCUS_NO_ANSWER;
    }
    /* Bytes of a request, also when curl found its kept connection dead, sent the request again
     * and then could not connect: the first one may have been read. */
    curl_easy_getinfo(incus->curl, CURLINFO_REQUEST_SIZE, &sent);
    if (sent == 0) {
        error_set(err, ERR_RUNTIME_UNAVAILABLE, "cannot connect to Incus at %s: %s",
                  incus->options.url, curl_easy_strerror(result));
        return INCUS_NOT_SENT;
    }
    error_set(err, ERR_OUTCOME_UNKNOWN, "the connection to Incus at %s ended without an answer: %s",
              incus->options.url,
              buffer_overflowed(&incus->answer) ? "the answer is too large"
                                                : curl_easy_strerror(result));
    return INCUS_NO_ANSWER;
}

static void set_body(CURL *curl, const struct incus_request *request, const char *body)
{
    bool file = request->to || request->from;
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, file ? 0L : (long)request->timeout_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, file ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, file ? (long)request->timeout_s : 0L);
    if (body || request->data) {
        const char *bytes = body ? body : request->data;
        size_t size = body ? strlen(body) : request->data_size;
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, bytes);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    } else if (request->from) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_READDATA, request->from);
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->from_size);
    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    }
}

enum incus_reach incus_exchange(struct incus *incus, const struct incus_request *request,
                                json_t **document, struct error **err)
{
    autofree char *url = url_of(incus, request);
    autofree char *body = NULL;
    CURL *curl = incus->curl;
    if (request->body) {
        body = json_dumps(request->body, JSON_COMPACT);
        if (!body)
            panic("out of memory");
    }
    buffer_deinit(&incus->answer);
    buffer_init(&incus->answer, request->answer_max);
    incus->last_error = INCUS_ERROR_NONE;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    incus->sink = request->to;
    set_body(curl, request, body);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    struct curl_slist *headers = request->data_headers ? request->data_headers : incus->headers;
    struct curl_slist traced = {.data = (char *)trace_header(), .next = headers};
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, traced.data ? &traced : headers);
    CURLcode result = curl_easy_perform(curl);
    /* The kept connection was dead, as after a cable was cut. An incompletely sent request has no
     * effect, and curl has closed that connection. */
    if (result == CURLE_SEND_ERROR && !request->from && !incus->answer.size)
        result = curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, incus->headers);
    incus->sink = NULL;
    if (result != CURLE_OK)
        return transport_failure(incus, result, err);

    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if ((request->text || request->to) && status == 200)
        return INCUS_ANSWERED;
    *document = json_loadb(buffer_string(&incus->answer), incus->answer.size, 0, NULL);
    if (!*document) {
        error_set(err, ERR_OUTCOME_UNKNOWN, "Incus at %s answered a text that is not JSON",
                  incus->options.url);
        return INCUS_NO_ANSWER;
    }
    return INCUS_ANSWERED;
}

/* --- reads and orders --- */

/* Set last_error and *err from an error answer. Returns -1. */
static int refused(struct incus *incus, const struct incus_answer *answer, struct error **err)
{
    incus->last_error = incus_error_of(answer->code, answer->error);
    return incus_error_set(err, incus->last_error, answer->error);
}

static int read_answer(struct incus *incus, json_t *document, struct incus_answer *answer,
                       struct error **err)
{
    if (incus_answer_read(document, answer) < 0)
        return error_set(err, ERR_OUTCOME_UNKNOWN,
                         "Incus at %s answered a JSON document of an unknown form",
                         incus->options.url);
    if (answer->type == INCUS_ANSWER_ERROR)
        return refused(incus, answer, err);
    return 0;
}

/* *document stays NULL for a text. */
static int read_path(struct incus *incus, const char *path, size_t answer_max, bool text,
                     json_t **document, struct incus_answer *answer, struct error **err)
{
    struct incus_request request = {
        .method = "GET",
        .path = path,
        .timeout_s = INCUS_REQUEST_TIMEOUT_S,
        .answer_max = answer_max,
        .text = text,
    };
    enum incus_reach reach = incus_exchange(incus, &request, document, err);
    if (reach == INCUS_ANSWERED && !*document)
        return 0;
    if (reach != INCUS_ANSWERED || read_answer(incus, *document, answer, err) < 0) {
        /* Nothing was ordered, so nothing is unknown. */
        if ((*err)->code == ERR_OUTCOME_UNKNOWN)
            error_recode(err, ERR_RUNTIME_UNAVAILABLE);
        return -1;
    }
    return 0;
}

static int get(struct incus *incus, const char *path, size_t answer_max, json_t **metadata,
               struct error **err)
{
    struct incus_answer answer;
    json_auto_t *document = NULL;
    if (read_path(incus, path, answer_max, false, &document, &answer, err) < 0)
        return -1;
    *metadata = json_incref(answer.metadata);
    return 0;
}

int incus_get_text(struct incus *incus, const char *path, size_t answer_max, const char **text,
                   struct error **err)
{
    struct incus_answer answer;
    json_auto_t *document = NULL;
    if (read_path(incus, path, answer_max, true, &document, &answer, err) < 0)
        return -1;
    *text = buffer_string(&incus->answer);
    return 0;
}

int incus_get(struct incus *incus, const char *path, json_t **metadata, struct error **err)
{
    return get(incus, path, INCUS_ANSWER_MAX, metadata, err);
}

int incus_get_large(struct incus *incus, const char *path, json_t **metadata, struct error **err)
{
    return get(incus, path, ANSWER_MAX_LARGE, metadata, err);
}

int incus_find_member(struct incus *incus, struct error **err)
{
    json_auto_t *server = NULL;
    if (incus->member)
        return 0;
    if (incus_get(incus, "/1.0", &server, err) < 0)
        return -1;
    const json_t *environment = json_object_get(server, "environment");
    bool is_member = json_is_true(json_object_get(environment, "server_clustered"));
    incus->member = xstrdup(is_member ? incus_string(environment, "server_name") : "");
    return 0;
}

int incus_architecture(struct incus *incus, char **architecture, struct error **err)
{
    json_auto_t *server = NULL;
    const char *text;
    if (incus_get(incus, "/1.0", &server, err) < 0)
        return -1;
    if (json_unpack(server, "{s:{s:s}}", "environment", "kernel_architecture", &text) < 0)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "Incus does not show its architecture to this client: check that Incus "
                         "trusts the client's certificate (`incus config trust list`)");
    *architecture = xstrdup(text);
    return 0;
}

/* A cluster puts a new instance on the member with the fewest; each member is a host of its own
 * here. */
int incus_order_begin(struct incus *incus, const struct incus_request *request, json_t **document,
                      struct incus_answer *answer, struct error **err)
{
    if (request->places && incus_find_member(incus, err) < 0)
        return -1;
    enum incus_reach reach = incus_exchange(incus, request, document, err);
    if (reach != INCUS_ANSWERED || read_answer(incus, *document, answer, err) < 0) {
        if ((*err)->code != ERR_RUNTIME_UNAVAILABLE)
            incus->orders_sent++;
        return -1;
    }
    incus->orders_sent++;
    return 0;
}

int incus_order_request(struct incus *incus, const struct incus_request *request, unsigned most_s,
                        struct error **err)
{
    struct incus_answer answer;
    json_auto_t *document = NULL;
    if (incus_order_begin(incus, request, &document, &answer, err) < 0)
        return -1;
    if (answer.type == INCUS_ANSWER_ASYNC)
        return incus_operation_wait(incus, answer.operation, most_s, err);
    return 0;
}

static struct incus_request order_of(const char *method, const char *path, json_t *body)
{
    return (struct incus_request){
        .method = method,
        .path = path,
        .body = body,
        .timeout_s = INCUS_REQUEST_TIMEOUT_S,
        .answer_max = INCUS_ANSWER_MAX,
    };
}

int incus_order_within(struct incus *incus, const char *method, const char *path, json_t *body,
                       unsigned most_s, struct error **err)
{
    struct incus_request request = order_of(method, path, body);
    return incus_order_request(incus, &request, most_s, err);
}

int incus_order_new(struct incus *incus, const char *path, json_t *body, struct error **err)
{
    struct incus_request request = order_of("POST", path, body);
    request.places = true;
    return incus_order_request(incus, &request, INCUS_ORDER_MOST_S, err);
}

int incus_order(struct incus *incus, const char *method, const char *path, json_t *body,
                struct error **err)
{
    return incus_order_within(incus, method, path, body, INCUS_ORDER_MOST_S, err);
}

int incus_drop(struct incus *incus, const char *path, struct error **err)
{
    if (incus_order(incus, "DELETE", path, NULL, err) == 0)
        return 0;
    return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
}

int incus_instance_push(struct incus *incus, const char *name, const struct incus_file *file,
                        struct error **err)
{
    autofree char *instance = incus_path(incus, "instances", name);
    autofree char *escaped = escape(incus, file->path);
    autofree char *path = xasprintf("%s/files?path=%s", instance, escaped);
    autofree char *type = xasprintf("X-Incus-type: %s", file->is_directory ? "directory" : "file");
    autofree char *mode = xasprintf("X-Incus-mode: %04o", file->mode);
    struct incus_request request = {
        .method = "POST",
        .path = path,
        .data = file->data ? file->data : "",
        .data_size = file->size,
        .timeout_s = INCUS_REQUEST_TIMEOUT_S,
        .answer_max = INCUS_ANSWER_MAX,
    };
    /* Of another type it would be taken for a form. */
    request.data_headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    request.data_headers = curl_slist_append(request.data_headers, "Expect:");
    request.data_headers = curl_slist_append(request.data_headers, type);
    request.data_headers = curl_slist_append(request.data_headers, mode);
    int result = incus_order_request(incus, &request, INCUS_ORDER_MOST_S, err);
    curl_slist_free_all(request.data_headers);
    return result;
}

int incus_idle(struct incus *incus, unsigned wait_ms, struct error **err)
{
    int64_t end_ms = clock_monotonic_ms() + wait_ms;
    for (;;) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0)
            return 0;
        clock_sleep_ms(left_ms < IDLE_STEP_MS ? (unsigned)left_ms : IDLE_STEP_MS);
        if (tick_if_due(incus, err) < 0)
            return -1;
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/webhooks.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/client.h"
#include "webhook/webhook_e2b.h"

#define CONNECT_WAIT_MS 5000L
#define ANSWER_WAIT_MS  10000L
#define ANSWER_MAX      65536 /* bytes of an answer that are read and dropped */

/* --- the address --- */

bool sending_read_address(const struct sockaddr *from, char text[INET6_ADDRSTRLEN],
                          struct policy_address *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    const void *bytes = &v6->sin6_addr;
    int family = from->sa_family;
    if (family == AF_INET)
        bytes = &((const struct sockaddr_in *)from)->sin_addr;
    else if (family != AF_INET6)
        return false;
    else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        family = AF_INET;
        bytes = v6->sin6_addr.s6_addr + 12;
    }
    return inet_ntop(family, bytes, text, INET6_ADDRSTRLEN) &&
           policy_address_parse(text, address) == 0;
}

/* Connect only to an address that is allowed. libcurl connects to exactly this address, so a
 * changed name cannot redirect it. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *target)
{
    struct sending *sending = context;
    struct policy_address address;
    char text[INET6_ADDRSTRLEN];
    (void)purpose;
    sending->refused = "it is not an address of the internet";
    if (sending_read_address(&target->addr, text, &address))
        sending->refused = protected_reason(sending->networks, &address);
    if (ntohs(((const struct sockaddr_in *)&target->addr)->sin_port) == WEBHOOK_MAIL_PORT)
        sending->refused = "port 25 is for mail";
    if (sending->refused)
        return CURL_SOCKET_BAD;
    return socket(target->family, target->socktype | SOCK_CLOEXEC, target->protocol);
}

static size_t drop(char *data, size_t size, size_t count, void *context)
{
    struct sending *sending = context;
    (void)data;
    sending->received += size * count;
    return sending->received > ANSWER_MAX ? 0 : size * count;
}

/* --- the request --- */

static void add_header(struct sending *sending, const char *name, const char *value)
{
    autofree char *line = xasprintf("%s: %s", name, value);
    sending->headers = curl_slist_append(sending->headers, line);
}

/* Sign in the form that E2B's clients check. */
static void sign_e2b(struct sending *sending, const struct webhook_secrets *secrets)
{
    const struct webhook_message *message = &sending->message;
    char signature[WEBHOOK_E2B_SIGNATURE_SIZE];
    webhook_e2b_sign(secrets, message->body, signature);
    add_header(sending, "e2b-webhook-id", message->webhook_id);
    add_header(sending, "e2b-delivery-id", message->message_id);
    add_header(sending, "e2b-signature-version", "v1");
    add_header(sending, "e2b-signature", signature);
}

static void sign(struct sending *sending, const struct webhook_secrets *secrets)
{
    const struct webhook_message *message = &sending->message;
    char signatures[WEBHOOK_SIGNATURES_SIZE];
    int64_t at_s = clock_now_ms() / 1000;
    autofree char *timestamp = xasprintf("%" PRId64, at_s);
    webhook_sign(secrets, message->message_id, at_s, message->body, signatures);
    add_header(sending, "webhook-id", message->message_id);
    add_header(sending, "webhook-timestamp", timestamp);
    add_header(sending, "webhook-signature", signatures);
}

static void add_headers(struct sending *sending, const struct webhook_secrets *secrets,
                        enum webhook_form form)
{
    add_header(sending, "Content-Type", "application/json");
    if (form == WEBHOOK_E2B && secrets->count)
        sign_e2b(sending, secrets);
    else
        sign(sending, secrets);
    add_header(sending, "User-Agent", "sandlot-webhooks/1");
    sending->headers = curl_slist_append(sending->headers, "Expect:");
}

static void set_options(struct sending *sending, const char *url)
{
    CURL *easy = sending->easy;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_WAIT_MS);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ANSWER_WAIT_MS);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, sending);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, sending);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_client_bound_headers);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, easy);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, sending->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)strlen(sending->message.body));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, sending->message.body);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, sending);
}

static bool is_address(const char *host)
{
    struct in_addr v4;
    return *host == '[' || inet_pton(AF_INET, host, &v4) == 1;
}

/* Read host and port of the URL. libcurl itself refuses a wrong URL later. */
static void read_host(struct sending *sending, const char *url)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        !is_address(host)) {
        sending->host = xstrdup(host);
        sending->port = xstrdup(port);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

int sending_begin(struct sending *sending, const struct webhook_secrets *secrets,
                  const struct webhook *webhook, struct error **err)
{
    add_headers(sending, secrets, webhook->form);
    sending->easy = curl_easy_init();
    if (!sending->easy)
        return error_set(err, ERR_INTERNAL, "cannot create a libcurl handle");
    set_options(sending, webhook->url);
    read_host(sending, webhook->url);
    sending->named_by = deadline_in_ms(CONNECT_WAIT_MS);
    return 0;
}

/* Give libcurl the addresses. Otherwise it would look the name up itself, and wait for its own
 * thread after the time-out. */
static void set_addresses(struct sending *sending, const char *addresses)
{
    autofree char *line = xasprintf("+%s:%s:%s", sending->host, sending->port, addresses);
    sending->resolved = curl_slist_append(NULL, line);
    curl_easy_setopt(sending->easy, CURLOPT_RESOLVE, sending->resolved);
}

static CURLcode hand_over(struct sending *sending, CURLM *multi, bool *begun)
{
    *begun = curl_multi_add_handle(multi, sending->easy) == CURLM_OK;
    return *begun ? CURLE_OK : CURLE_FAILED_INIT;
}

CURLcode sending_connect(struct sending *sending, struct webhook_names *names, const char *team_id,
                         CURLM *multi, bool *begun)
{
    const char *text = NULL;
    *begun = false;
    if (!sending->host)
        return hand_over(sending, multi, begun);
    switch (webhook_names_find(names, team_id, sending->host, &text)) {
    case WEBHOOK_NAME_FOUND:
        set_addresses(sending, text);
        return hand_over(sending, multi, begun);
    case WEBHOOK_NAME_FAILED:
        return CURLE_COULDNT_RESOLVE_HOST;
    case WEBHOOK_NAME_WAITS:
        break;
    }
    return deadline_passed(sending->named_by) ? CURLE_OPERATION_TIMEDOUT : CURLE_OK;
}

/* --- the result --- */

static void say(struct sending *sending, CURLcode result, long status)
{
    struct webhook_message *message = &sending->message;
    char *out = message->last_error;
    size_t size = sizeof message->last_error;
    if (sending->refused)
        snprintf(out, size, "the address is not allowed: %s", sending->refused);
    else if (result == CURLE_WRITE_ERROR)
        snprintf(out, size, "the answer is too long");
    else if (result == CURLE_COULDNT_RESOLVE_HOST)
        snprintf(out, size, "the host name has no address");
    else if (result != CURLE_OK) /* the same text for an open, closed or filtered port */
        snprintf(out, size,
                 "no HTTP answer: the connection failed, the certificate is not valid, or the "
                 "answer timed out");
    else if (status >= 300 && status < 400)
        snprintf(out, size, "the answer is a redirect, which sandlot does not follow");
    else
        snprintf(out, size, "the answer is not 2xx");
}

void sending_judge(struct sending *sending, CURLcode result)
{
    struct webhook_message *message = &sending->message;
    long status = 0;
    curl_easy_getinfo(sending->easy, CURLINFO_RESPONSE_CODE, &status);
    message->attempts++;
    message->last_status = status > 0 ? (unsigned)status : 0;
    message->last_error[0] = '\0';
    if (result == CURLE_OK && status >= 200 && status < 300) {
        message->state = MESSAGE_DELIVERED;
        return;
    }
    say(sending, result, status);
    bool is_test = !strcmp(message->kind, WEBHOOK_TEST_KIND);
    int64_t wait_ms = is_test ? 0 : webhook_retry_ms(message->attempts);
    message->state = wait_ms ? MESSAGE_WAITING : MESSAGE_DEAD;
    message->next_at_ms = clock_now_ms() + wait_ms;
}

void sending_free(struct sending *sending, CURLM *multi)
{
    if (sending->easy) {
        curl_multi_remove_handle(multi, sending->easy);
        curl_easy_cleanup(sending->easy);
    }
    curl_slist_free_all(sending->headers);
    curl_slist_free_all(sending->resolved);
    free(sending->host);
    free(sending->port);
    free(sending->message.body);
    free(sending);
}

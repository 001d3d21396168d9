/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "webhook/webhook.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "crypto/mac.h"

const char *const webhook_form_names[WEBHOOK_FORM_COUNT] = {
    [WEBHOOK_STANDARD] = "standard", [WEBHOOK_E2B] = "e2b"};
const char *const webhook_message_state_names[MESSAGE_STATE_COUNT] = {
    [MESSAGE_WAITING] = "waiting", [MESSAGE_DEAD] = "dead", [MESSAGE_DELIVERED] = "delivered"};

static bool is_plain(const char *url)
{
    size_t length = strlen(url);
    for (size_t i = 0; i < length; i++)
        if (url[i] <= ' ' || url[i] > '~')
            return false;
    return length <= WEBHOOK_URL_MAX;
}

static bool has_part(CURLU *parsed, CURLUPart part)
{
    char *value = NULL;
    bool has = curl_url_get(parsed, part, &value, 0) == CURLUE_OK && value && *value;
    curl_free(value);
    return has;
}

/* A mail server would read a request as commands of its own protocol. */
static bool is_mail_port(const char *url)
{
    CURLU *parsed = curl_url();
    char *port = NULL;
    bool is_mail = parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                   curl_url_get(parsed, CURLUPART_PORT, &port, 0) == CURLUE_OK &&
                   strtoul(port, NULL, 10) == WEBHOOK_MAIL_PORT;
    curl_free(port);
    curl_url_cleanup(parsed);
    return is_mail;
}

static bool is_target(const char *url)
{
    CURLU *parsed = curl_url();
    bool good = (str_starts_with(url, "https://") || str_starts_with(url, "http://")) &&
                is_plain(url) && parsed &&
                curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                has_part(parsed, CURLUPART_HOST) && !has_part(parsed, CURLUPART_USER) &&
                !has_part(parsed, CURLUPART_PASSWORD) && !has_part(parsed, CURLUPART_FRAGMENT);
    curl_url_cleanup(parsed);
    return good;
}

int webhook_check_url(const char *url, const char *pointer, struct error **err)
{
    if (is_target(url) && is_mail_port(url))
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "A webhook cannot have port %d, which is for mail.",
                               WEBHOOK_MAIL_PORT);
    if (is_target(url))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A webhook needs an address with https:// or http:// and a host, of at "
                           "most %d characters, without user, password or fragment.",
                           WEBHOOK_URL_MAX);
}

char *webhook_body(const struct event *event)
{
    char at[CLOCK_ISO8601_SIZE];
    json_auto_t *body =
        json_pack("{s:s, s:s, s:o}", "type", event_kind_names[event->kind], "timestamp",
                  clock_format_iso8601(event->at_ms, at), "data", event_to_json(event));
    char *text = json_dumps(body, JSON_COMPACT);
    if (text && strlen(text) <= WEBHOOK_BODY_MAX)
        return text;
    free(text);
    return NULL;
}

void webhook_sign(const struct webhook_secrets *secrets, const char *message_id, int64_t at_s,
                  const char *body, char signatures[WEBHOOK_SIGNATURES_SIZE])
{
    autofree char *text = xasprintf("%s.%" PRId64 ".%s", message_id, at_s, body);
    signatures[0] = '\0';
    for (unsigned i = 0; i < secrets->count; i++) {
        unsigned char mac[EVP_MAX_MD_SIZE];
        char encoded[BASE64_PADDED_SIZE(32)];
        unsigned size = 0;
        size_t used = strlen(signatures);
        if (!HMAC(EVP_sha256(), secrets->keys[i], (int)secrets->sizes[i], (unsigned char *)text,
                  strlen(text), mac, &size))
            panic("libcrypto has no HMAC-SHA-256");
        base64_encode(mac, size, encoded);
        snprintf(signatures + used, WEBHOOK_SIGNATURES_SIZE - used, "%sv1,%s", i ? " " : "",
                 encoded);
    }
}

void webhook_messages_free(struct webhook_message *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(list[i].body);
    free(list);
}

int64_t webhook_retry_ms(unsigned attempts)
{
    static const int64_t waits_s[] = {5, 30, 300, 1800, 7200, 18000, 28800, 28800};
    return attempts - 1 < ARRAY_SIZE(waits_s) ? waits_s[attempts - 1] * 1000 : 0;
}

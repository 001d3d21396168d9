/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sodium.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ssh/session/session.h"
#include "ssh/wire.h"

#define TRIES_MAX          20
#define ANSWER_WAIT_MS     15000
#define FINGERPRINT_SIZE   64
#define CERTIFICATE_SUFFIX "-cert-v01@openssh.com"

void take_end(struct session *session, const json_t *message)
{
    const char *why = json_string_value(json_object_get(message, "end"));
    if (why && !session->end_reason)
        session->end_reason = xstrdup(why);
}

int ask(struct session *session, json_t *question, json_t **answer, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + ANSWER_WAIT_MS;
    if (wire_send(WIRE_FD, question, err) < 0)
        return -1;
    for (;;) {
        int64_t left_ms = until_ms - clock_monotonic_ms();
        int rc = left_ms > 0 ? wire_receive(WIRE_FD, (int)left_ms, answer, err) : 0;
        if (rc < 0)
            return -1;
        if (rc == 0)
            return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                             "sandlot does not answer; try again later.");
        if (!json_object_get(*answer, "end"))
            return 0;
        take_end(session, *answer);
        json_decref(*answer);
    }
}

static int fingerprint_of(ssh_key key, char fingerprint[FINGERPRINT_SIZE])
{
    unsigned char *hash = NULL;
    size_t size;
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) < 0)
        return -1;
    sodium_bin2base64(fingerprint, FINGERPRINT_SIZE, hash, size,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    ssh_clean_pubkey_hash(&hash);
    return 0;
}

static bool is_certificate(ssh_key key)
{
    const char *type = ssh_key_type_to_char(ssh_key_type(key));
    return type && str_ends_with(type, CERTIFICATE_SUFFIX);
}

/* Make a question about a key or a certificate. sandlot-ssh checks the whole certificate itself. */
static json_t *question_of(const char *what, ssh_key key)
{
    char fingerprint[FINGERPRINT_SIZE], *certificate = NULL;
    if (!key)
        return NULL;
    if (!is_certificate(key))
        return fingerprint_of(key, fingerprint) < 0
                   ? NULL
                   : json_pack("{s:s, s:s}", "ask", what, "fingerprint", fingerprint);
    if (ssh_pki_export_pubkey_base64(key, &certificate) != SSH_OK)
        return NULL;
    json_t *question = json_pack("{s:s, s:s}", "ask", what, "certificate", certificate);
    ssh_string_free_char(certificate);
    return question;
}

static bool is_known(struct session *session, ssh_key key)
{
    json_auto_t *answer = NULL;
    error_auto err = NULL;
    json_t *question = question_of("key", key);
    return question && ask(session, question, &answer, &err) == 0 &&
           json_is_true(json_object_get(answer, "known"));
}

/* Sign the user in. The client has already proved that it owns the private key. */
static bool log_in(struct session *session, ssh_key key, const char *user)
{
    json_auto_t *answer = NULL;
    error_auto err = NULL;
    json_t *question = question_of("login", key);
    if (!question || ask(session, question, &answer, &err) < 0)
        return false;
    json_t *token = json_object_get(answer, "token");
    if (!json_is_string(token))
        return false;
    session->setting.key = xstrdup(json_string_value(token));
    mem_wipe((char *)json_string_value(token), json_string_length(token));
    session->allows_terminals = json_is_true(json_object_get(answer, "terminals"));
    session->allows_ports = json_is_true(json_object_get(answer, "ports"));
    target_parse(user, &session->target, &session->target_error);
    session->authenticated = true;
    return true;
}

static void refuse(ssh_message message)
{
    ssh_message_auth_set_methods(message, SSH_AUTH_METHOD_PUBLICKEY);
    ssh_message_reply_default(message);
}

static void try_key(struct session *session, ssh_message message)
{
    const char *user = ssh_message_auth_user(message);
    ssh_key key = ssh_message_auth_pubkey(message);
    int state = ssh_message_auth_publickey_state(message);
    if (++session->tries > TRIES_MAX)
        session->over = true;
    if (user && state == SSH_PUBLICKEY_STATE_NONE && is_known(session, key))
        ssh_message_auth_reply_pk_ok_simple(message);
    else if (user && state == SSH_PUBLICKEY_STATE_VALID && log_in(session, key, user))
        ssh_message_auth_reply_success(message, 0);
    else
        refuse(message);
}

void authenticate(struct session *session, ssh_message message)
{
    if (session->authenticated || ssh_message_subtype(message) != SSH_AUTH_METHOD_PUBLICKEY)
        refuse(message);
    else
        try_key(session, message);
}

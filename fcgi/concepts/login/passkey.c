/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/passkey.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "login/passkey_row.h"

#define SEALED_AS "passkey challenge"
#define PLAIN_MAX 256
#define SIGN_IN   "-" /* in place of the id of a sign-in that adds a passkey */

/* --- challenges --- */

struct memory {
    int64_t made_at_ms;
    char challenge[BASE64_SIZE(PASSKEY_CHALLENGE_LEN)];
    char login_id[ID_SIZE]; /* that adds a passkey, or SIGN_IN */
    unsigned epoch;         /* of the user's credentials; each new passkey starts the next one */
};

static int begin(const struct sign_in *by, const char *login_id, unsigned epoch,
                 struct passkey_challenge *challenge, struct error **err)
{
    unsigned char bytes[PASSKEY_CHALLENGE_LEN];
    char plain[PLAIN_MAX];
    buffer_auto sealed = BUFFER_INIT(PASSKEY_MEMORY_MAX);
    random_fill(bytes, sizeof bytes);
    base64url_encode(bytes, sizeof bytes, challenge->text);
    int size = snprintf(plain, sizeof plain, "%" PRId64 " %s %s %u", clock_now_ms(),
                        challenge->text, login_id, epoch);
    if (aead_seal(by->ring, plain, (size_t)size, SEALED_AS, &sealed, err) < 0)
        return -1;
    autofree char *text = xmalloc(BASE64_SIZE(sealed.size));
    base64url_encode(sealed.data, sealed.size, text);
    challenge->memory = (struct buffer)BUFFER_INIT(PASSKEY_MEMORY_MAX);
    buffer_append_string(&challenge->memory, text);
    return 0;
}

static bool open_memory(const struct sign_in *by, const char *text, const char *login_id,
                        struct memory *memory)
{
    unsigned char sealed[PASSKEY_MEMORY_MAX];
    buffer_auto plain = BUFFER_INIT(PLAIN_MAX);
    error_auto broken = NULL;
    int size = text ? base64url_decode(text, sealed, sizeof sealed) : -1;
    if (size <= 0 || aead_open(by->ring, sealed, (size_t)size, SEALED_AS, &plain, &broken) < 0)
        return false;
    /* 43 and 30 are the sizes of the members without NUL */
    if (sscanf(buffer_string(&plain), "%" SCNd64 " %43s %30s %u", &memory->made_at_ms,
               memory->challenge, memory->login_id, &memory->epoch) != 4)
        return false;
    int64_t age_ms = clock_now_ms() - memory->made_at_ms;
    return str_equal(memory->login_id, login_id) && age_ms < PASSKEY_CHALLENGE_S * 1000;
}

static int forgotten(struct error **err)
{
    return error_set(
        err, ERR_INVALID_CREDENTIALS,
        "This was started in another browser, took too long, or is done already; start again.");
}

int passkey_begin_sign_in(const struct sign_in *by, struct passkey_challenge *challenge,
                          struct error **err)
{
    return begin(by, SIGN_IN, 0, challenge, err);
}

/* --- sign-in --- */

/* reason: static words, for the log only. */
static int refuse(const struct sign_in *by, const char *id, const char *reason, struct error **err)
{
    log_info("refused a passkey", LOG_STR("passkey", id), LOG_STR("reason", reason),
             LOG_STR("address", by->address));
    return error_set(err, ERR_INVALID_CREDENTIALS,
                     "sandlot does not accept this passkey; sign in another way.");
}

static int find(const struct sign_in *by, const struct passkey_sign_in *sent,
                struct passkey *passkey, struct credential *credential, struct error **err)
{
    unsigned char id[PASSKEY_ID_MAX];
    char user_id[ID_SIZE], handle[PASSKEY_USER_MAX + 1] = "";
    bool found = false;
    int size = base64url_decode(sent->credential_id, id, sizeof id);
    if (size > 0 && passkey_row_find(by->db, id, (size_t)size, &found, passkey, user_id, err) < 0)
        return -1;
    if (!found)
        return refuse(by, "", "it is unknown", err);
    if (base64url_decode(sent->user_handle, handle, PASSKEY_USER_MAX) < 0 ||
        !str_equal(handle, user_id))
        return refuse(by, passkey->id, "it belongs to another user", err);
    return credential_get_by_id(by->db, user_id, credential, err);
}

static int check(const struct sign_in *by, const struct passkey_sign_in *sent,
                 const struct memory *memory, struct credential *credential, char copied[ID_SIZE],
                 struct error **err)
{
    struct passkey passkey;
    uint32_t count;
    bool used;
    if (find(by, sent, &passkey, credential, err) < 0)
        return -1;
    autofree char *host = settings_console_host(by->settings);
    struct passkey_expected expected = {by->settings->console_url, host, memory->challenge};
    const char *reason = passkey_verify(&expected, &sent->answer, &passkey.key, &count);
    if (!reason && credential->is_disabled)
        reason = "its user is disabled";
    if (reason)
        return refuse(by, passkey.id, reason, err);
    if (memory->made_at_ms <= passkey.challenge_at_ms)
        return forgotten(err);
    if (count <= passkey.key.sign_count && (count || passkey.key.sign_count)) {
        memcpy(copied, passkey.id, ID_SIZE);
        return refuse(by, passkey.id, "its counter went back", err);
    }
    if (passkey_row_use(by->db, passkey.id, memory->made_at_ms, count, &used, err) < 0)
        return -1;
    return used ? 0 : forgotten(err); /* another request was faster */
}

int passkey_sign_in(const struct sign_in *by, const struct passkey_sign_in *sent,
                    struct login *login, char text[SECRET_TEXT_SIZE], char copied[ID_SIZE],
                    struct error **err)
{
    struct attempt attempt = {.address = by->address};
    struct credential credential = {0};
    struct memory memory;
    copied[0] = '\0';
    if (attempt_charge(by->db, &attempt, err) < 0)
        return -1;
    int result = open_memory(by, sent->memory, SIGN_IN, &memory) ? 0 : forgotten(err);
    if (result == 0)
        result = check(by, sent, &memory, &credential, copied, err);
    memcpy(login->user_id, credential.user_id, sizeof login->user_id);
    if (result == 0)
        result = sign_in_begin(by, &credential, "passkey", login, text, err);
    if (result == 0)
        sign_in_refund(by, &attempt);
    mem_wipe(&credential, sizeof credential);
    return result;
}

/* --- a user's passkeys --- */

static int check_name(const char *name, struct error **err)
{
    if (*name && str_is_label(name, PASSKEY_NAME_MAX))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/name",
                           "A passkey's name has 1 to %d characters without control characters.",
                           PASSKEY_NAME_MAX);
}

int passkey_begin_add(const struct sign_in *by, const struct login *login, const char *password,
                      struct passkey_challenge *challenge, struct error **err)
{
    struct credential credential = {0};
    int result = sign_in_ask_password(by, login->user_id, password, "/password", &credential, err);
    if (result == 0)
        result = begin(by, login->id, credential.epoch, challenge, err);
    mem_wipe(&credential, sizeof credential);
    return result;
}

int passkey_add(const struct sign_in *by, const struct login *login, const char *memory_text,
                const char *name, const struct passkey_answer *answer, struct passkey *passkey,
                struct error **err)
{
    struct memory memory;
    if (check_name(name, err) < 0)
        return -1;
    if (!open_memory(by, memory_text, login->id, &memory))
        return forgotten(err);
    autofree char *host = settings_console_host(by->settings);
    struct passkey_expected expected = {by->settings->console_url, host, memory.challenge};
    *passkey = (struct passkey){.created_at_ms = clock_now_ms()};
    const char *reason = passkey_read_new(&expected, answer, &passkey->key);
    if (reason)
        return error_set(err, ERR_INVALID_REQUEST, "sandlot cannot use this passkey: %s.", reason);
    id_new("pky_", passkey->id);
    snprintf(passkey->name, sizeof passkey->name, "%s", name);
    return passkey_row_insert(by->db, login->user_id, memory.epoch, passkey, err);
}

static int not_found(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such passkey.");
}

int passkey_rename(struct db *db, const char *user_id, const char *id, const char *name,
                   struct error **err)
{
    bool found;
    if (check_name(name, err) < 0 || passkey_row_rename(db, user_id, id, name, &found, err) < 0)
        return -1;
    return found ? 0 : not_found(err);
}

int passkey_remove(const struct sign_in *by, const char *user_id, const char *id,
                   const char *password, struct error **err)
{
    struct credential credential = {0};
    int result = sign_in_ask_password(by, user_id, password, "/password", &credential, err);
    if (result == 0)
        result = passkey_row_delete(by->db, user_id, credential.epoch, id, err);
    mem_wipe(&credential, sizeof credential);
    return result;
}

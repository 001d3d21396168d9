/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/sign_in.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "login/credential_row.h"

static int refuse(struct error **err)
{
    return error_set(err, ERR_INVALID_CREDENTIALS, "The name or the password is wrong.");
}

void sign_in_refund(const struct sign_in *by, const struct attempt *attempt)
{
    error_auto err = NULL;
    if (attempt_refund(by->db, attempt, &err) < 0)
        log_warning("cannot uncount a successful attempt to sign in; the user reaches the limit of "
                    "attempts earlier",
                    LOG_STR("user", attempt->name), LOG_ERROR(err));
}

static void refund_code(const struct sign_in *by, const struct attempt *attempt)
{
    error_auto err = NULL;
    if (attempt_refund_code(by->db, attempt, &err) < 0)
        log_warning("cannot uncount a right code of a sign-in; the user reaches the limit of "
                    "attempts earlier",
                    LOG_STR("user", attempt->name), LOG_ERROR(err));
}

/* Check the password. An unknown user takes as long as a wrong password. */
static int check_password(const struct sign_in *by, const char *name, const char *password,
                          struct credential *credential, struct error **err)
{
    error_auto missing = NULL;
    bool found = credential_get(by->db, name, credential, &missing) == 0;
    if (!found && missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    const char *hash = found && credential->password_hash[0] ? credential->password_hash : NULL;
    return password_matches(hash, password) && !credential->is_disabled ? 0 : refuse(err);
}

static int check_code(const struct sign_in *by, const struct attempt *attempt,
                      const struct credential *credential, const char *code, struct error **err)
{
    if (!credential->has_second_factor)
        return 0;
    if (!code) {
        sign_in_refund(by, attempt); /* the password is right; the client asks again with a code */
        return error_set_field(
            err, ERR_SECOND_FACTOR_REQUIRED, "/code",
            "This user signs in with a password and a code; the code is missing.");
    }
    if (attempt_charge_code(by->db, attempt, err) < 0 ||
        credential_take_code(by->db, by->ring, credential, code, err) < 0)
        return -1;
    refund_code(by, attempt);
    return 0;
}

int sign_in_begin(const struct sign_in *by, const struct credential *credential, const char *method,
                  struct login *login, char text[SECRET_TEXT_SIZE], struct error **err)
{
    struct login_request request = {
        .user_id = credential->user_id,
        .user_name = credential->user_name,
        .epoch = credential->epoch,
        .method = method,
        .address = by->address,
        .user_agent = by->user_agent,
    };
    return login_begin(by->db, by->ring, by->settings, &request, login, text, err);
}

int sign_in_with_password(const struct sign_in *by, const char *name, const char *password,
                          const char *code, struct login *login, char text[SECRET_TEXT_SIZE],
                          struct error **err)
{
    struct credential credential = {0};
    /* An invalid name belongs to no user, and must not become part of a row's key. */
    struct attempt attempt = {.address = by->address, .name = slug_is_valid(name) ? name : NULL};
    if (attempt_charge(by->db, &attempt, err) < 0)
        return -1;
    int result = check_password(by, name, password, &credential, err);
    if (result == 0)
        result = check_code(by, &attempt, &credential, code, err);
    if (result == 0)
        result = sign_in_begin(by, &credential, "password", login, text, err);
    if (result == 0)
        sign_in_refund(by, &attempt);
    mem_wipe(&credential, sizeof credential);
    return result;
}

int sign_in_as_named(const struct sign_in *by, const char *name, struct login *login,
                     char text[SECRET_TEXT_SIZE], struct error **err)
{
    struct credential credential = {0};
    error_auto missing = NULL;
    if (credential_get(by->db, name, &credential, &missing) < 0 && missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    int result = !missing && !credential.is_disabled
                     ? sign_in_begin(by, &credential, "header", login, text, err)
                     : error_set(err, ERR_INVALID_CREDENTIALS,
                                 "No user has the name that you signed in with at the proxy; ask "
                                 "an operator to create one.");
    mem_wipe(&credential, sizeof credential);
    return result;
}

static int set_first_password(const struct sign_in *by, const struct invite *invite,
                              const char *password, struct error **err)
{
    char hash[PASSWORD_HASH_SIZE];
    if (credential_check_new(invite->credential.user_name, password, "/password", err) < 0 ||
        password_hash(password, hash, err) < 0)
        return -1;
    int result = invite_accept(by->db, invite, hash, err);
    mem_wipe(hash, sizeof hash);
    return result;
}

int sign_in_find_invite(const struct sign_in *by, const char *token, struct invite *invite,
                        struct error **err)
{
    struct attempt attempt = {.address = by->address};
    if (attempt_charge(by->db, &attempt, err) < 0 ||
        invite_find(by->db, by->ring, token, invite, err) < 0)
        return -1;
    sign_in_refund(by, &attempt);
    return 0;
}

int sign_in_with_invite(const struct sign_in *by, const char *token, const char *password,
                        struct login *login, char text[SECRET_TEXT_SIZE], struct error **err)
{
    struct invite invite = {0};
    int result = sign_in_find_invite(by, token, &invite, err);
    if (result == 0)
        memcpy(login->user_id, invite.credential.user_id, sizeof login->user_id);
    if (result == 0)
        result = set_first_password(by, &invite, password, err);
    invite.credential.epoch++; /* setting the password has started the next epoch */
    if (result == 0)
        result = sign_in_begin(by, &invite.credential, "password", login, text, err);
    mem_wipe(&invite, sizeof invite);
    return result;
}

int sign_in_find_link(const struct sign_in *by, const char *token, struct team_link *link,
                      struct error **err)
{
    struct attempt attempt = {.address = by->address};
    if (attempt_charge(by->db, &attempt, err) < 0 ||
        team_link_find(by->db, by->ring, token, link, err) < 0)
        return -1;
    sign_in_refund(by, &attempt);
    return 0;
}

struct new_member {
    const struct team_link *link;
    const char *hash;
    struct login *login;
};

static int join_new(struct db *db, const struct user *user, void *context, struct error **err)
{
    const struct new_member *made = context;
    struct member member;
    memcpy(made->login->user_id, user->id, sizeof user->id);
    if (credential_row_set_password(db, user->id, made->hash, err) < 0)
        return -1;
    return team_link_use(db, made->link, user->name, &member, err);
}

int sign_in_as_new_member(const struct sign_in *by, const struct team_link *link, const char *name,
                          const char *password, struct login *login, char text[SECRET_TEXT_SIZE],
                          struct error **err)
{
    char hash[PASSWORD_HASH_SIZE];
    struct user user;
    struct credential credential = {0};
    struct new_member made = {link, hash, login};
    /* The holder of a link learns from refusals which names are taken, and keeps the link. */
    struct attempt attempt = {.address = by->address};
    if (credential_check_new(name, password, "/password", err) < 0 ||
        attempt_charge(by->db, &attempt, err) < 0 || password_hash(password, hash, err) < 0)
        return -1;
    int result = user_create_and(by->db, name, join_new, &made, &user, err);
    mem_wipe(hash, sizeof hash);
    if (result == 0)
        sign_in_refund(by, &attempt);
    if (result == 0)
        result = credential_get_by_id(by->db, user.id, &credential, err);
    if (result == 0)
        result = sign_in_begin(by, &credential, "password", login, text, err);
    mem_wipe(&credential, sizeof credential);
    return result;
}

int sign_in_ask_password(const struct sign_in *by, const char *user_id, const char *password,
                         const char *field, struct credential *credential, struct error **err)
{
    if (credential_get_by_id(by->db, user_id, credential, err) < 0)
        return -1;
    if (!credential->password_hash[0])
        return error_set_field(err, ERR_INVALID_CREDENTIALS, field,
                               "You have no password, because you sign in another way. Ask an "
                               "operator for a link that sets one.");
    struct attempt attempt = {.address = by->address, .name = credential->user_name};
    if (attempt_charge(by->db, &attempt, err) < 0)
        return -1;
    if (!password_matches(credential->password_hash, password))
        return error_set_field(err, ERR_INVALID_CREDENTIALS, field, "The password is wrong.");
    sign_in_refund(by, &attempt);
    return 0;
}

int sign_in_change_password(const struct sign_in *by, const char *user_id, const char *login_id,
                            const char *old_password, const char *new_password, struct error **err)
{
    struct credential credential = {0};
    char hash[PASSWORD_HASH_SIZE];
    int result = sign_in_ask_password(by, user_id, old_password, "/old", &credential, err);
    if (result == 0)
        result = credential_check_new(credential.user_name, new_password, "/new", err);
    if (result == 0)
        result = password_hash(new_password, hash, err);
    if (result == 0)
        result = credential_set_password(by->db, &credential, hash, login_id, err);
    mem_wipe(hash, sizeof hash);
    mem_wipe(&credential, sizeof credential);
    return result;
}

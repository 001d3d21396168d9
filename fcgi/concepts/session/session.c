/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/session.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/mem.h"
#include "crypto/signed_token.h"

#define TOKEN_PREFIX    "slt_"
#define VERSION_EXPIRES 1
#define VERSION_LASTING 2

struct body {
    unsigned char
        ends[8]; /* big endian; expires: when, in seconds since 1970; lasting: the epoch */
    char sandbox_id[ID_SIZE - 1];
};

_Static_assert(SIGNED_TOKEN_SIZE(TOKEN_PREFIX, sizeof(struct body)) <= SESSION_TOKEN_SIZE,
               "token fits");

static const struct signed_token_kind kind = {KEY_PURPOSE_SESSION, TOKEN_PREFIX,
                                              sizeof(struct body)};

#define STEPS_PER_LIFE 32

/* A power of two, so that tokens of a longer life end on steps of a shorter one too. */
static uint64_t end_step_s(uint64_t ttl_s)
{
    uint64_t step_s = 1;
    while (step_s * 2 * STEPS_PER_LIFE <= ttl_s)
        step_s *= 2;
    return step_s;
}

static uint64_t last_end_s(uint64_t ttl_s)
{
    uint64_t end_s = (uint64_t)clock_now_ms() / 1000 + ttl_s;
    return end_s - end_s % end_step_s(ttl_s);
}

static int make_token(const struct keyring *ring, uint16_t key_id, const char *sandbox_id,
                      unsigned char version, uint64_t ends, char token[SESSION_TOKEN_SIZE],
                      struct error **err)
{
    struct body body;
    be_put(body.ends, sizeof body.ends, ends);
    memcpy(body.sandbox_id, sandbox_id, sizeof body.sandbox_id);
    return signed_token_make(ring, &kind, key_id, version, &body, token, err);
}

int session_issue(const struct keyring *ring, const char *sandbox_id, uint64_t ttl_s,
                  struct session *session, struct error **err)
{
    uint64_t expires_at_s = last_end_s(ttl_s);
    session->expires_at_ms = (int64_t)expires_at_s * 1000;
    return make_token(ring, keyring_newest(ring), sandbox_id, VERSION_EXPIRES, expires_at_s,
                      session->token, err);
}

int session_issue_lasting(const struct keyring *ring, const char *sandbox_id, uint32_t epoch,
                          struct session *session, struct error **err)
{
    session->expires_at_ms = 0;
    return make_token(ring, keyring_newest(ring), sandbox_id, VERSION_LASTING, epoch,
                      session->token, err);
}

static bool any_of_key(const struct keyring *ring, uint16_t key_id, const char *sandbox_id,
                       uint32_t epoch, uint64_t ttl_s,
                       bool (*matches)(const char *token, void *context), void *context)
{
    char token[SESSION_TOKEN_SIZE];
    error_auto ignored = NULL;
    bool found = false;
    uint64_t now_s = (uint64_t)clock_now_ms() / 1000;
    for (uint64_t end_s = last_end_s(ttl_s); !found && end_s > now_s; end_s -= end_step_s(ttl_s)) {
        if (make_token(ring, key_id, sandbox_id, VERSION_EXPIRES, end_s, token, &ignored) < 0)
            break;
        found = matches(token, context);
    }
    if (!found && !ignored &&
        make_token(ring, key_id, sandbox_id, VERSION_LASTING, epoch, token, &ignored) == 0)
        found = matches(token, context);
    mem_wipe(token, sizeof token);
    return found;
}

bool session_any(const struct keyring *ring, const char *sandbox_id, uint32_t epoch, uint64_t ttl_s,
                 bool (*matches)(const char *token, void *context), void *context)
{
    uint16_t newest = keyring_newest(ring);
    return any_of_key(ring, newest, sandbox_id, epoch, ttl_s, matches, context) ||
           (newest > 1 &&
            any_of_key(ring, (uint16_t)(newest - 1), sandbox_id, epoch, ttl_s, matches, context));
}

static bool is_current(unsigned char version, uint64_t ends)
{
    return version == VERSION_LASTING ||
           (version == VERSION_EXPIRES && ends > (uint64_t)clock_now_ms() / 1000);
}

int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err)
{
    struct body body;
    unsigned char version;
    if (signed_token_open(ring, &kind, token, &version, &body) < 0 ||
        !is_current(version, be_get(body.ends, sizeof body.ends)))
        return error_set(err, ERR_UNAUTHORIZED,
                         "The access token is missing, expired or not of this sandbox; get one "
                         "with POST /v1/sandboxes/:id/connect.");
    *claim = (struct session_claim){
        .is_lasting = version == VERSION_LASTING,
        .epoch = (uint32_t)be_get(body.ends, sizeof body.ends),
    };
    memcpy(claim->sandbox_id, body.sandbox_id, sizeof body.sandbox_id);
    return 0;
}

bool session_fits(const struct session_claim *claim, const char *sandbox_id, uint32_t epoch)
{
    return !strcmp(claim->sandbox_id, sandbox_id) && (!claim->is_lasting || claim->epoch == epoch);
}

void session_wipe(struct session *session)
{
    mem_wipe(session->token, sizeof session->token);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/session.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/mem.h"
#include "crypto/signed_token.h"

#define TOKEN_PREFIX "slt_"
/* The first two open everything and have no port. */
enum { EXPIRES = 1, LASTING = 2, PREVIEW_EXPIRES = 3, PREVIEW_LASTING = 4 };

/* Numbers are big endian. */
struct body {
    unsigned char port[2]; /* of a token for previews; 0: all ports */
    unsigned char ends[6]; /* in seconds since 1970; 0: lasting */
    unsigned char epoch[4];
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

static int make_token(const struct keyring *ring, uint16_t key_id,
                      const struct session_claim *claim, char token[SESSION_TOKEN_SIZE],
                      struct error **err)
{
    struct body body;
    unsigned char version = claim->is_lasting ? LASTING : EXPIRES;
    if (claim->scope.is_preview)
        version = claim->is_lasting ? PREVIEW_LASTING : PREVIEW_EXPIRES;
    be_put(body.port, sizeof body.port, claim->scope.is_preview ? claim->scope.port : 0);
    be_put(body.ends, sizeof body.ends, (uint64_t)claim->expires_at_ms / 1000);
    be_put(body.epoch, sizeof body.epoch, claim->epoch);
    memcpy(body.sandbox_id, claim->sandbox_id, sizeof body.sandbox_id);
    return signed_token_make(ring, &kind, key_id, version, &body, token, err);
}

static struct session_claim claim_of(const char *sandbox_id, struct session_scope scope,
                                     uint32_t epoch)
{
    struct session_claim claim = {.scope = scope, .epoch = epoch};
    memcpy(claim.sandbox_id, sandbox_id, ID_SIZE);
    return claim;
}

static int issue(const struct keyring *ring, const struct session_claim *claim,
                 struct session *session, struct error **err)
{
    session->expires_at_ms = claim->expires_at_ms;
    return make_token(ring, keyring_newest(ring), claim, session->token, err);
}

int session_issue(const struct keyring *ring, const char *sandbox_id, struct session_scope scope,
                  uint32_t epoch, uint64_t ttl_s, struct session *session, struct error **err)
{
    struct session_claim claim = claim_of(sandbox_id, scope, epoch);
    claim.expires_at_ms = (int64_t)last_end_s(ttl_s) * 1000;
    return issue(ring, &claim, session, err);
}

int session_issue_lasting(const struct keyring *ring, const char *sandbox_id,
                          struct session_scope scope, uint32_t epoch, struct session *session,
                          struct error **err)
{
    struct session_claim claim = claim_of(sandbox_id, scope, epoch);
    claim.is_lasting = true;
    return issue(ring, &claim, session, err);
}

int session_narrow(const struct keyring *ring, const struct session_claim *claim, uint16_t port,
                   struct session *session, struct error **err)
{
    struct session_claim narrow = *claim;
    narrow.scope = (struct session_scope){.is_preview = true, .port = port};
    return issue(ring, &narrow, session, err);
}

static bool any_of_key(const struct keyring *ring, uint16_t key_id, const char *sandbox_id,
                       uint32_t epoch, uint64_t ttl_s,
                       bool (*matches)(const char *token, void *context), void *context)
{
    char token[SESSION_TOKEN_SIZE];
    struct session_claim claim = claim_of(sandbox_id, SESSION_ALL, epoch);
    error_auto ignored = NULL;
    bool found = false;
    uint64_t now_s = (uint64_t)clock_now_ms() / 1000;
    for (uint64_t end_s = last_end_s(ttl_s); !found && end_s > now_s; end_s -= end_step_s(ttl_s)) {
        claim.expires_at_ms = (int64_t)end_s * 1000;
        if (make_token(ring, key_id, &claim, token, &ignored) < 0)
            break;
        found = matches(token, context);
    }
    claim.is_lasting = true;
    claim.expires_at_ms = 0;
    if (!found && !ignored && make_token(ring, key_id, &claim, token, &ignored) == 0)
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

/* Return the contents of a genuine token in *claim; false when its version is unknown. */
static bool read_claim(unsigned char version, const struct body *body, struct session_claim *claim)
{
    bool is_preview = version == PREVIEW_EXPIRES || version == PREVIEW_LASTING;
    if (version < EXPIRES || version > PREVIEW_LASTING)
        return false;
    *claim = (struct session_claim){
        .scope = {is_preview, (uint16_t)be_get(body->port, sizeof body->port)},
        .is_lasting = version == LASTING || version == PREVIEW_LASTING,
        .epoch = (uint32_t)be_get(body->epoch, sizeof body->epoch),
        .expires_at_ms = (int64_t)be_get(body->ends, sizeof body->ends) * 1000,
    };
    memcpy(claim->sandbox_id, body->sandbox_id, sizeof body->sandbox_id);
    return true;
}

int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err)
{
    struct body body;
    unsigned char version;
    if (signed_token_open(ring, &kind, token, &version, &body) < 0 ||
        !read_claim(version, &body, claim) ||
        (!claim->is_lasting && claim->expires_at_ms / 1000 <= clock_now_ms() / 1000))
        return error_set(err, ERR_UNAUTHORIZED,
                         "The access token is missing, has expired, or belongs to another sandbox; "
                         "get one with POST /v1/sandboxes/:id/connect.");
    return 0;
}

bool session_opens(const struct session_claim *claim, uint16_t port)
{
    if (!claim->scope.is_preview)
        return true;
    return port && (!claim->scope.port || claim->scope.port == port);
}

bool session_fits(const struct session_claim *claim, const char *sandbox_id, uint32_t epoch)
{
    return !strcmp(claim->sandbox_id, sandbox_id) && claim->epoch == epoch;
}

void session_wipe(struct session *session)
{
    mem_wipe(session->token, sizeof session->token);
}

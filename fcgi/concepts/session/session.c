/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/session.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define TOKEN_PREFIX    "slt_"
#define VERSION_EXPIRES 1
#define VERSION_LASTING 2

/* What the token says, all integers big endian; the MAC covers everything before it. */
struct wire {
    unsigned char version;
    unsigned char key_id[2];
    unsigned char ends[8]; /* expires: when, in seconds since 1970; lasting: the epoch */
    char sandbox_id[ID_SIZE - 1];
    unsigned char mac[MAC_BYTES];
};
#define SIGNED_BYTES offsetof(struct wire, mac)

_Static_assert(sizeof(struct wire) == 1 + 2 + 8 + ID_SIZE - 1 + MAC_BYTES, "wire is packed");
_Static_assert(sizeof(TOKEN_PREFIX) - 1 + BASE64_SIZE(sizeof(struct wire)) <= SESSION_TOKEN_SIZE,
               "token fits");

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
    struct wire wire = {.version = version};
    be_put(wire.key_id, sizeof wire.key_id, key_id);
    be_put(wire.ends, sizeof wire.ends, ends);
    memcpy(wire.sandbox_id, sandbox_id, sizeof wire.sandbox_id);
    if (mac_compute(ring, key_id, KEY_PURPOSE_SESSION, &wire, SIGNED_BYTES, wire.mac, err) < 0)
        return -1;
    memcpy(token, TOKEN_PREFIX, sizeof TOKEN_PREFIX);
    base64url_encode(&wire, sizeof wire, token + sizeof TOKEN_PREFIX - 1);
    mem_wipe(&wire, sizeof wire);
    return 0;
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

static bool read_wire(const struct keyring *ring, const char *token, struct wire *wire)
{
    unsigned char mac[MAC_BYTES];
    if (!token || !str_starts_with(token, TOKEN_PREFIX) ||
        base64url_decode(token + sizeof TOKEN_PREFIX - 1, wire, sizeof *wire) != sizeof *wire ||
        (wire->version != VERSION_EXPIRES && wire->version != VERSION_LASTING))
        return false;
    error_auto ignored = NULL;
    uint16_t key_id = (uint16_t)be_get(wire->key_id, sizeof wire->key_id);
    if (mac_compute(ring, key_id, KEY_PURPOSE_SESSION, wire, SIGNED_BYTES, mac, &ignored) < 0 ||
        !mac_equal(mac, wire->mac))
        return false;
    uint64_t now_s = (uint64_t)clock_now_ms() / 1000;
    return wire->version == VERSION_LASTING || be_get(wire->ends, sizeof wire->ends) > now_s;
}

int session_open(const struct keyring *ring, const char *token, struct session_claim *claim,
                 struct error **err)
{
    struct wire wire;
    if (!read_wire(ring, token, &wire))
        return error_set(err, ERR_UNAUTHORIZED,
                         "The access token is missing, expired or not of this sandbox; get one "
                         "with POST /v1/sandboxes/:id/connect.");
    *claim = (struct session_claim){
        .is_lasting = wire.version == VERSION_LASTING,
        .epoch = (uint32_t)be_get(wire.ends, sizeof wire.ends),
    };
    memcpy(claim->sandbox_id, wire.sandbox_id, sizeof wire.sandbox_id);
    mem_wipe(&wire, sizeof wire);
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

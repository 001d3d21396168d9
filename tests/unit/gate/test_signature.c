/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <sodium.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gate/signature.h"
#include "session/session.h"
#include "unit/keyring.h"

#define TTL_S 600

static struct keyring *ring;
static char sandbox[ID_SIZE];
static struct session session;

static int set_up(void **state)
{
    struct error *err = NULL;
    ring = unit_keyring(UNIT_KEY_1);
    id_new("sbx_", sandbox);
    return session_issue(ring, sandbox, SESSION_ALL, 0, TTL_S, &session, &err);
}

static int tear_down(void **state)
{
    keyring_free(ring);
    return 0;
}

/* As a client makes it, with '+' and '/' as an address needs them. */
static char *sign(const char *path, const char *operation, const char *user, const char *expiration)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char text[64];
    autofree char *whole = xasprintf("%s:%s:%s:%s%s%s", path, operation, user, session.token,
                                     expiration ? ":" : "", expiration ? expiration : "");
    crypto_hash_sha256(digest, (const unsigned char *)whole, strlen(whole));
    sodium_bin2base64(text, sizeof text, digest, sizeof digest,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    char *escaped = xcalloc(3, sizeof text);
    char *out = escaped + sprintf(escaped, "v1_");
    for (const char *c = text; *c; c++)
        out += *c == '+' || *c == '/' ? sprintf(out, "%%%02X", *c) : sprintf(out, "%c", *c);
    return escaped;
}

static enum signature_verdict judge(const char *method, const char *query)
{
    assert_true(signature_is_present("/files", query));
    return signature_check(ring, &(struct signature_of){sandbox, 0, TTL_S}, method, query);
}

TEST(good_links)
{
    autofree char *read = sign("/a b/ü", "read", "", NULL);
    autofree char *query = xasprintf("path=%%2Fa+b/%%c3%%BC&signature=%s", read);
    assert_int_equal(judge("GET", query), SIGNATURE_GOOD);
    assert_int_equal(judge("HEAD", query), SIGNATURE_GOOD);
    assert_int_equal(judge("POST", query), SIGNATURE_BAD);
    assert_int_equal(judge("DELETE", query), SIGNATURE_BAD);

    autofree char *write = sign("", "write", "root", "99999999999");
    autofree char *upload =
        xasprintf("signature=%s&username=root&signature_expiration=99999999999", write);
    assert_int_equal(judge("POST", upload), SIGNATURE_GOOD);
    assert_int_equal(judge("GET", upload), SIGNATURE_BAD);
}

TEST(everything_is_signed)
{
    autofree char *text = sign("/a", "read", "", "99999999999");
    static const char *const changed[] = {
        "path=/b&signature_expiration=99999999999&signature=@",
        "path=/a&username=root&signature_expiration=99999999999&signature=@",
        "path=/a&signature_expiration=99999999998&signature=@",
        "path=/a&signature=@",
        /* The agent would take the first, in capitals or not. */
        "path=/a&path=/b&signature_expiration=99999999999&signature=@",
        "PATH=/b&path=/a&signature_expiration=99999999999&signature=@",
        "%70ath=/b&path=/a&signature_expiration=99999999999&signature=@",
        "path=/a%00b&signature_expiration=99999999999&signature=@",
        "path=/a%&signature_expiration=99999999999&signature=@",
        "path=/a&%zz=1&signature_expiration=99999999999&signature=@",
        "path=/a&signature_expiration=99999999999&signature=@0",
        "path=/a&signature_expiration=99999999999&signature=v2@",
        "path=/a&signature_expiration=99999999999&signature=#@",
    };
    for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
        const char *at = strchr(changed[i], '@'); /* the signature's place */
        autofree char *query =
            xasprintf("%.*s%s%s", (int)(at - changed[i]), changed[i], text, at + 1);
        if (judge("GET", query) != SIGNATURE_BAD)
            fail_msg("let in: %s", query);
    }
    char other[ID_SIZE];
    id_new("sbx_", other);
    autofree char *query = xasprintf("path=/a&signature_expiration=99999999999&signature=%s", text);
    assert_int_equal(judge("GET", query), SIGNATURE_GOOD);
    assert_int_equal(signature_check(ring, &(struct signature_of){other, 0, TTL_S}, "GET", query),
                     SIGNATURE_BAD);
}

TEST(links_end)
{
    autofree char *past = xasprintf("%lld", (long long)(clock_now_ms() / 1000 - 2));
    autofree char *text = sign("/a", "read", "", past);
    autofree char *query = xasprintf("path=/a&signature=%s&signature_expiration=%s", text, past);
    assert_int_equal(judge("GET", query), SIGNATURE_EXPIRED);
}

TEST(elsewhere_there_are_none)
{
    assert_false(signature_is_present("/files", NULL));
    assert_false(signature_is_present("/files", ""));
    assert_false(signature_is_present("/files", "path=signature=&xsignature=1"));
    assert_false(signature_is_present("/metrics", "signature=x"));
    assert_false(signature_is_present("//files", "signature=x"));
}

TEST_GROUP(set_up, tear_down)

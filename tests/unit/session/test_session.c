/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "session/session.h"
#include "unit/keyring.h"

static struct keyring *ring;

static int load_ring(void **state)
{
    ring = unit_keyring(UNIT_KEY_1);
    return 0;
}

static int drop_ring(void **state)
{
    keyring_free(ring);
    return 0;
}

TEST(opens_what_it_issued)
{
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, SESSION_ALL, 0, 60, &session, &err));
    assert_ok(session_open(ring, session.token, &opened, &err));
    assert_string_equal(opened.sandbox_id, id);
    assert_false(opened.is_lasting);
    int64_t left_ms = session.expires_at_ms - clock_now_ms();
    assert_true(left_ms > 50000 && left_ms <= 60000);
}

TEST(tokens_end_with_their_epoch)
{
    struct error *err = NULL;
    struct session session;
    struct session_claim claim;
    char id[ID_SIZE], other[ID_SIZE];
    id_new("sbx_", id);
    id_new("sbx_", other);
    assert_ok(session_issue_lasting(ring, id, SESSION_ALL, 7, &session, &err));
    assert_int_equal(session.expires_at_ms, 0);
    assert_ok(session_open(ring, session.token, &claim, &err));
    assert_true(claim.is_lasting);
    assert_true(session_fits(&claim, id, 7));
    assert_false(session_fits(&claim, id, 8));
    assert_false(session_fits(&claim, id, 6));
    assert_false(session_fits(&claim, other, 7));
    assert_ok(session_issue(ring, id, SESSION_ALL, 7, 60, &session, &err));
    assert_ok(session_open(ring, session.token, &claim, &err));
    assert_false(claim.is_lasting);
    assert_true(session_fits(&claim, id, 7));
    assert_false(session_fits(&claim, id, 8));
}

TEST(refuses_an_expired_token)
{
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, SESSION_ALL, 0, 0, &session, &err));
    assert_fails(session_open(ring, session.token, &opened, &err), ERR_UNAUTHORIZED);
    error_clear(&err);
}

/* Every single character matters. */
TEST(refuses_any_change)
{
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, SESSION_ALL, 0, 60, &session, &err));
    size_t length = strlen(session.token);
    for (size_t i = 0; i < length; i++) {
        char kept = session.token[i];
        session.token[i] = kept == 'A' ? 'B' : 'A';
        if (session_open(ring, session.token, &opened, &err) == 0)
            fail_msg("character %zu does not count", i);
        error_clear(&err);
        session.token[i] = kept;
    }
    session.token[length - 1] = '\0';
    assert_fails(session_open(ring, session.token, &opened, &err), ERR_UNAUTHORIZED);
    error_clear(&err);
    assert_fails(session_open(ring, NULL, &opened, &err), ERR_UNAUTHORIZED);
    error_clear(&err);
    assert_fails(session_open(ring, "", &opened, &err), ERR_UNAUTHORIZED);
    error_clear(&err);
}

static struct session_claim open_now(const char *token)
{
    struct error *err = NULL;
    struct session_claim claim;
    assert_ok(session_open(ring, token, &claim, &err));
    return claim;
}

TEST(a_token_opens_what_it_is_for)
{
    struct error *err = NULL;
    struct session all, previews, one, of_cookie;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, SESSION_ALL, 0, 60, &all, &err));
    assert_ok(session_issue_lasting(ring, id, (struct session_scope){true, 0}, 7, &previews, &err));
    assert_ok(session_issue(ring, id, (struct session_scope){true, 3000}, 0, 60, &one, &err));
    struct session_claim claim = open_now(all.token);
    assert_true(session_opens(&claim, 0) && session_opens(&claim, 3000));
    assert_ok(session_narrow(ring, &claim, 8080, &of_cookie, &err));
    assert_int_equal(of_cookie.expires_at_ms, all.expires_at_ms);
    claim = open_now(of_cookie.token);
    assert_true(session_opens(&claim, 8080));
    assert_false(session_opens(&claim, 0) || session_opens(&claim, 3000));

    claim = open_now(previews.token);
    assert_true(claim.is_lasting && session_fits(&claim, id, 7) && !session_fits(&claim, id, 8));
    assert_true(session_opens(&claim, 3000) && session_opens(&claim, 65535));
    assert_false(session_opens(&claim, 0));

    claim = open_now(one.token);
    assert_true(session_opens(&claim, 3000));
    assert_false(session_opens(&claim, 0) || session_opens(&claim, 3001));
}

static bool is_this(const char *token, void *context)
{
    return !strcmp(token, context);
}

/* Files must not be signed with what opens a preview. */
TEST(previews_sign_nothing)
{
    struct error *err = NULL;
    struct session session;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, (struct session_scope){true, 0}, 0, 3600, &session, &err));
    assert_false(session_any(ring, id, 0, 3600, is_this, session.token));
    assert_ok(session_issue_lasting(ring, id, (struct session_scope){true, 0}, 0, &session, &err));
    assert_false(session_any(ring, id, 0, 3600, is_this, session.token));
}

static bool count(const char *token, void *context)
{
    (void)token;
    ++*(int *)context;
    return false;
}

TEST(knows_what_it_may_have_issued)
{
    static const uint64_t lives_s[] = {1, 60, 3600, 604800};
    struct error *err = NULL;
    struct session session;
    char id[ID_SIZE], other[ID_SIZE];
    id_new("sbx_", id);
    id_new("sbx_", other);
    for (size_t i = 0; i < ARRAY_SIZE(lives_s); i++) {
        int tried = 0;
        assert_ok(session_issue(ring, id, SESSION_ALL, 0, lives_s[i], &session, &err));
        int64_t left_ms = session.expires_at_ms - clock_now_ms();
        assert_true(left_ms <= (int64_t)lives_s[i] * 1000);
        assert_true(left_ms + 1000 >= (int64_t)lives_s[i] * 1000 / 32 * 31);
        if (lives_s[i] > 1)
            assert_true(session_any(ring, id, 0, lives_s[i], is_this, session.token));
        assert_false(session_any(ring, other, 0, lives_s[i], is_this, session.token));
        assert_false(session_any(ring, id, 0, lives_s[i], count, &tried));
        assert_true(tried <= 64);
    }
}

TEST_GROUP(load_ring, drop_ring)

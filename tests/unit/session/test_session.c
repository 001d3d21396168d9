/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "session/session.h"
#include "unit/keyring.h"

static struct keyring *ring;

static int load_ring(void **state)
{
    (void)state;
    ring = unit_keyring(UNIT_KEY_1);
    return 0;
}

static int drop_ring(void **state)
{
    (void)state;
    keyring_free(ring);
    return 0;
}

static void opens_what_it_issued(void **state)
{
    (void)state;
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, 60, &session, &err));
    assert_ok(session_open(ring, session.token, &opened, &err));
    assert_string_equal(opened.sandbox_id, id);
    assert_false(opened.is_lasting);
    int64_t left_ms = session.expires_at_ms - clock_now_ms();
    assert_true(left_ms > 50000 && left_ms <= 60000);
}

static void a_lasting_token_ends_with_its_epoch(void **state)
{
    (void)state;
    struct error *err = NULL;
    struct session session;
    struct session_claim claim;
    char id[ID_SIZE], other[ID_SIZE];
    id_new("sbx_", id);
    id_new("sbx_", other);
    assert_ok(session_issue_lasting(ring, id, 7, &session, &err));
    assert_int_equal(session.expires_at_ms, 0);
    assert_ok(session_open(ring, session.token, &claim, &err));
    assert_true(claim.is_lasting);
    assert_true(session_fits(&claim, id, 7));
    assert_false(session_fits(&claim, id, 8));
    assert_false(session_fits(&claim, id, 6));
    assert_false(session_fits(&claim, other, 7));
    assert_ok(session_issue(ring, id, 60, &session, &err));
    assert_ok(session_open(ring, session.token, &claim, &err));
    assert_true(session_fits(&claim, id, 8)); /* it ends by itself */
}

static void refuses_an_expired_token(void **state)
{
    (void)state;
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, 0, &session, &err));
    assert_fails(session_open(ring, session.token, &opened, &err), ERR_UNAUTHORIZED);
    error_clear(&err);
}

/* Every single character matters. */
static void refuses_any_change(void **state)
{
    (void)state;
    struct error *err = NULL;
    struct session session;
    struct session_claim opened;
    char id[ID_SIZE];
    id_new("sbx_", id);
    assert_ok(session_issue(ring, id, 60, &session, &err));
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

static bool is_this(const char *token, void *context)
{
    return !strcmp(token, context);
}

static bool count(const char *token, void *context)
{
    (void)token;
    ++*(int *)context;
    return false;
}

static void knows_what_it_may_have_issued(void **state)
{
    (void)state;
    static const uint64_t lives_s[] = {1, 60, 3600, 604800};
    struct error *err = NULL;
    struct session session;
    char id[ID_SIZE], other[ID_SIZE];
    id_new("sbx_", id);
    id_new("sbx_", other);
    for (size_t i = 0; i < ARRAY_SIZE(lives_s); i++) {
        int tried = 0;
        assert_ok(session_issue(ring, id, lives_s[i], &session, &err));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_what_it_issued),
        cmocka_unit_test(a_lasting_token_ends_with_its_epoch),
        cmocka_unit_test(refuses_an_expired_token),
        cmocka_unit_test(refuses_any_change),
        cmocka_unit_test(knows_what_it_may_have_issued),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, load_ring, drop_ring);
}

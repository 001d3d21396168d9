/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "front/front.h"
#include "unit/keyring.h"
#include "unit/schema.h"

#define OTHER_KEY_2 "2 0011223344556677001122334455667700112233445566770011223344556677\n"

static struct front_ring compared(const char *text)
{
    error_auto err = NULL;
    struct front_ring found;
    struct keyring *ring = unit_keyring(text);
    assert_ok(front_ring_compare(db, ring, &found, &err));
    keyring_free(ring);
    return found;
}

static int start(const char *text, struct error **err)
{
    struct keyring *ring = unit_keyring(text);
    int result = front_ring_check(db, ring, err);
    keyring_free(ring);
    return result;
}

/* UNIT_KEY_2, known and not used yet. */
static char *with_next(void)
{
    return xasprintf(UNIT_KEY_1 "%.*s next\n", (int)strlen(UNIT_KEY_2) - 1, UNIT_KEY_2);
}

TEST(tells_a_front_of_another_ring)
{
    error_auto err = NULL;
    bool forgotten;
    autofree char *next = with_next();
    assert_ok(start(UNIT_KEY_1, &err));
    assert_ok(start(UNIT_KEY_1, &err));
    assert_int_equal(compared(UNIT_KEY_1).other, 0);
    /* In two steps: first it is known, then it is used. */
    assert_ok(start(next, &err));
    assert_int_equal(compared(UNIT_KEY_1).to_add, 2);
    assert_int_equal(compared(UNIT_KEY_1).lacks, 0);
    assert_ok(start(UNIT_KEY_1 UNIT_KEY_2, &err));
    assert_ok(start(next, &err)); /* one that has not been told of its use yet */
    assert_int_equal(compared(UNIT_KEY_1).lacks, 2);
    assert_int_equal(compared(next).lacks, 0);
    assert_ok(start(UNIT_KEY_1, &err)); /* which it is warned of */
    assert_int_equal(compared(UNIT_KEY_1 OTHER_KEY_2).other, 2);
    assert_fails_saying(start(UNIT_KEY_1 OTHER_KEY_2, &err), ERR_CONFIG, "keyring forget 2");
    error_clear(&err);
    assert_ok(front_ring_forget(db, 2, &forgotten, &err));
    assert_true(forgotten);
    assert_ok(start(UNIT_KEY_1 OTHER_KEY_2, &err));
    assert_int_equal(compared(UNIT_KEY_1 UNIT_KEY_2).other, 2);
    assert_ok(front_ring_forget(db, 9, &forgotten, &err));
    assert_false(forgotten);
}

static char none[] = "";
static const struct settings settings = {
    .base_url = none,
    .console_url = none,
    .data_plane_host = none,
    .default_template = none,
    .database_name = none,
    .oidc_issuer = none,
    .oidc_client_id = none,
    .archive_url = none,
};

static void change(const char *statement)
{
    assert_int_equal(mysql_query(raw, statement), 0);
}

static void note(const char *text)
{
    error_auto err = NULL;
    struct keyring *ring = unit_keyring(text);
    assert_ok(front_note(db, ring, &settings, &err));
    keyring_free(ring);
}

static int is_in_use(const char *text, struct error **err)
{
    struct keyring *ring = unit_keyring(text);
    int result = front_ring_in_use(db, ring, err);
    keyring_free(ring);
    return result;
}

TEST(knows_whether_each_front_uses_the_newest_key)
{
    error_auto err = NULL;
    autofree char *next = with_next();
    assert_ok(is_in_use(UNIT_KEY_1 UNIT_KEY_2, &err)); /* no front runs */
    note(next);
    assert_ok(is_in_use(UNIT_KEY_1, &err));
    assert_fails_saying(is_in_use(UNIT_KEY_1 UNIT_KEY_2, &err), ERR_INVALID_REQUEST, "uses key 2");
    error_clear(&err);
    note(UNIT_KEY_1 UNIT_KEY_2);
    assert_ok(is_in_use(UNIT_KEY_1 UNIT_KEY_2, &err));
    change("INSERT INTO fronts (name, settings, seen_at_ms) SELECT 'front2', '{}', seen_at_ms"
           " FROM fronts");
    assert_fails_saying(is_in_use(UNIT_KEY_1 UNIT_KEY_2, &err), ERR_INVALID_REQUEST, "front2");
    error_clear(&err);
    change("UPDATE fronts SET seen_at_ms = seen_at_ms - 3600000 WHERE name = 'front2'");
    assert_ok(is_in_use(UNIT_KEY_1 UNIT_KEY_2, &err)); /* it has ended */
}

/* The front node that has not read the last key; "": all have. */
static const char *lagging(unsigned *count)
{
    static char name[65];
    error_auto err = NULL;
    struct front_lag *list;
    assert_ok(front_ring_lags(db, &list, count, &err));
    snprintf(name, sizeof name, "%s", *count ? list[0].front : "");
    free(list);
    return name;
}

TEST(names_each_front_that_has_not_read_the_last_key)
{
    error_auto err = NULL;
    bool forgotten;
    unsigned count;
    autofree char *next = with_next();
    change("DELETE FROM fronts");
    change("DELETE FROM keyring_keys");
    assert_ok(start(UNIT_KEY_1, &err));
    note(UNIT_KEY_1);
    assert_string_equal(lagging(&count), "");
    change("INSERT INTO fronts (name, settings, seen_at_ms) SELECT 'front2', settings, seen_at_ms"
           " FROM fronts");
    assert_ok(start(next, &err)); /* keyring add, on the first front node */
    note(next);
    assert_string_equal(lagging(&count), "front2");
    assert_int_equal(count, 1);
    change("UPDATE fronts SET settings = '{\"keyring newest\": 1}' WHERE name = 'front2'");
    assert_string_equal(lagging(&count), ""); /* a previous version does not say */
    change("UPDATE fronts SET settings = '{\"keyring last\": 1}' WHERE name = 'front2'");
    assert_string_equal(lagging(&count), "front2");
    change("UPDATE fronts SET seen_at_ms = seen_at_ms - 3600000 WHERE name = 'front2'");
    assert_string_equal(lagging(&count), ""); /* it has ended */
    assert_ok(front_ring_forget(db, 2, &forgotten, &err));
}

TEST_GROUP(schema_setup, schema_teardown)

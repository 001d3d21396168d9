/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two teams with an owner each, in a database of the test's own, and a key ring. */
#pragma once

#include "account/account.h"
#include "unit/keyring.h"
#include "unit/schema.h"

static struct keyring *ring;
static struct user alice, bob;
static struct team acme, other;

static int tenants_setup(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    ring = unit_keyring(UNIT_KEY_1);
    return user_create(db, "alice", &alice, &err) < 0 || user_create(db, "bob", &bob, &err) < 0 ||
           team_create(db, "acme", "pro", "alice", &acme, &err) < 0 ||
           team_create(db, "other", "pro", "bob", &other, &err) < 0;
}

/* Do the same, and let raw insert rows without the rows and values that the schema requires. */
static inline int tenants_setup_unchecked(void **state)
{
    int result = tenants_setup(state);
    server_say(raw, "SET SESSION foreign_key_checks = 0, sql_mode = ''");
    return result;
}

static int tenants_teardown(void **state)
{
    keyring_free(ring);
    return schema_teardown(state);
}

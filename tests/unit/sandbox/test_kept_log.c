/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs of paused sandboxes: written while a pause is under way only, and bounded for a team. */
#include "unit/unit.h"

#include "account/account.h"
#include "base/clock.h"
#include "sandbox/kept_log.h"
#include "template/template.h"
#include "unit/schema.h"

#define SIZE 1000

static struct user alice, bob;
static struct template_version version;

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0)
        return -1;
    server_say(raw,
               "INSERT INTO hosts (id, name, state, url, project, pool, nic_prefix,"
               " address_range, vcpus, memory_mb, created_at_ms)"
               " VALUES (1, 'h', 'active', 'unix:///h', 'p', 'p', 'sl', '10.0.0.0/16', 1, 1, 1)");
    return user_create(db, "alice", &alice, &err) < 0 || user_create(db, "bob", &bob, &err) < 0 ||
           template_version_add(db, TEAM_DEPLOYMENT_ID, "python", "image", 1, 512, false, &version,
                                &err) < 0;
}

static struct sandbox put_sandbox(const char *team_id, const char *state)
{
    struct sandbox sandbox = {.incarnation = 3};
    id_new("sbx_", sandbox.id);
    snprintf(sandbox.team_id, ID_SIZE, "%s", team_id);
    autofree char *text = xasprintf(
        "INSERT INTO sandboxes (id, team_id, created_by, route, state, visible, reserved,"
        " incarnation, template_slug, template_version_id, timeout_s, on_timeout, auto_resume, cpu,"
        " memory_mb, disk_gb, metadata, volume_mounts, network, allow_public_traffic, host_id,"
        " instance_name, address, agent_key_id, created_at_ms, updated_at_ms) VALUES ('%s', '%s',"
        " 'usr', '%.26s', '%s', 0, 0, 3, 'python', '%s', 300, 'kill', 0, 1, 512, 10, '{}', '{}',"
        " '{}', 1, 1, '%s', 1, 1, 1, 1)",
        sandbox.id, team_id, sandbox.id + 4, state, version.id, sandbox.id);
    server_say(raw, text);
    return sandbox;
}

static void keep(const struct sandbox *sandbox, char filling)
{
    struct error *err = NULL;
    char text[SIZE];
    buffer_auto sealed = BUFFER_INIT(SIZE);
    memset(text, filling, SIZE);
    buffer_append(&sealed, text, SIZE);
    assert_ok(kept_log_insert(db, sandbox, &sealed, &err));
}

/* The byte that what is kept begins with; 0: nothing is. */
static char kept(const struct sandbox *sandbox)
{
    struct error *err = NULL;
    buffer_auto sealed = BUFFER_INIT(SIZE);
    assert_ok(kept_log_get(db, sandbox->id, &sealed, &err));
    assert_true(!sealed.size || sealed.size == SIZE);
    return sealed.size ? sealed.data[0] : '\0';
}

TEST(the_last_pause_counts)
{
    struct error *err = NULL;
    struct sandbox sandbox = put_sandbox(alice.personal_team_id, "stopping");
    keep(&sandbox, 'a');
    keep(&sandbox, 'b');
    assert_int_equal(kept(&sandbox), 'b');
    assert_ok(kept_log_drop(db, sandbox.id, &err));
    assert_int_equal(kept(&sandbox), 0);
}

TEST(nothing_is_kept_beside_a_pause)
{
    struct sandbox ready = put_sandbox(alice.personal_team_id, "ready"),
                   deleted = put_sandbox(alice.personal_team_id, "destroying"),
                   overtaken = put_sandbox(alice.personal_team_id, "stopping");
    overtaken.incarnation = 2;
    keep(&ready, 'a');
    keep(&deleted, 'a');
    keep(&overtaken, 'a');
    assert_int_equal(kept(&ready), 0);
    assert_int_equal(kept(&deleted), 0);
    assert_int_equal(kept(&overtaken), 0);
}

TEST(the_oldest_of_a_team_make_room)
{
    struct error *err = NULL;
    struct sandbox own[4], others = put_sandbox(bob.personal_team_id, "stopping");
    keep(&others, 'o');
    for (unsigned i = 0; i < ARRAY_SIZE(own); i++) {
        own[i] = put_sandbox(alice.personal_team_id, "stopping");
        keep(&own[i], (char)('0' + i));
        clock_sleep_ms(2);
    }
    assert_ok(kept_log_trim(db, alice.personal_team_id, (uint64_t)4 * SIZE, &err));
    assert_int_equal(kept(&own[0]), '0');
    assert_ok(kept_log_trim(db, alice.personal_team_id, (uint64_t)3 * SIZE - 1, &err));
    assert_int_equal(kept(&own[0]), 0);
    assert_int_equal(kept(&own[1]), 0);
    assert_int_equal(kept(&own[2]), '2');
    assert_int_equal(kept(&own[3]), '3');
    assert_int_equal(kept(&others), 'o');
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)

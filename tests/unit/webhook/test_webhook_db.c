/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of the delivery read the webhooks that are due, and no messages of others. */
#include "unit/unit.h"

#include "base/clock.h"
#include "unit/tenants.h"
#include "webhook/webhook.h"

#define READS_MAX 100

static struct webhook first, second;

static void make(const struct team *team, struct webhook *webhook)
{
    struct error *err = NULL;
    char secret[WEBHOOK_SECRET_SIZE];
    *webhook = (struct webhook){.url = "https://example.com/", .enabled = true};
    assert_ok(webhook_create(db, ring, team, alice.id, webhook, secret, &err));
}

static int set_up(void **state)
{
    if (tenants_setup(state) < 0)
        return -1;
    make(&acme, &first);
    make(&other, &second);
    return 0;
}

static void add(const struct webhook *webhook, const char *message_id, int64_t next_at_ms)
{
    struct error *err = NULL;
    struct webhook_message message = {.kind = "sandbox.died",
                                      .body = (char[]){"{}"},
                                      .state = MESSAGE_WAITING,
                                      .next_at_ms = next_at_ms};
    snprintf(message.webhook_id, sizeof message.webhook_id, "%s", webhook->id);
    snprintf(message.message_id, sizeof message.message_id, "%s", message_id);
    assert_ok(webhook_message_add(db, &message, &err));
}

/* The number of due webhooks; *id: the first one. */
static unsigned due(char id[ID_SIZE])
{
    struct error *err = NULL;
    char ids[8][ID_SIZE] = {""};
    unsigned count;
    assert_ok(webhook_list_due(db, 8, ids, &count, &err));
    memcpy(id, ids[0], ID_SIZE);
    return count;
}

TEST(a_look_costs_the_webhooks_that_are_due)
{
    struct error *err = NULL;
    char id[ID_SIZE];
    int64_t now_ms = clock_now_ms();
    assert_int_equal(due(id), 0);
    for (unsigned i = 0; i < 500; i++) {
        char message_id[16];
        snprintf(message_id, sizeof message_id, "m%u", i);
        add(&first, message_id, now_ms + 3600000);
    }
    assert_int_equal(due(id), 0);
    add(&second, "one", now_ms);
    uint64_t before = schema_reads();
    assert_int_equal(due(id), 1);
    assert_true(schema_reads() - before < READS_MAX);
    assert_string_equal(id, second.id);
    /* Nothing is left to send. */
    server_say(raw, "DELETE FROM webhook_messages WHERE message_id = 'one'");
    assert_ok(webhook_due_next(db, second.id, &err));
    assert_int_equal(due(id), 0);
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM webhooks WHERE due_at_ms IS NULL"), 1);
}

/* A webhook with much to send comes behind the one that has waited. */
TEST(webhooks_take_turns)
{
    struct error *err = NULL;
    char id[ID_SIZE];
    add(&first, "old1", 1);
    add(&first, "old2", 2);
    add(&second, "newer", 100000);
    assert_int_equal(due(id), 2);
    assert_string_equal(id, first.id);
    server_say(raw, "DELETE FROM webhook_messages WHERE message_id = 'old1'");
    assert_ok(webhook_due_next(db, first.id, &err));
    assert_int_equal(due(id), 2);
    assert_string_equal(id, second.id);
}

TEST(dead_letters_are_due_when_they_are_sent_again)
{
    struct error *err = NULL;
    char id[ID_SIZE];
    unsigned resent, left, waiting;
    server_say(raw, "UPDATE webhook_messages SET state = 'dead'");
    assert_ok(webhook_due_next(db, first.id, &err));
    assert_ok(webhook_due_next(db, second.id, &err));
    assert_int_equal(due(id), 0);
    assert_ok(webhook_resend_dead(db, first.id, &resent, &left, &err));
    assert_int_equal(resent, 501);
    assert_int_equal(left, 0);
    assert_ok(webhook_waiting(db, first.id, &waiting, &err));
    assert_int_equal(waiting, 501);
    assert_int_equal(due(id), 1);
    assert_string_equal(id, first.id);
}

TEST(dead_letters_are_trimmed)
{
    struct error *err = NULL;
    server_say(raw, "DELETE FROM webhook_messages");
    for (unsigned i = 0; i < WEBHOOK_DEAD_MAX + 5; i++) {
        autofree char *text =
            xasprintf("INSERT INTO webhook_messages (id, webhook_id, message_id, kind, body, state,"
                      " created_at_ms, next_at_ms) VALUES ('whm_%05u', '%s', '%u', 'k', '{}',"
                      " 'dead', 1, 1)",
                      i, first.id, i);
        server_say(raw, text);
    }
    assert_ok(webhook_trim(db, first.id, &err));
    assert_int_equal(server_ask(raw, "SELECT COUNT(*) FROM webhook_messages"), WEBHOOK_DEAD_MAX);
    assert_int_equal(
        server_ask(raw, "SELECT COUNT(*) FROM webhook_messages WHERE id < 'whm_00005'"), 0);
}

TEST(changed_webhooks_are_listed)
{
    struct error *err = NULL;
    struct webhook *list, changed;
    unsigned count;
    bool enabled = false;
    server_say(raw, "UPDATE webhooks SET changed_at_ms = 1");
    assert_ok(webhook_list_changed(db, &list, &count, &err));
    assert_int_equal(count, 0);
    assert_ok(webhook_update(db, ring, first.id, &(struct webhook_change){.enabled = &enabled},
                             &changed, &err));
    assert_ok(webhook_delete(db, second.id, &err));
    assert_ok(webhook_list_changed(db, &list, &count, &err));
    assert_int_equal(count, 2);
    assert_false(list[0].enabled || list[1].enabled);
    free(list);
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, tenants_teardown)

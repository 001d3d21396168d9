/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>

#include "base/mem.h"
#include "incus/incus_event.h"

/* Of RFC 6455, section 1.3. */
#define KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

#define HEAD                               \
    "HTTP/1.1 101 Switching Protocols\r\n" \
    "Upgrade: websocket\r\n"               \
    "Connection: Upgrade\r\n"              \
    "Sec-WebSocket-Accept: " ACCEPT "\r\n\r\n"

TEST(answers_to_a_key)
{
    char accept[INCUS_UPGRADE_ACCEPT_SIZE];

    incus_upgrade_accept(KEY, accept);
    assert_string_equal(accept, ACCEPT);
}

TEST(makes_a_new_key_each_time)
{
    char first[INCUS_UPGRADE_KEY_SIZE], second[INCUS_UPGRADE_KEY_SIZE];

    incus_upgrade_key(first);
    incus_upgrade_key(second);
    assert_int_equal(strlen(first), INCUS_UPGRADE_KEY_SIZE - 1);
    assert_string_not_equal(first, second);
}

static int read_head(const char *text)
{
    /* Without the end of the string: nothing may read beyond the bytes that came. */
    size_t size = strlen(text);
    autofree char *bytes = xmemdup(text, size);

    return incus_upgrade_read(bytes, size, ACCEPT);
}

TEST(reads_an_agreement)
{
    assert_int_equal(read_head(HEAD), strlen(HEAD));
    assert_int_equal(read_head(HEAD "\x81\x02{}"), strlen(HEAD));
    assert_true(
        read_head("HTTP/1.1 101 X\r\nupgrade:WebSocket\r\nDate: today\r\nCONNECTION: \tUpgrade \r\n"
                  "sec-websocket-accept: " ACCEPT "\r\n\r\n") > 0);
}

TEST(waits_for_the_whole_head)
{
    for (size_t size = 0; size < strlen(HEAD); size++) {
        autofree char *part = xstrndup(HEAD, size);
        assert_int_equal(read_head(part), 0);
    }
}

TEST(refuses_other_heads)
{
    static const char *const heads[] = {
        "HTTP/1.1 403 Forbidden\r\n\r\n",
        "HTTP/1.1 200 OK\r\nUpgrade: websocket\r\n",
        "HTTP/1.0 101 Switching Protocols\r\n",
        "nonsense",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 101 \r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " ACCEPT
        "\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: close\r\nSec-WebSocket-Accept: " ACCEPT
        "\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: " ACCEPT "=\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        assert_int_equal(read_head(heads[i]), -1);
}

TEST(refuses_a_head_without_end)
{
    char head[INCUS_UPGRADE_HEAD_MAX];

    memset(head, 'x', sizeof(head));
    memcpy(head, HEAD, strlen("HTTP/1.1 101 Switching Protocols\r\n"));
    assert_int_equal(incus_upgrade_read(head, sizeof(head) - 1, ACCEPT), 0);
    assert_int_equal(incus_upgrade_read(head, sizeof(head), ACCEPT), -1);
}

static struct incus_event read_event(const char *text)
{
    struct incus_event event;
    autofree char *bytes = xmemdup(text, strlen(text));

    incus_event_read(bytes, strlen(text), &event);
    return event;
}

#define EVENT(action, name)                                                                      \
    "{\"type\":\"lifecycle\",\"timestamp\":\"2026-11-21T18:51:00.1Z\",\"metadata\":{\"action\":" \
    "\"" action "\",\"source\":\"/1.0/instances/" name "?project=sandlot\",\"name\":\"" name     \
    "\",\"project\":\"sandlot\"},\"location\":\"none\",\"project\":\"sandlot\"}"

TEST(reads_events)
{
    static const struct {
        const char *text;
        enum incus_event_kind kind;
    } cases[] = {
        {EVENT("instance-shutdown", "sbx-1"), INCUS_EVENT_ENDED},
        {EVENT("instance-stopped", "sbx-1"), INCUS_EVENT_ENDED},
        {EVENT("instance-deleted", "sbx-1"), INCUS_EVENT_ENDED},
        {EVENT("instance-restarted", "sbx-1"), INCUS_EVENT_RESTARTED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct incus_event event = read_event(cases[i].text);
        assert_int_equal(event.kind, cases[i].kind);
        assert_string_equal(event.instance, "sbx-1");
    }
}

TEST(passes_over_the_rest)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"type\":\"lifecycle\"}",
        "{\"type\":\"lifecycle\",\"metadata\":null}",
        "{\"type\":\"lifecycle\",\"metadata\":{\"action\":\"instance-stopped\"}}",
        "{\"type\":\"lifecycle\",\"metadata\":{\"action\":\"instance-stopped\",\"name\":7}}",
        "{\"type\":\"logging\",\"metadata\":{\"action\":\"instance-stopped\",\"name\":\"sbx-1\"}}",
        EVENT("instance-started", "sbx-1"),
        EVENT("instance-paused", "sbx-1"),
        EVENT("storage-volume-deleted", "sbx-1"),
        EVENT("instance-stopped", ""),
        EVENT("instance-stopped",
              "n123456789012345678901234567890123456789012345678901234567890123"),
        EVENT("instance-stopped", "sbx-1") "x",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct incus_event event = read_event(texts[i]);
        assert_int_equal(event.kind, INCUS_EVENT_OTHER);
        assert_string_equal(event.instance, "");
    }
}

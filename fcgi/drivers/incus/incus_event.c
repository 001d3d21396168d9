/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "incus/incus_event.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"

#define KEY_BYTES 16
#define SHA1_SIZE 20

/* Of RFC 6455, section 1.3. */
#define ACCEPT_SUFFIX "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

void incus_upgrade_key(char key[INCUS_UPGRADE_KEY_SIZE])
{
    unsigned char bytes[KEY_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        panic("the random number generator failed");
    EVP_EncodeBlock((unsigned char *)key, bytes, sizeof bytes);
}

void incus_upgrade_accept(const char *key, char accept[INCUS_UPGRADE_ACCEPT_SIZE])
{
    autofree char *text = xasprintf("%s" ACCEPT_SUFFIX, key);
    unsigned char digest[SHA1_SIZE];
    if (EVP_Digest(text, strlen(text), digest, NULL, EVP_sha1(), NULL) != 1)
        panic("SHA-1 is not available");
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
}

/* The value of a header in a head of `size` bytes with complete lines, without the blanks around
 * it; or NULL. */
static const char *header(const char *head, size_t size, const char *name, size_t *length)
{
    const char *end = head + size;
    const char *line = memmem(head, size, "\r\n", 2);
    for (line += 2; line < end; line += 2) {
        const char *line_end = memmem(line, (size_t)(end - line), "\r\n", 2);
        size_t name_length = strlen(name);
        if ((size_t)(line_end - line) > name_length && line[name_length] == ':' &&
            strncasecmp(line, name, name_length) == 0) {
            const char *value = line + name_length + 1;
            while (value < line_end && (*value == ' ' || *value == '\t'))
                value++;
            while (line_end > value && (line_end[-1] == ' ' || line_end[-1] == '\t'))
                line_end--;
            *length = (size_t)(line_end - value);
            return value;
        }
        line = line_end;
    }
    return NULL;
}

static bool has(const char *head, size_t size, const char *name, const char *wanted,
                bool any_letter_case)
{
    size_t length;
    const char *value = header(head, size, name, &length);
    if (!value || length != strlen(wanted))
        return false;
    return any_letter_case ? strncasecmp(value, wanted, length) == 0
                           : memcmp(value, wanted, length) == 0;
}

int incus_upgrade_read(const char *data, size_t size, const char *accept)
{
    static const char agreed[] = "HTTP/1.1 101 ";
    size_t begun = size < sizeof agreed - 1 ? size : sizeof agreed - 1;
    const char *end = memmem(data, size, "\r\n\r\n", 4);
    if (memcmp(data, agreed, begun) != 0)
        return -1;
    if (!end)
        return size < INCUS_UPGRADE_HEAD_MAX ? 0 : -1;
    size_t lines = (size_t)(end - data) + 2;
    if (lines + 2 > INCUS_UPGRADE_HEAD_MAX || !has(data, lines, "Upgrade", "websocket", true) ||
        !has(data, lines, "Connection", "upgrade", true) ||
        !has(data, lines, "Sec-WebSocket-Accept", accept, false))
        return -1;
    return (int)lines + 2;
}

/* --- events --- */

static const struct {
    const char *action;
    enum incus_event_kind kind;
} actions[] = {
    {"instance-shutdown", INCUS_EVENT_ENDED},
    {"instance-stopped", INCUS_EVENT_ENDED},
    {"instance-deleted", INCUS_EVENT_ENDED},
    {"instance-restarted", INCUS_EVENT_RESTARTED},
};

void incus_event_read(const char *text, size_t size, struct incus_event *event)
{
    json_auto_t *json = json_loadb(text, size, 0, NULL);
    const char *type, *action, *name;
    *event = (struct incus_event){.kind = INCUS_EVENT_OTHER};
    if (json_unpack(json, "{s:s, s:{s:s, s:s}}", "type", &type, "metadata", "action", &action,
                    "name", &name) < 0 ||
        !str_equal(type, "lifecycle") || *name == '\0' || strlen(name) >= sizeof event->instance)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        if (str_equal(action, actions[i].action)) {
            event->kind = actions[i].kind;
            memcpy(event->instance, name, strlen(name) + 1);
        }
    }
}

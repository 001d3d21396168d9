/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/proxy_hello.h"

#include <string.h>

#include "base/ipv4.h"
#include "base/mem.h"
#include "crypto/mac.h"

#define VERSION          5
#define PASSWORD_VERSION 1
#define METHOD_NONE      0
#define METHOD_PASSWORD  2
#define COMMAND_CONNECT  1
#define ADDRESS_IPV4     1
#define ADDRESS_NAME     3
#define ADDRESS_IPV6     4
#define REPLY_HEAD       5 /* version, reply, reserved, kind of address, its first byte */
#define CREDENTIALS_MAX  520
#define STATUS_SIZE      12 /* "HTTP/1.1 200" */

/* --- what the proxy gets --- */

static void append_byte(struct buffer *out, unsigned byte)
{
    buffer_append_char(out, (char)byte);
}

static void append_text(struct buffer *out, const char *text)
{
    append_byte(out, (unsigned)strlen(text));
    buffer_append_string(out, text);
}

static void ask_http(const struct proxy_hello *hello, struct buffer *out)
{
    char address[IPV4_TEXT_SIZE], code[BASE64_PADDED_SIZE(CREDENTIALS_MAX)];
    ipv4_format(hello->address, address);
    buffer_printf(out, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n", address, hello->port, address,
                  hello->port);
    if (hello->username) {
        autowipe char *credentials = xasprintf("%s:%s", hello->username, hello->password);
        base64_encode(credentials, strlen(credentials), code);
        buffer_printf(out, "Proxy-Authorization: Basic %s\r\n", code);
        mem_wipe(code, sizeof code);
    }
    buffer_append_string(out, "\r\n");
}

/* A proxy that gets a password must ask for it. */
static void ask_method(struct proxy_hello *hello, struct buffer *out)
{
    append_byte(out, VERSION);
    append_byte(out, 1);
    append_byte(out, hello->username ? METHOD_PASSWORD : METHOD_NONE);
    hello->wanted = 2;
}

static void ask_password(struct proxy_hello *hello, struct buffer *out)
{
    append_byte(out, PASSWORD_VERSION);
    append_text(out, hello->username);
    append_text(out, hello->password);
    hello->state = PROXY_PASSWORD;
    hello->wanted = 2;
}

static void ask_target(struct proxy_hello *hello, struct buffer *out)
{
    const unsigned head[] = {VERSION, COMMAND_CONNECT, 0, ADDRESS_IPV4};
    for (size_t i = 0; i < ARRAY_SIZE(head); i++)
        append_byte(out, head[i]);
    for (unsigned shift = 32; shift; shift -= 8)
        append_byte(out, hello->address >> (shift - 8) & 0xff);
    append_byte(out, hello->port >> 8);
    append_byte(out, hello->port & 0xff);
    hello->state = PROXY_REPLY;
    hello->wanted = REPLY_HEAD;
}

void proxy_hello_begin(struct proxy_hello *hello, struct buffer *out)
{
    hello->state = hello->is_http ? PROXY_STATUS : PROXY_METHOD;
    hello->wanted = STATUS_SIZE;
    if (hello->is_http)
        ask_http(hello, out);
    else
        ask_method(hello, out);
}

/* --- what it answers --- */

static enum proxy_result refuse(struct proxy_hello *hello, const char *reason)
{
    hello->reason = reason;
    return PROXY_REFUSED;
}

/* Return the size of a reply, by its head; 0: it has no such kind of address. */
static size_t reply_size(const uint8_t *head)
{
    switch (head[3]) {
    case ADDRESS_IPV4:
        return 10;
    case ADDRESS_IPV6:
        return 22;
    case ADDRESS_NAME:
        return 7u + head[4];
    default:
        return 0;
    }
}

static enum proxy_result take_reply(struct proxy_hello *hello)
{
    const uint8_t *part = hello->part;
    size_t size = reply_size(part);
    if (part[0] != VERSION || !size)
        return refuse(hello, "the proxy's answer is not SOCKS5");
    if (part[1])
        return refuse(hello, "the proxy refused to connect to the target");
    hello->wanted = size;
    return hello->got == size ? PROXY_OPEN : PROXY_MORE;
}

/* Handle a complete part of SOCKS5. */
static enum proxy_result take_part(struct proxy_hello *hello, struct buffer *out)
{
    const uint8_t *part = hello->part;
    if (hello->state == PROXY_REPLY)
        return take_reply(hello);
    hello->got = 0;
    if (hello->state == PROXY_PASSWORD) {
        if (part[0] != PASSWORD_VERSION || part[1])
            return refuse(hello, "the proxy refused the password");
    } else if (part[0] != VERSION || part[1] != (hello->username ? METHOD_PASSWORD : METHOD_NONE)) {
        return refuse(hello, hello->username
                                 ? "the proxy does not support passwords"
                                 : "the proxy needs a password, or is not a SOCKS5 proxy");
    } else if (hello->username) {
        ask_password(hello, out);
        return PROXY_MORE;
    }
    ask_target(hello, out);
    return PROXY_MORE;
}

static bool status_is_good(const struct proxy_hello *hello)
{
    const char *status = (const char *)hello->part;
    return !memcmp(status, "HTTP/1.", 7) && status[8] == ' ' && status[9] == '2';
}

/* Take a byte of an HTTP answer: an empty line ends it. */
static enum proxy_result take_http(struct proxy_hello *hello, uint8_t byte)
{
    if (hello->state == PROXY_STATUS) {
        hello->part[hello->got++] = byte;
        if (hello->got < STATUS_SIZE)
            return byte == '\n' ? refuse(hello, "the proxy's answer is not HTTP") : PROXY_MORE;
        hello->state = PROXY_HEADERS;
        return status_is_good(hello) ? PROXY_MORE
                                     : refuse(hello, "the proxy refused the CONNECT request");
    }
    if (byte == '\n' && !hello->got)
        return PROXY_OPEN;
    if (byte == '\n')
        hello->got = 0;
    else if (byte != '\r')
        hello->got++;
    return PROXY_MORE;
}

static enum proxy_result take_byte(struct proxy_hello *hello, uint8_t byte, struct buffer *out)
{
    if (hello->is_http)
        return take_http(hello, byte);
    hello->part[hello->got++] = byte;
    return hello->got == hello->wanted ? take_part(hello, out) : PROXY_MORE;
}

enum proxy_result proxy_hello_take(struct proxy_hello *hello, const uint8_t *data, size_t size,
                                   size_t *used, struct buffer *out)
{
    enum proxy_result result = PROXY_MORE;
    for (*used = 0; result == PROXY_MORE && *used < size; (*used)++) {
        if (hello->total++ == PROXY_ANSWER_MAX)
            return refuse(hello, "the proxy's answer is too long");
        result = take_byte(hello, data[*used], out);
    }
    return result;
}

void proxy_hello_deinit(struct proxy_hello *hello)
{
    mem_wipe_free(hello->username);
    mem_wipe_free(hello->password);
    hello->username = hello->password = NULL;
}

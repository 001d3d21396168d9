/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "helper/criu/sockets.h"

/* An image as CRIU writes it. */
struct image {
    unsigned char data[4096];
    size_t size;
};

struct connection {
    int family, proto, state;
    unsigned src_port, dst_port;
    const char *from, *to;
};

static void add(struct image *image, const void *data, size_t size)
{
    assert_true(image->size + size <= sizeof image->data);
    memcpy(image->data + image->size, data, size);
    image->size += size;
}

static void add_number(struct image *image, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        add(image, &byte, 1);
    } while (value >>= 7);
}

static void add_field(struct image *image, unsigned field, uint64_t value)
{
    add_number(image, field << 3);
    add_number(image, value);
}

static void add_inside(struct image *image, unsigned field, const struct image *inside)
{
    add_number(image, field << 3 | 2);
    add_number(image, inside->size);
    add(image, inside->data, inside->size);
}

static void add_address(struct image *image, unsigned field, int family, const char *text)
{
    uint32_t words[4];
    assert_int_equal(inet_pton(family, text, words), 1);
    for (int i = 0; i < (family == AF_INET ? 1 : 4); i++)
        add_field(image, field, words[i]);
}

static void add_message(struct image *image, const struct image *message)
{
    uint32_t size = (uint32_t)message->size;
    add(image, &size, sizeof size);
    add(image, message->data, message->size);
}

static void add_connection(struct image *image, const struct connection *connection)
{
    struct image socket = {.size = 0}, entry = {.size = 0}, owner = {.size = 0};
    add_field(&owner, 1, 1000);
    add_field(&socket, 1, 7);
    add_field(&socket, 2, 70000);
    add_field(&socket, 3, (uint64_t)connection->family);
    add_field(&socket, 4, SOCK_STREAM);
    add_field(&socket, 5, (uint64_t)connection->proto);
    add_field(&socket, 6, (uint64_t)connection->state);
    add_field(&socket, 7, connection->src_port);
    add_field(&socket, 8, connection->dst_port);
    add_field(&socket, 9, 0x802);
    add_field(&socket, 10, 0);
    add_address(&socket, 11, connection->family, connection->from);
    add_address(&socket, 12, connection->family, connection->to);
    add_inside(&socket, 13, &owner);
    add_field(&entry, 1, 2);
    add_field(&entry, 2, 7);
    add_inside(&entry, 4, &socket);
    add_message(image, &entry);
}

static void begin(struct image *image)
{
    *image = (struct image){.size = 0};
    add(image, "\x19\x07\x07\x54\x39\x24\x12\x56", 8);
}

static void is_left(const struct connection *connection)
{
    struct image image, before;
    begin(&image);
    add_connection(&image, connection);
    before = image;
    assert_int_equal(sockets_edit(image.data, image.size), 0);
    if (memcmp(image.data, before.data, image.size))
        fail_msg("the connection from %s to %s was changed", connection->from, connection->to);
}

/* The number of a field in the only socket, as protobuf reads it. */
static uint64_t number_of(const struct image *image, unsigned field)
{
    /* magic, size, type and id, tag and length of the socket */
    const unsigned char *at = image->data + 8 + 4 + 4 + 2;
    const unsigned char *end = image->data + image->size;
    while (at < end) {
        uint64_t value = 0;
        unsigned shift = 0, found = *at++ >> 3;
        for (; *at & 0x80; at++, shift += 7)
            value |= (uint64_t)(*at & 0x7f) << shift;
        value |= (uint64_t)*at++ << shift;
        if (found == field)
            return value;
    }
    fail_msg("there is no field %u", field);
    return 0;
}

static void is_closed(const struct connection *connection)
{
    struct image image, once;
    begin(&image);
    add_connection(&image, connection);
    size_t size = image.size;
    assert_int_equal(sockets_edit(image.data, image.size), 0);
    assert_int_equal(image.size, size);
    assert_int_equal(number_of(&image, 6), TCP_CLOSE);
    assert_int_equal(number_of(&image, 7), 0);
    assert_int_equal(number_of(&image, 8), 0);
    assert_int_equal(number_of(&image, 2), 70000);
    assert_int_equal(number_of(&image, 9), 0x802);
    once = image;
    assert_int_equal(sockets_edit(image.data, image.size), 0);
    assert_memory_equal(image.data, once.data, image.size);
}

TEST(connections_on_loopback_stay)
{
    static const struct connection stay[] = {
        {AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, 40000, 8888, "127.0.0.1", "127.0.0.1"},
        {AF_INET, IPPROTO_TCP, TCP_CLOSE_WAIT, 80, 40000, "127.0.0.53", "127.1.2.3"},
        {AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, 40000, 443, "::1", "::1"},
        {AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, 40000, 443, "::ffff:127.0.0.1",
         "::ffff:127.0.0.1"},
        /* no connections */
        {AF_INET, IPPROTO_TCP, TCP_LISTEN, 8888, 0, "0.0.0.0", "0.0.0.0"},
        {AF_INET, IPPROTO_TCP, TCP_CLOSE, 0, 0, "0.0.0.0", "0.0.0.0"},
        {AF_INET, IPPROTO_UDP, TCP_ESTABLISHED, 40000, 53, "10.0.0.5", "10.0.0.1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(stay); i++)
        is_left(&stay[i]);
}

TEST(connections_to_the_outside_end)
{
    static const struct connection end[] = {
        {AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, 40000, 443, "10.0.0.5", "192.0.2.1"},
        {AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, 65535, 1, "10.0.0.5", "10.0.0.5"},
        {AF_INET, IPPROTO_TCP, TCP_SYN_SENT, 40000, 443, "10.0.0.5", "192.0.2.1"},
        {AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, 40000, 443, "fd00::5", "2001:db8::1"},
        {AF_INET6, IPPROTO_TCP, TCP_ESTABLISHED, 49983, 40000, "::ffff:10.0.0.5",
         "::ffff:10.0.0.1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(end); i++)
        is_closed(&end[i]);
}

TEST(an_image_that_is_cut_is_not_changed)
{
    static const struct connection outside = {AF_INET, IPPROTO_TCP, TCP_ESTABLISHED, 40000,
                                              443,     "10.0.0.5",  "192.0.2.1"};
    struct image image, before;
    begin(&image);
    add_connection(&image, &outside);
    size_t first = image.size;
    add_connection(&image, &outside);
    before = image;
    for (size_t size = 0; size < image.size; size++) {
        if (size == 8 || size == first)
            continue;
        assert_int_equal(sockets_edit(image.data, size), -1);
        assert_memory_equal(image.data, before.data, image.size);
    }
}

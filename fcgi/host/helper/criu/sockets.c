/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * files.img is a magic number of eight bytes, then one message a file: its size in four bytes, and
 * a file_entry of CRIU's images/fdinfo.proto. Its field 4 is an inet_sk_entry (sk-inet.proto).
 *
 * To CRIU, a TCP socket is a connection when dst_port is not 0. CRIU creates a socket in state
 * CLOSE without ports, but does not connect it. Numbers keep their length in bytes, as longer forms
 * of a smaller number, because the sizes of image files are checked (image.c).
 */
#include "helper/criu/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define MAGIC_SIZE     8
#define FIELD_SOCKET   4
#define LOOPBACK_FIRST 127 /* byte of an address */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum {
    FIELD_FAMILY = 3,
    FIELD_PROTO = 5,
    FIELD_STATE = 6,
    FIELD_SRC_PORT = 7,
    FIELD_DST_PORT = 8,
    FIELD_SRC_ADDR = 11,
    FIELD_DST_ADDR = 12,
};

struct reader {
    unsigned char *at, *end;
};

/* A number and the place of its bytes. */
struct number {
    uint64_t value;
    unsigned char *at;
    size_t size;
};

/* An address: one word, or four of IPv6. */
struct words {
    uint32_t list[4];
    unsigned count;
};

struct socket {
    struct number family, proto, state, src_port, dst_port;
    struct words from, to;
};

/* --- reading --- */

static int read_number(struct reader *reader, struct number *number)
{
    *number = (struct number){.at = reader->at};
    while (reader->at < reader->end && number->size < 10) {
        unsigned char byte = *reader->at++;
        number->value |= (uint64_t)(byte & 0x7f) << (7 * number->size++);
        if (!(byte & 0x80))
            return 0;
    }
    return -1;
}

static int skip(struct reader *reader, uint64_t size)
{
    if (size > (uint64_t)(reader->end - reader->at))
        return -1;
    reader->at += size;
    return 0;
}

/* Read the next field: its number, its kind, and its value or bytes. Returns 1, 0 at the end, or
 * -1. */
static int read_field(struct reader *reader, unsigned *field, struct number *value,
                      struct reader *inside)
{
    struct number tag;
    if (reader->at == reader->end)
        return 0;
    if (read_number(reader, &tag) < 0)
        return -1;
    *field = (unsigned)(tag.value >> 3);
    *inside = (struct reader){NULL, NULL};
    switch (tag.value & 7) {
    case WIRE_VARINT:
        return read_number(reader, value) < 0 ? -1 : 1;
    case WIRE_64:
        return skip(reader, 8) < 0 ? -1 : 1;
    case WIRE_32:
        return skip(reader, 4) < 0 ? -1 : 1;
    case WIRE_BYTES:
        if (read_number(reader, value) < 0)
            return -1;
        inside->at = reader->at;
        if (skip(reader, value->value) < 0)
            return -1;
        inside->end = reader->at;
        return 1;
    default:
        return -1;
    }
}

static void add_word(struct words *words, uint64_t value)
{
    if (words->count < 4)
        words->list[words->count] = (uint32_t)value;
    words->count++;
}

/* Add repeated numbers, which are written one by one, or packed. */
static int add_words(struct words *words, const struct number *value, struct reader inside)
{
    struct number packed;
    if (!inside.at) {
        add_word(words, value->value);
        return 0;
    }
    while (inside.at < inside.end) {
        if (read_number(&inside, &packed) < 0)
            return -1;
        add_word(words, packed.value);
    }
    return 0;
}

static int read_socket(struct reader reader, struct socket *socket)
{
    unsigned field;
    struct number value = {0};
    struct reader inside;
    int more;
    *socket = (struct socket){.family = {0}};
    while ((more = read_field(&reader, &field, &value, &inside)) > 0) {
        if (field == FIELD_FAMILY)
            socket->family = value;
        else if (field == FIELD_PROTO)
            socket->proto = value;
        else if (field == FIELD_STATE)
            socket->state = value;
        else if (field == FIELD_SRC_PORT)
            socket->src_port = value;
        else if (field == FIELD_DST_PORT)
            socket->dst_port = value;
        else if ((field == FIELD_SRC_ADDR && add_words(&socket->from, &value, inside) < 0) ||
                 (field == FIELD_DST_ADDR && add_words(&socket->to, &value, inside) < 0))
            return -1;
    }
    return more;
}

/* --- choosing --- */

static bool is_loopback_v4(uint32_t word)
{
    unsigned char bytes[4];
    memcpy(bytes, &word, sizeof bytes);
    return bytes[0] == LOOPBACK_FIRST;
}

static bool is_loopback(const struct words *words)
{
    struct in6_addr address;
    if (words->count == 1)
        return is_loopback_v4(words->list[0]);
    if (words->count != 4)
        return false;
    memcpy(&address, words->list, sizeof address);
    return IN6_IS_ADDR_LOOPBACK(&address) ||
           (IN6_IS_ADDR_V4MAPPED(&address) && is_loopback_v4(words->list[3]));
}

static bool is_outside(const struct socket *socket)
{
    return socket->proto.value == IPPROTO_TCP && socket->dst_port.value &&
           !(is_loopback(&socket->from) && is_loopback(&socket->to));
}

/* --- changing --- */

/* Write a value of at most seven bits into the present bytes of a number. */
static void put(const struct number *number, unsigned char value)
{
    for (size_t i = 0; i < number->size; i++)
        number->at[i] = (unsigned char)((i ? 0 : value) | (i + 1 < number->size ? 0x80 : 0));
}

static int edit_socket(struct reader reader, bool change)
{
    struct socket socket;
    if (read_socket(reader, &socket) < 0)
        return -1;
    if (!change || !is_outside(&socket))
        return 0;
    put(&socket.state, TCP_CLOSE);
    put(&socket.src_port, 0);
    put(&socket.dst_port, 0);
    return 0;
}

static int edit_entry(struct reader reader, bool change)
{
    unsigned field;
    struct number value;
    struct reader inside;
    int more;
    while ((more = read_field(&reader, &field, &value, &inside)) > 0)
        if (field == FIELD_SOCKET && inside.at && edit_socket(inside, change) < 0)
            return -1;
    return more;
}

static int edit_all(unsigned char *data, size_t size, bool change)
{
    struct reader reader = {data, data + size};
    if (skip(&reader, MAGIC_SIZE) < 0)
        return -1;
    while (reader.at < reader.end) {
        uint32_t length;
        struct reader entry = {.at = reader.at + sizeof length};
        if ((size_t)(reader.end - reader.at) < sizeof length)
            return -1;
        memcpy(&length, reader.at, sizeof length);
        if (skip(&reader, (uint64_t)length + sizeof length) < 0)
            return -1;
        entry.end = reader.at;
        if (edit_entry(entry, change) < 0)
            return -1;
    }
    return 0;
}

int sockets_edit(unsigned char *data, size_t size)
{
    return edit_all(data, size, false) < 0 ? -1 : edit_all(data, size, true);
}

/* Several sandboxes may be made from one image at once. Each changes the same bytes to the same
 * values before its own CRIU reads them, so no lock is needed. */
int sockets_keep_loopback(const char *folder)
{
    autofree char *path = xasprintf("%s/files.img", folder);
    struct stat found;
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0 || found.st_size < MAGIC_SIZE)
        return -1;
    size_t size = (size_t)found.st_size;
    unsigned char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return -1;
    int result = sockets_edit(data, size);
    munmap(data, size);
    return result;
}

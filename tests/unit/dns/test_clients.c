/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The places for connections of DNS clients, with addresses of 127.0.0.0/8 for sandboxes. */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "dns/clients.h"

#define ALL       512
#define EACH      8
#define ADDRESSES (ALL / EACH)
#define HONEST    (ADDRESSES + 1)

struct fixture {
    struct loop loop;
    struct dns_clients *clients;
    struct sockaddr_in server;
    int held[ALL];
    uint32_t asked_from; /* by the last question */
};

static bool may_connect(void *context, const struct sockaddr_storage *from)
{
    (void)context;
    (void)from;
    return true;
}

static void on_question(void *context, const struct sockaddr_storage *from, uint64_t serial,
                        const uint8_t *wire, size_t size)
{
    struct fixture *fixture = context;
    fixture->asked_from = ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr);
    dns_clients_send(fixture->clients, serial, wire, size);
}

static const struct dns_clients_calls calls = {may_connect, on_question};

static void run(struct fixture *fixture)
{
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(loop_run_once(&fixture->loop, 0), 0);
}

static uint32_t address_of(unsigned number)
{
    return INADDR_LOOPBACK + 0x100 + number;
}

static int connect_from(struct fixture *fixture, unsigned number)
{
    const struct sockaddr_in own = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(address_of(number))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&fixture->server, sizeof fixture->server),
                     0);
    run(fixture);
    return fd;
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const struct rlimit files = {4096, 4096};
    socklen_t size = sizeof fixture->server;
    setrlimit(RLIMIT_NOFILE, &files);
    fixture->server =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&fixture->server, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&fixture->server, &size), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(loop_init(&fixture->loop), 0);
    fixture->clients = dns_clients_open(&fixture->loop, fd, &calls, fixture);
    assert_non_null(fixture->clients);
    for (unsigned i = 0; i < ALL; i++)
        fixture->held[i] = connect_from(fixture, i / EACH);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    dns_clients_close(fixture->clients);
    loop_deinit(&fixture->loop);
    for (unsigned i = 0; i < ALL; i++)
        close(fixture->held[i]);
    free(fixture);
    return 0;
}

static unsigned closed_count(const struct fixture *fixture)
{
    unsigned count = 0;
    for (unsigned i = 0; i < ALL; i++)
        count += is_closed(fixture->held[i]);
    return count;
}

TEST_WITH(an_address_has_so_many_connections, set_up, tear_down)
{
    struct fixture *fixture = *state;
    assert_int_equal(closed_count(fixture), 0);
    int one_more = connect_from(fixture, 0);
    assert_true(is_closed(one_more));
    assert_int_equal(closed_count(fixture), 0);
    close(one_more);
}

TEST_WITH(the_address_with_most_loses_a_connection, set_up, tear_down)
{
    static const uint8_t question[] = {0, 4, 'a', 's', 'k', '?'};
    struct fixture *fixture = *state;
    uint8_t answer[sizeof question];
    int honest = connect_from(fixture, HONEST);
    assert_int_equal(closed_count(fixture), 1);
    assert_true(is_closed(fixture->held[EACH - 1]));
    /* An address that has lost one, and connects again, would have as many as the others. */
    int again = connect_from(fixture, 0);
    assert_true(is_closed(again));
    assert_false(is_closed(honest));
    assert_int_equal(send(honest, question, sizeof question, MSG_NOSIGNAL), sizeof question);
    run(fixture);
    assert_int_equal(fixture->asked_from, address_of(HONEST));
    assert_int_equal(recv(honest, answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
    assert_memory_equal(answer, question, sizeof answer);
    close(again);
    close(honest);
}

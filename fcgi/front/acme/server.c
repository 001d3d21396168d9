/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acme/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "acme/zone.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dns/clients.h"
#include "dns/listen.h"

#define TICK_MS     1000
#define UDP_BATCH   16
#define ANSWER_RATE 50 /* a second to one address, or network of IPv6; twice as many at once */

/* --- answering --- */

static int answer(struct server *server, const struct sockaddr_storage *from, const uint8_t *wire,
                  size_t size, bool over_tcp, uint8_t **out, size_t *out_size)
{
    char address[CLIENT_NETWORK_SIZE];
    struct challenge_value values[CHALLENGE_VALUES_MAX];
    size_t count = challenge_list(server->settings->acme_dir, values);
    if (zone_answer(&server->names, values, count, wire, size, over_tcp, out, out_size) < 0)
        return -1;
    log_debug("asked", LOG_STR("address", dns_address_text(from, address)),
              LOG_INT("values", (int64_t)count), LOG_INT("bytes", (int64_t)*out_size));
    return 0;
}

/* Counts it, too. */
static bool may_answer(struct server *server, const struct sockaddr_storage *from)
{
    char address[CLIENT_NETWORK_SIZE];
    int64_t now_ms = clock_monotonic_ms();
    dns_address_text(from, address);
    if (throttle_is_over(&server->answers, address, ANSWER_RATE, now_ms))
        return false;
    throttle_count(&server->answers, address, ANSWER_RATE, now_ms);
    return true;
}

static void on_udp(struct loop_source *source, uint32_t events)
{
    struct server *server = container_of(source, struct listening, udp)->server;
    (void)events;
    for (unsigned i = 0; i < UDP_BATCH; i++) {
        autofree uint8_t *out = NULL;
        uint8_t wire[ZONE_QUESTION_MAX + 1];
        struct sockaddr_storage from;
        socklen_t from_size = sizeof from;
        size_t out_size;
        ssize_t got =
            recvfrom(source->fd, wire, sizeof wire, 0, (struct sockaddr *)&from, &from_size);
        if (got < 0)
            return;
        if (got <= ZONE_QUESTION_MAX && may_answer(server, &from) &&
            answer(server, &from, wire, (size_t)got, false, &out, &out_size) == 0 &&
            sendto(source->fd, out, out_size, MSG_NOSIGNAL, (struct sockaddr *)&from, from_size) <
                0)
            log_debug("answer not sent", LOG_STR("reason", strerror(errno)));
    }
}

static bool may_connect(void *context, const struct sockaddr_storage *from)
{
    (void)context;
    (void)from;
    return true;
}

static void on_tcp_question(void *context, const struct sockaddr_storage *from, uint64_t serial,
                            const uint8_t *wire, size_t size)
{
    struct listening *listening = context;
    autofree uint8_t *out = NULL;
    size_t out_size;
    if (answer(listening->server, from, wire, size, true, &out, &out_size) == 0)
        dns_clients_send(listening->tcp, serial, out, out_size);
}

static const struct dns_clients_calls tcp_calls = {may_connect, on_tcp_question};

static void on_tick(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, tick);
    int64_t now_ms = clock_monotonic_ms();
    for (unsigned i = 0; i < server->count; i++)
        dns_clients_tick(server->listenings[i].tcp, now_ms);
    loop_timer_arm(&server->loop, timer, now_ms + TICK_MS, on_tick);
}

/* --- where --- */

static void set_port(struct sockaddr_storage *address, uint64_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

static int drop_last(struct server *server, struct error **err)
{
    error_set_errno(err, ERR_INTERNAL, errno, "sockets cannot be watched");
    dns_clients_close(server->listenings[--server->count].tcp);
    return -1;
}

static int listen_at(struct server *server, struct sockaddr_storage *address, struct error **err)
{
    if (server->count == SERVER_ADDRESSES_MAX)
        return error_set(err, ERR_CONFIG,
                         "there are more than %d addresses: name those that count "
                         "in acme_addresses",
                         SERVER_ADDRESSES_MAX);
    set_port(address, server->settings->acme_port);
    autoclose int udp = dns_listen(SOCK_DGRAM, address, err);
    int tcp = udp < 0 ? -1 : dns_listen(SOCK_STREAM, address, err);
    if (tcp < 0)
        return -1;
    struct listening *listening = &server->listenings[server->count++];
    *listening = (struct listening){.server = server, .udp.fd = -1};
    listening->tcp = dns_clients_open(&server->loop, tcp, &tcp_calls, listening);
    if (!listening->tcp || loop_add(&server->loop, &listening->udp, udp, EPOLLIN, on_udp) < 0)
        return drop_last(server, err);
    steal_fd(&udp);
    return 0;
}

static bool parse_address(const char *text, struct sockaddr_storage *address)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    *address = (struct sockaddr_storage){.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET};
    return inet_pton(address->ss_family, text,
                     address->ss_family == AF_INET6 ? (void *)&v6->sin6_addr : &v4->sin_addr) == 1;
}

static int listen_at_named(struct server *server, struct error **err)
{
    autofree char *list = xstrdup(server->settings->acme_addresses);
    char *rest = list, *entry;
    while ((entry = strsep(&rest, ","))) {
        struct sockaddr_storage address;
        entry += strspn(entry, " ");
        entry[strcspn(entry, " ")] = '\0';
        if (!parse_address(entry, &address))
            return error_set(err, ERR_CONFIG, "acme_addresses: \"%s\" is no address", entry);
        if (listen_at(server, &address, err) < 0)
            return -1;
    }
    return 0;
}

/* Addresses of one link alone are found by nobody outside; those of sandboxes' links are of that
 * kind. */
static bool is_found(const struct ifaddrs *entry)
{
    const struct sockaddr_in *v4 = (const void *)entry->ifa_addr;
    const struct sockaddr_in6 *v6 = (const void *)entry->ifa_addr;
    if (!v4 || !(entry->ifa_flags & IFF_UP))
        return false;
    if (v4->sin_family == AF_INET6)
        return !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
    return v4->sin_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 16 != 0xa9fe;
}

/* One at a time and not any address: an answer leaves from the one that was asked, and a resolver
 * of this machine at its loopback address is in nobody's way. */
static int listen_at_all(struct server *server, struct error **err)
{
    struct ifaddrs *entries;
    if (getifaddrs(&entries) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "addresses cannot be listed");
    for (const struct ifaddrs *entry = entries; entry; entry = entry->ifa_next) {
        struct sockaddr_storage address = {0};
        error_auto failure = NULL;
        if (!is_found(entry))
            continue;
        memcpy(&address, entry->ifa_addr,
               entry->ifa_addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                      : sizeof(struct sockaddr_in));
        if (listen_at(server, &address, &failure) < 0)
            log_warning("an address is left out", LOG_ERROR(failure));
    }
    freeifaddrs(entries);
    return 0;
}

/* --- the whole --- */

int server_open(struct server *server, const struct settings *settings, struct error **err)
{
    *server = (struct server){.settings = settings};
    challenge_names_init(&server->names, settings);
    if (loop_init(&server->loop) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "no event loop");
    int result =
        *settings->acme_addresses ? listen_at_named(server, err) : listen_at_all(server, err);
    if (result == 0 && !server->count)
        result = error_set(err, ERR_CONFIG,
                           "nothing can be asked at port %u of any address of this machine",
                           (unsigned)settings->acme_port);
    if (result < 0)
        return -1;
    loop_timer_arm(&server->loop, &server->tick, clock_monotonic_ms() + TICK_MS, on_tick);
    return 0;
}

void server_run(struct server *server)
{
    log_info("listening", LOG_INT("port", (int64_t)server->settings->acme_port),
             LOG_INT("addresses", server->count));
    while (loop_run_once(&server->loop, -1) == 0)
        ;
}

void server_close(struct server *server)
{
    for (unsigned i = 0; i < server->count; i++) {
        dns_clients_close(server->listenings[i].tcp);
        loop_close(&server->loop, &server->listenings[i].udp);
    }
    loop_deinit(&server->loop);
    challenge_names_deinit(&server->names);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/outlet.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "base/thread.h"
#include "firewall/egress.h"
#include "firewall/proxy_hello.h"

#define ORIGINAL_DST \
    80 /* SO_ORIGINAL_DST; <linux/netfilter_ipv4.h> and <netinet/in.h> exclude each other */
#define BACKLOG      1024
#define WAY_BACKLOG  64
#define ACCEPTS      16 /* in one go */
#define READS        4  /* in one go */
#define CHECK_MS     1000
#define LOG_EVERY_MS 60000
#define KEEP_IDLE_S  60
#define KEEP_EVERY_S 10
#define KEEP_PROBES  6

#define NO_WAY       (-1)

/* One of the two ends of a connection. */
struct end {
    struct loop_source source;
    struct carried *carried;
    struct buffer rest; /* for this end, which does not take it yet */
    bool ended;         /* it sends no more */
    bool closed;        /* it gets no more */
};

struct carried {
    struct outlet *outlet;
    struct end guest, proxy;
    bool connected;
    bool opened; /* the proxy has opened the connection: it carries bytes */
    struct proxy_hello hello;
    struct flow flow;
    int rule_way;      /* the number of a connection of nginx, or NO_WAY */
    char *host;        /* of its rule; owned */
    uint64_t revision; /* of the policy that last allowed this host */
    uint32_t sandbox;
    uint32_t peer; /* the address of the proxy, or of the host of a rule without one */
    uint64_t tenant, user;
    uint64_t way; /* see filter_sandbox */
    int64_t moved_at_ms;
    struct loop_timer timer;
    struct carried *next, **link;
};

/* A socket at which nginx connects to a way. */
struct way_listener {
    struct loop_listener listener;
    struct outlet *outlet;
};

struct outlet {
    struct filter *filter;
    struct way_listener ways[EGRESS_WAYS_MAX];
    struct loop loop;
    struct loop_listener listener;
    struct loop_timer check;
    struct carried *first;
    size_t count, way_count;
    uint8_t scratch[OUTLET_BUFFER_MAX];
    pthread_t thread;
    bool running;
    atomic_bool stop;
};

static void on_end(struct loop_source *source, uint32_t events);

/* --- the end of a connection --- */

static void reset(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static bool is_of_way(const struct carried *carried)
{
    return carried->rule_way != NO_WAY;
}

static void carried_free(struct carried *carried)
{
    struct outlet *outlet = carried->outlet;
    loop_timer_disarm(&outlet->loop, &carried->timer);
    loop_close(&outlet->loop, &carried->guest.source);
    loop_close(&outlet->loop, &carried->proxy.source);
    buffer_wipe(&carried->guest.rest);
    buffer_wipe(&carried->proxy.rest);
    proxy_hello_deinit(&carried->hello);
    free(carried->host);
    *carried->link = carried->next;
    if (carried->next)
        carried->next->link = carried->link;
    if (is_of_way(carried)) {
        outlet->way_count--;
        ways_ended(&outlet->filter->ways, carried->rule_way, clock_monotonic_ms());
    } else {
        outlet->count--;
    }
    free(carried);
}

static void abandon(struct carried *carried)
{
    reset(carried->guest.source.fd);
    if (carried->proxy.source.fd >= 0)
        reset(carried->proxy.source.fd);
    carried_free(carried);
}

/* Note that a proxy failed, for the owner and in the log. */
static void note_failure(const struct outlet *outlet, uint32_t address, const struct flow *flow,
                         const char *reason)
{
    char target[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address remote = policy_address_ipv4(flow->remote);
    int64_t now_ms = clock_monotonic_ms();
    filter_lock(outlet->filter);
    struct filter_sandbox *sandbox = filter_find(outlet->filter, address);
    if (sandbox) {
        denials_add(&sandbox->denials, DENIAL_PROXY, policy_address_text(&remote, target),
                    flow->remote_port, "tcp", clock_now_ms());
        if (!sandbox->proxy_logged_at_ms || now_ms - sandbox->proxy_logged_at_ms > LOG_EVERY_MS) {
            sandbox->proxy_logged_at_ms = now_ms;
            log_info("the egress proxy of a sandbox did not open a connection",
                     LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_STR("reason", reason));
        }
    }
    filter_unlock(outlet->filter);
}

/* Let the next connection go to another address of the proxy or host, as other clients do. */
static void note_address(const struct carried *carried)
{
    struct filter *filter = carried->outlet->filter;
    filter_lock(filter);
    const struct filter_sandbox *sandbox = filter_find(filter, carried->sandbox);
    const json_t *proxy = sandbox ? sandbox->wire.policy.proxy : NULL;
    const char *name =
        carried->way ? json_string_value(json_object_get(proxy, "host")) : carried->host;
    struct lookup *lookup = name ? lookup_find(&filter->lookups, name) : NULL;
    if (lookup)
        lookup_failed(lookup, carried->peer, clock_monotonic_ms());
    filter_unlock(filter);
}

static void fail(struct carried *carried, const char *reason)
{
    if (carried->way || !is_of_way(carried)) /* otherwise the 502 of nginx says so */
        note_failure(carried->outlet, carried->sandbox, &carried->flow, reason);
    if (carried->proxy.source.fd >= 0 && !carried->connected)
        note_address(carried);
    abandon(carried);
}

/* --- bytes --- */

static struct end *other(struct end *end)
{
    return end == &end->carried->guest ? &end->carried->proxy : &end->carried->guest;
}

static void watch(struct end *end)
{
    const struct carried *carried = end->carried;
    bool is_guest = end == &carried->guest;
    bool reads = !end->ended && !other(end)->rest.size &&
                 (carried->opened || (!is_guest && carried->connected));
    bool writes = end->rest.size || (!is_guest && !carried->connected);
    loop_change(&carried->outlet->loop, &end->source,
                (reads ? (uint32_t)EPOLLIN : 0) | (writes ? (uint32_t)EPOLLOUT : 0));
}

/* Tell an end that no more comes, as soon as it has everything. */
static void close_if_over(struct end *end)
{
    if (!end->closed && other(end)->ended && !end->rest.size) {
        shutdown(end->source.fd, SHUT_WR);
        end->closed = true;
    }
}

/* Send to an end, and keep the bytes that it does not take. Returns -1 when it is gone. */
static int give(struct end *end, const uint8_t *data, size_t size)
{
    ssize_t sent = end->rest.size ? 0 : send(end->source.fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return -1;
    size_t taken = sent > 0 ? (size_t)sent : 0;
    return buffer_append(&end->rest, data + taken, size - taken);
}

static int give_rest(struct end *end)
{
    ssize_t sent = send(end->source.fd, end->rest.data, end->rest.size, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN ? 0 : -1;
    buffer_consume(&end->rest, (size_t)sent);
    if (!end->rest.size) /* an idle connection has no buffers */
        buffer_wipe(&end->rest);
    return 0;
}

/* Returns -1 when the connection has ended. */
static int take_hello(struct carried *carried, const uint8_t *data, size_t size)
{
    size_t used;
    switch (proxy_hello_take(&carried->hello, data, size, &used, &carried->proxy.rest)) {
    case PROXY_REFUSED:
        fail(carried, carried->hello.reason);
        return -1;
    case PROXY_MORE:
        return 0;
    case PROXY_OPEN:
        break;
    }
    carried->opened = true;
    proxy_hello_deinit(&carried->hello);
    if (used == size || give(&carried->guest, data + used, size - used) == 0)
        return 0;
    abandon(carried);
    return -1;
}

enum moved { MOVED, GONE };

/* Read from an end for the other. GONE: the connection has ended. */
static enum moved take(struct end *end)
{
    struct carried *carried = end->carried;
    uint8_t *scratch = carried->outlet->scratch;
    for (unsigned i = 0; i < READS && !other(end)->rest.size && !end->ended; i++) {
        ssize_t got = recv(end->source.fd, scratch, OUTLET_BUFFER_MAX, 0);
        if (got < 0 && errno == EAGAIN)
            break;
        if (!carried->opened && got <= 0) {
            fail(carried, "the proxy ended the connection");
            return GONE;
        }
        if (!carried->opened) {
            if (take_hello(carried, scratch, (size_t)got) < 0)
                return GONE;
            break;
        }
        if (got < 0 || (got > 0 && give(other(end), scratch, (size_t)got) < 0)) {
            abandon(carried);
            return GONE;
        }
        end->ended = got == 0;
    }
    return MOVED;
}

static enum moved connected(struct carried *carried)
{
    int status = 0;
    socklen_t size = sizeof status;
    if (getsockopt(carried->proxy.source.fd, SOL_SOCKET, SO_ERROR, &status, &size) < 0 || status) {
        fail(carried, strerror(status));
        return GONE;
    }
    carried->connected = true;
    carried->opened = !carried->way;
    if (!carried->opened)
        proxy_hello_begin(&carried->hello, &carried->proxy.rest);
    return MOVED;
}

static void on_end(struct loop_source *source, uint32_t events)
{
    struct end *end = container_of(source, struct end, source);
    struct carried *carried = end->carried;
    bool is_proxy = end == &carried->proxy;
    carried->moved_at_ms = clock_monotonic_ms();
    if (is_proxy && !carried->connected && connected(carried) == GONE)
        return;
    if (end->rest.size && give_rest(end) < 0) {
        abandon(carried);
        return;
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && (carried->opened || is_proxy) &&
        take(end) == GONE)
        return;
    close_if_over(&carried->guest);
    close_if_over(&carried->proxy);
    /* nginx ends both directions at once. A server may never end its own. */
    if (carried->proxy.closed && (carried->guest.closed || is_of_way(carried))) {
        carried_free(carried);
        return;
    }
    watch(&carried->guest);
    watch(&carried->proxy);
}

/* --- time --- */

static void on_time(struct loop_timer *timer)
{
    struct carried *carried = container_of(timer, struct carried, timer);
    int64_t now_ms = clock_monotonic_ms(), end_ms = carried->moved_at_ms + OUTLET_IDLE_MS;
    if (!carried->opened)
        fail(carried, "the proxy did not answer in time");
    else if (end_ms <= now_ms)
        abandon(carried);
    else
        loop_timer_arm(&carried->outlet->loop, timer, end_ms, on_time);
}

/* The loop does not watch an end that has nothing to read or write, and does not see its reset. */
static bool has_vanished(const struct end *end)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    return getsockopt(end->source.fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state == TCP_CLOSE;
}

/* Other rules for the host leave its connections, because an upload would end. */
static bool keeps_host(struct carried *carried, const struct filter_sandbox *sandbox)
{
    const struct policy *policy = &sandbox->wire.policy;
    uint16_t port = carried->flow.remote_port;
    if (carried->revision == sandbox->wire.revision)
        return true;
    carried->revision = sandbox->wire.revision;
    return egress_has_host(policy->egress, carried->host, port) &&
           !egress_is_denied(policy, carried->host, port);
}

/* Return the number of the sandbox's way through its egress proxy; 0: it has no proxy. */
static uint64_t way_of(const struct filter_sandbox *sandbox)
{
    return sandbox->wire.policy.proxy ? sandbox->way : 0;
}

static bool may_stay(struct carried *carried)
{
    struct filter *filter = carried->outlet->filter;
    const struct filter_sandbox *sandbox = filter_find(filter, carried->sandbox);
    if (!sandbox || sandbox->closed || sandbox->wire.tenant != carried->tenant ||
        sources_is_missing(&filter->sources, carried->tenant) || carried->way != way_of(sandbox) ||
        has_vanished(&carried->proxy))
        return false;
    if (is_of_way(carried))
        return keeps_host(carried, sandbox);
    return !has_vanished(&carried->guest) && filter_allows(filter, sandbox, &carried->flow);
}

/* End the connections that the policy no longer allows, that have another way now, or whose source
 * address is gone. */
static void on_check(struct loop_timer *timer)
{
    struct outlet *outlet = container_of(timer, struct outlet, check);
    struct carried *next;
    filter_lock(outlet->filter);
    sources_look(&outlet->filter->sources);
    for (struct carried *carried = outlet->first; carried; carried = next) {
        next = carried->next;
        if (!may_stay(carried))
            abandon(carried);
    }
    filter_unlock(outlet->filter);
    loop_timer_arm(&outlet->loop, timer, clock_monotonic_ms() + CHECK_MS, on_check);
}

/* --- new connections --- */

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

/* Notice when the machine at the other end is gone. */
static bool keep_alive(int fd)
{
    return set(fd, SOL_SOCKET, SO_KEEPALIVE, 1) == 0 &&
           set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S) == 0 &&
           set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S) == 0 &&
           set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_PROBES) == 0 &&
           set(fd, IPPROTO_TCP, TCP_NODELAY, 1) == 0;
}

/* Fails when the source is no address of this host. source 0: the route decides. */
static bool leave_from(int fd, uint32_t source)
{
    const struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    return set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1) == 0 &&
           bind(fd, (const struct sockaddr *)&from, sizeof from) == 0;
}

/* The mark lets the packet filter keep connections from this host and from protected networks. */
static int connect_to(uint32_t source, uint32_t address, uint16_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || set(fd, SOL_SOCKET, SO_MARK, (int)MARK_OUTLET) < 0 || !keep_alive(fd) ||
        !leave_from(fd, source) ||
        (connect(fd, (const struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS))
        return -1;
    return steal_fd(&fd);
}

/* Return whether the sandbox, its team and its user have room. The packet filter counts connections
 * that it knows; an end that has vanished from there still has a place here. */
static bool has_room(const struct carried *carried)
{
    unsigned of_sandbox = 0, of_team = 0, of_user = 0;
    unsigned times = is_of_way(carried) ? OUTLET_KEPT : 1;
    for (const struct carried *other = carried->outlet->first; other; other = other->next) {
        if (is_of_way(other) != is_of_way(carried))
            continue;
        of_sandbox += other->sandbox == carried->sandbox;
        of_team += other->tenant == carried->tenant;
        of_user += other->user == carried->user;
    }
    return of_sandbox <= times * OUTLET_SANDBOX_MAX && of_team <= times * OUTLET_TEAM_MAX &&
           of_user <= times * OUTLET_TEAM_MAX;
}

/* Find the target of a connection of nginx. Returns false: the rules are others now, or the host
 * has no address. */
static bool find_target(struct carried *carried, const struct filter_sandbox *sandbox)
{
    const struct way *way = &carried->outlet->filter->ways.all[carried->rule_way];
    const json_t *rule =
        json_array_get(json_object_get(sandbox->wire.policy.egress, "rules"), way->rule);
    if (!rule || way->rules != sandbox->rules)
        return false;
    carried->host = xstrdup(json_string_value(json_object_get(rule, "host")));
    carried->revision = sandbox->wire.revision;
    carried->flow = (struct flow){
        .remote = egress_address_of(carried->outlet->filter, carried->host),
        .remote_port = egress_port(rule),
        .protocol = IPPROTO_TCP,
    };
    return carried->flow.remote;
}

/* Fill the way of a sandbox into a new connection. Returns the address of the proxy, or of the host
 * of a rule without one, or 0 and *reason. */
static uint32_t find_way(struct carried *carried, uint16_t *port, const char **reason)
{
    struct filter *filter = carried->outlet->filter;
    struct filter_sandbox *sandbox = filter_find(filter, carried->sandbox);
    const json_t *proxy = sandbox ? sandbox->wire.policy.proxy : NULL;
    uint32_t address = 0;
    *reason = "the policy no longer has a proxy";
    if (!sandbox || sandbox->closed || (!proxy && !is_of_way(carried)) ||
        (is_of_way(carried) && !find_target(carried, sandbox)))
        return 0;
    carried->way = way_of(sandbox);
    carried->tenant = sandbox->wire.tenant;
    carried->user = sandbox->wire.user;
    *reason = "the sandbox, its team or its user has too many connections";
    if (!has_room(carried))
        return 0;
    *port = carried->flow.remote_port;
    if (!proxy)
        return carried->flow.remote;
    carried->hello.is_http = str_equal(json_string_value(json_object_get(proxy, "type")), "http");
    carried->hello.address = carried->flow.remote;
    carried->hello.port = carried->flow.remote_port;
    carried->hello.username =
        xstrdup_or_null(json_string_value(json_object_get(proxy, "username")));
    carried->hello.password =
        xstrdup_or_null(json_string_value(json_object_get(proxy, "password")));
    *port = (uint16_t)json_integer_value(json_object_get(proxy, "port"));
    if (json_object_get(proxy, "refused")) {
        *reason = "the password of the proxy is not available yet";
        return 0;
    }
    address = egress_address_of(filter, json_string_value(json_object_get(proxy, "host")));
    *reason = address ? "this host has too many connections to proxies"
                      : "the proxy has no address that the sandbox may reach";
    if (address && json_object_get(proxy, "secret"))
        egress_note_secret(sandbox, json_string_value(json_object_get(proxy, "secret")));
    return address;
}

/* rule_way: NO_WAY for a connection of a sandbox. */
static struct carried *carried_new(struct outlet *outlet, int guest, int rule_way)
{
    struct carried *carried = xcalloc(1, sizeof *carried);
    carried->outlet = outlet;
    carried->guest.carried = carried->proxy.carried = carried;
    carried->guest.source.fd = guest;
    carried->proxy.source.fd = -1;
    buffer_init(&carried->guest.rest, OUTLET_BUFFER_MAX);
    buffer_init(&carried->proxy.rest, OUTLET_BUFFER_MAX);
    carried->moved_at_ms = clock_monotonic_ms();
    carried->next = outlet->first;
    carried->link = &outlet->first;
    if (outlet->first)
        outlet->first->link = &carried->next;
    outlet->first = carried;
    carried->rule_way = rule_way;
    if (is_of_way(carried)) {
        outlet->way_count++;
        atomic_fetch_add(&outlet->filter->ways.connections[rule_way], 1);
    } else {
        outlet->count++;
    }
    return carried;
}

/* Begin to carry a connection of a sandbox. */
static void begin(struct carried *carried, int guest)
{
    struct outlet *outlet = carried->outlet;
    const char *reason;
    uint16_t port = 0;
    filter_lock(outlet->filter);
    uint32_t address = carried->peer = find_way(carried, &port, &reason);
    uint32_t source = sources_of(&outlet->filter->sources, carried->tenant);
    if (is_of_way(carried))
        ways_connected(&outlet->filter->ways, carried->rule_way);
    filter_unlock(outlet->filter);
    autoclose int fd = address ? connect_to(source, address, port) : -1;
    if (address && fd < 0)
        reason = strerror(errno);
    if (fd < 0 || loop_add(&outlet->loop, &carried->proxy.source, fd, EPOLLOUT, on_end) < 0) {
        fail(carried, reason);
        return;
    }
    steal_fd(&fd);
    loop_add(&outlet->loop, &carried->guest.source, guest, 0, on_end);
    loop_timer_arm(&outlet->loop, &carried->timer, clock_monotonic_ms() + OUTLET_HELLO_MS, on_time);
}

/* Return whether the packet filter sent a connection here, and from where to where. */
static bool read_flow(int fd, const struct sockaddr_in *from, struct flow *flow)
{
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    if (getsockopt(fd, IPPROTO_IP, ORIGINAL_DST, &to, &size) < 0)
        return false;
    *flow = (struct flow){.remote = ntohl(to.sin_addr.s_addr),
                          .remote_port = ntohs(to.sin_port),
                          .local_port = ntohs(from->sin_port),
                          .protocol = IPPROTO_TCP,
                          .mark = MARK_NAMED | MARK_OUTLET};
    return true;
}

/* Take connections of nginx to a way. */
static void on_way(struct loop_source *source, uint32_t events)
{
    struct way_listener *of_way = container_of(source, struct way_listener, listener.source);
    struct outlet *outlet = of_way->outlet;
    int way = (int)(of_way - outlet->ways);
    (void)events;
    for (unsigned i = 0; i < ACCEPTS; i++) {
        int fd =
            loop_accept(&outlet->loop, &of_way->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        bool has_place = outlet->way_count < (size_t)OUTLET_KEPT * OUTLET_MAX;
        struct carried *carried = has_place ? carried_new(outlet, fd, way) : NULL;
        filter_lock(outlet->filter);
        if (carried)
            carried->sandbox = outlet->filter->ways.all[way].sandbox;
        else
            ways_connected(&outlet->filter->ways, way);
        filter_unlock(outlet->filter);
        if (carried)
            begin(carried, fd);
        else
            close(fd);
    }
}

static void on_connection(struct loop_source *source, uint32_t events)
{
    struct outlet *outlet = container_of(source, struct outlet, listener.source);
    (void)events;
    for (unsigned i = 0; i < ACCEPTS; i++) {
        struct sockaddr_in from;
        struct flow flow;
        socklen_t size = sizeof from;
        int fd = loop_accept(&outlet->loop, &outlet->listener, (struct sockaddr *)&from, &size,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (outlet->count == OUTLET_MAX || !read_flow(fd, &from, &flow) || !keep_alive(fd)) {
            reset(fd);
            close(fd);
            continue;
        }
        struct carried *carried = carried_new(outlet, fd, NO_WAY);
        carried->flow = flow;
        carried->sandbox = ntohl(from.sin_addr.s_addr);
        begin(carried, fd);
    }
}

/* --- the thread --- */

static void *run(void *context)
{
    struct outlet *outlet = context;
    while (!atomic_load(&outlet->stop))
        if (loop_run_once(&outlet->loop, CHECK_MS) < 0)
            panic("the event loop of the egress proxies cannot wait");
    return NULL;
}

static int listen_on(uint16_t port)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(FILTER_RESOLVER)};
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || set(fd, IPPROTO_IP, IP_FREEBIND, 1) < 0 ||
        set(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0 ||
        bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return steal_fd(&fd);
}

static int start_thread(struct outlet *outlet, struct error **err)
{
    outlet->running = thread_start(&outlet->thread, NULL, run, outlet) == 0;
    return outlet->running ? 0 : error_set(err, ERR_CONFIG, "cannot start a thread");
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    unlink(path);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || chmod(path, 0660) < 0 ||
        listen(fd, WAY_BACKLOG) < 0)
        return -1;
    return steal_fd(&fd);
}

/* The folder has nginx's group, so only nginx and sandlot-firewall can connect. */
static int open_ways(struct outlet *outlet, struct error **err)
{
    const char *folder = outlet->filter->settings->firewall_certificates_dir;
    for (int i = 0; i < EGRESS_WAYS_MAX; i++) {
        struct way_listener *of_way = &outlet->ways[i];
        autofree char *path = xasprintf("%s/%d.way", folder, i);
        of_way->outlet = outlet;
        autoclose int fd = listen_at(path);
        if (fd < 0 || loop_add(&outlet->loop, &of_way->listener.source, fd, EPOLLIN, on_way) < 0)
            return error_set_errno(err, ERR_CONFIG, errno,
                                   "firewall_certificates_dir: cannot listen on %s", path);
        steal_fd(&fd);
    }
    return 0;
}

static int open_loop(struct outlet *outlet, struct error **err)
{
    uint16_t port = (uint16_t)outlet->filter->settings->firewall_outlet_port;
    if (loop_init(&outlet->loop) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create an event loop");
    autoclose int fd = listen_on(port);
    if (fd < 0 || loop_add(&outlet->loop, &outlet->listener.source, fd, EPOLLIN, on_connection) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "firewall_outlet_port: cannot listen on %u",
                               port);
    steal_fd(&fd);
    loop_timer_arm(&outlet->loop, &outlet->check, clock_monotonic_ms() + CHECK_MS, on_check);
    return 0;
}

int outlet_start(struct filter *filter, struct outlet **outlet, struct error **err)
{
    struct outlet *fresh = xcalloc(1, sizeof *fresh);
    fresh->filter = filter;
    fresh->loop.epoll_fd = fresh->listener.source.fd = -1;
    for (int i = 0; i < EGRESS_WAYS_MAX; i++)
        fresh->ways[i].listener.source.fd = -1;
    if (open_loop(fresh, err) < 0 || open_ways(fresh, err) < 0 || start_thread(fresh, err) < 0) {
        outlet_stop(fresh);
        return -1;
    }
    *outlet = fresh;
    return 0;
}

void outlet_stop(struct outlet *outlet)
{
    if (!outlet)
        return;
    atomic_store(&outlet->stop, true);
    if (outlet->running)
        pthread_join(outlet->thread, NULL);
    while (outlet->first)
        abandon(outlet->first);
    if (outlet->loop.epoll_fd >= 0) {
        loop_timer_disarm(&outlet->loop, &outlet->check);
        loop_listener_close(&outlet->loop, &outlet->listener);
        for (int i = 0; i < EGRESS_WAYS_MAX; i++)
            loop_listener_close(&outlet->loop, &outlet->ways[i].listener);
        loop_deinit(&outlet->loop);
    }
    free(outlet);
}

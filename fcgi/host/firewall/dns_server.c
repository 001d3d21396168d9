/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/dns_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dns/clients.h"
#include "dns/listen.h"
#include "firewall/dns_decide.h"
#include "firewall/shares.h"

#define QUESTION_MAX   1024  /* bytes; several times the size of a name, a type and EDNS options */
#define WAITING_MAX    64    /* questions of one sandbox that wait for an upstream */
#define HOLD_MIN_MS    60000 /* curl, browsers and others use an answer for a minute at least */
#define HOLD_STEP_MS   10000
#define CLOCK_SLACK_MS 1000
#define FLOOD_LOG_MS   60000
#define UDP_BATCH      16 /* datagrams in one go */
#define PROXY_TTL_S    30 /* of the proxy's address, for hosts with egress rules */
/* Questions of a sandbox: the burst, and the rate for each second. The packet filter has the same
 * rate for packets, but one packet of TCP can hold many questions. */
#define QUESTIONS_BURST 400
#define QUESTIONS_PER_S 200
/* Microseconds of processor time of the thread for names. All sandboxes wait for this thread, and a
 * question takes milliseconds when its answer changes many elements of the kernel's sets. */
#define TIME_PER_S    1000000
#define CONNECT_US    50 /* for a TCP connection */

#define REASON_DENIED "The network policy of this sandbox does not allow this name."
#define REASON_ASKED                                                                              \
    "The network policy of this sandbox does not allow this name yet; it waits for the approval " \
    "of the team."

/* Questions for new names: the burst, and the rate for each second, by the rule that allows
 * them. */
static const struct {
    double burst, per_s;
} open_rate = {2000, 200}, named_rate = {200, 20}, wildcard_rate = {100, 4};

struct dns_server {
    struct loop_source udp;
    struct filter *filter;
    struct loop *loop;
    struct resolver *resolver;
    struct dns_clients *clients;
    struct shares time; /* in microseconds */
    bool is_asked;      /* in take_question(), which counts the time */
};

/* The destination of an answer. */
struct dns_reply_to {
    struct sockaddr_in udp;
    uint64_t tcp_serial; /* 0: UDP */
};

/* A question that waits for an upstream. */
struct asked {
    struct dns_server *server;
    uint32_t address;
    char *sandbox_id;
    struct dns_reply_to to;
    struct dns_question question;
};

/* --- shares --- */

/* The processor time of this thread. */
static int64_t used_us(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* Return whether the tenant has time left. If not, the question gets no answer: the client repeats
 * it after seconds. */
static bool has_time(struct dns_server *server, const struct filter_sandbox *sandbox)
{
    const struct tenant tenant = filter_tenant(sandbox);
    return shares_has_room(&server->time, &tenant, clock_monotonic_ms());
}

static void count_time(struct dns_server *server, const struct filter_sandbox *sandbox, int64_t us)
{
    const struct tenant tenant = filter_tenant(sandbox);
    shares_use(&server->time, &tenant, (double)us, clock_monotonic_ms());
}

/* --- answering --- */

static void send_udp(struct dns_server *server, const struct dns_reply_to *to, const uint8_t *wire,
                     size_t size)
{
    /* A full buffer drops the answer; the client asks again. */
    if (sendto(server->udp.fd, wire, size, MSG_NOSIGNAL, (const struct sockaddr *)&to->udp,
               sizeof to->udp) < 0)
        log_debug("answer not sent", LOG_STR("reason", strerror(errno)));
}

struct kept {
    const uint32_t *addresses;
    size_t count;
};

static bool is_kept(void *context, uint32_t address)
{
    const struct kept *kept = context;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->addresses[i] == address)
            return true;
    return false;
}

static void send_to(struct dns_server *server, const struct dns_reply_to *to, const uint8_t *wire,
                    size_t size)
{
    if (to->tcp_serial)
        dns_clients_send(server->clients, to->tcp_serial, wire, size);
    else
        send_udp(server, to, wire, size);
}

static void answer(struct dns_server *server, const struct dns_reply_to *to,
                   const struct dns_question *question, int rcode, const struct dns_result *result,
                   uint32_t ttl_max_s, struct kept *kept)
{
    autofree uint8_t *wire = NULL;
    size_t size, max = to->tcp_serial ? DNS_MESSAGE_MAX : question->udp_max;
    if (dns_answer_write(question, rcode, result, ttl_max_s, kept ? is_kept : NULL, kept, max,
                         &wire, &size) == 0)
        send_to(server, to, wire, size);
}

static void refuse(struct dns_server *server, struct filter_sandbox *sandbox,
                   const struct dns_reply_to *to, const struct dns_question *question,
                   const char *name)
{
    autofree uint8_t *wire = NULL;
    size_t size;
    denials_add(&sandbox->denials, DENIAL_NAME, name, 0, NULL, clock_now_ms());
    if (dns_refusal_write(question, sandbox->wire.policy.asks ? REASON_ASKED : REASON_DENIED, &wire,
                          &size) == 0)
        send_to(server, to, wire, size);
}

static bool name_opens(const struct policy *policy, const char *name)
{
    struct name_rights rights;
    name_rights_find(policy, name, &rights);
    bool opens = name_rights_allow(&rights);
    name_rights_deinit(&rights);
    return opens;
}

/* Return until when the addresses of an answer stay open. In steps: questions that are repeated
 * seldom change the kernel's sets. */
static int64_t hold_until_ms(int64_t left_ms)
{
    int64_t until_ms =
        clock_now_ms() + (left_ms > HOLD_MIN_MS ? left_ms : HOLD_MIN_MS) + CLOCK_SLACK_MS;
    return until_ms - until_ms % HOLD_STEP_MS + HOLD_STEP_MS;
}

/* Answer a question. The kernel has the addresses before the client gets the answer. The client
 * gets no answer when the kernel's sets would change and the tenant has no time left. */
static void answer_result(struct asked *asked, struct filter_sandbox *sandbox,
                          const struct dns_result *result, int64_t left_ms)
{
    error_auto err = NULL;
    struct dns_server *server = asked->server;
    const struct policy *policy = &sandbox->wire.policy;
    uint32_t addresses[DNS_ANSWERS_MAX];
    char alias[POLICY_HOST_MAX + 1];
    bool removed;
    struct kept kept = {addresses, dns_decide_addresses(&server->filter->protected_networks, result,
                                                        addresses, DNS_ANSWERS_MAX, &removed)};
    if (dns_denied_alias(policy, result, alias)) {
        refuse(server, sandbox, &asked->to, &asked->question, alias);
        return;
    }
    if (removed && !kept.count) {
        refuse(server, sandbox, &asked->to, &asked->question, asked->question.name);
        return;
    }
    int rcode = result->rcode == LDNS_RCODE_NXDOMAIN  ? LDNS_RCODE_NXDOMAIN
                : result->rcode == LDNS_RCODE_NOERROR ? LDNS_RCODE_NOERROR
                                                      : LDNS_RCODE_SERVFAIL;
    bool opens = kept.count && name_opens(policy, asked->question.name);
    if (opens && !has_time(server, sandbox))
        return;
    if (opens && filter_answered(server->filter, sandbox, asked->question.name, addresses,
                                 kept.count, hold_until_ms(left_ms), &err) < 0) {
        log_error(
            "cannot allow the addresses of a DNS answer; the sandbox gets no answer for the name",
            LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_ERROR(err));
        rcode = LDNS_RCODE_SERVFAIL;
    }
    answer(server, &asked->to, &asked->question, rcode,
           rcode == LDNS_RCODE_SERVFAIL ? NULL : result, (uint32_t)(left_ms / 1000), &kept);
}

static void asked_free(struct asked *asked)
{
    dns_question_deinit(&asked->question);
    free(asked->sandbox_id);
    free(asked);
}

static void on_result(void *context, const struct dns_result *result, int64_t left_ms)
{
    struct asked *asked = context;
    struct dns_server *server = asked->server;
    int64_t started_us = used_us();
    struct filter_sandbox *sandbox = filter_find(server->filter, asked->address);
    /* In the meantime, another sandbox may have the address, or the policy may have changed. */
    if (sandbox && !strcmp(sandbox->wire.sandbox_id, asked->sandbox_id)) {
        if (sandbox->waiting)
            sandbox->waiting--;
        if (dns_decide_question(&sandbox->wire.policy, &asked->question) != DNS_FORWARD)
            refuse(server, sandbox, &asked->to, &asked->question, asked->question.name);
        else if (result)
            answer_result(asked, sandbox, result, left_ms);
        else
            answer(server, &asked->to, &asked->question, LDNS_RCODE_SERVFAIL, NULL, 0, NULL);
        if (!server->is_asked)
            count_time(server, sandbox, used_us() - started_us);
    }
    asked_free(asked);
}

/* --- questions --- */

static bool may_look_up(struct dns_server *server, struct filter_sandbox *sandbox,
                        const struct dns_question *question)
{
    const struct policy *policy = &sandbox->wire.policy;
    int64_t now_ms = clock_monotonic_ms();
    if (resolver_knows(server->resolver, question->name, question->type))
        return true;
    if (policy->default_verdict == POLICY_ALLOW)
        return rate_take(&sandbox->lookups, open_rate.burst, open_rate.per_s, now_ms);
    if (dns_by_wildcard(policy, question->name))
        return rate_take(&sandbox->wildcard_lookups, wildcard_rate.burst, wildcard_rate.per_s,
                         now_ms);
    return rate_take(&sandbox->lookups, named_rate.burst, named_rate.per_s, now_ms);
}

/* Log at most once a minute for each sandbox. */
static void log_flood(struct filter_sandbox *sandbox, const char *message, const char *name)
{
    int64_t now_ms = clock_monotonic_ms();
    if (sandbox->flood_logged_at_ms && now_ms - sandbox->flood_logged_at_ms < FLOOD_LOG_MS)
        return;
    sandbox->flood_logged_at_ms = now_ms;
    log_warning(message, LOG_STR("sandbox", sandbox->wire.sandbox_id), LOG_STR("name", name));
}

/* Forward a question to the upstreams. Takes the contents of question. */
static void forward(struct dns_server *server, struct filter_sandbox *sandbox,
                    const struct dns_reply_to *to, struct dns_question *question)
{
    if (!may_look_up(server, sandbox, question)) {
        log_flood(sandbox,
                  "refused to resolve a name, because the sandbox looks up too many new names",
                  question->name);
        refuse(server, sandbox, to, question, question->name);
        dns_question_deinit(question);
        return;
    }
    struct asked *asked = xmalloc(sizeof *asked);
    *asked =
        (struct asked){server, sandbox->address, xstrdup(sandbox->wire.sandbox_id), *to, *question};
    const struct resolver_question first = {question->name, question->type,
                                            filter_tenant(sandbox).team};
    sandbox->waiting++;
    if (sandbox->waiting > WAITING_MAX ||
        resolver_ask(server->resolver, &first, on_result, asked) < 0) {
        sandbox->waiting--;
        answer(server, to, question, LDNS_RCODE_SERVFAIL, NULL, 0, NULL);
        asked_free(asked);
    }
}

/* Answer with the address of the proxy: the packet filter sends its port 443 to nginx. */
static void answer_proxy(struct dns_server *server, const struct dns_reply_to *to,
                         const struct dns_question *question)
{
    struct dns_result result;
    dns_result_of_address(&result, question->name, FILTER_RESOLVER, PROXY_TTL_S);
    answer(server, to, question, LDNS_RCODE_NOERROR, &result, PROXY_TTL_S, NULL);
    dns_result_deinit(&result);
}

/* Programs that look up a host ask for A; some ask for nothing else. */
static void refuse_question(struct dns_server *server, struct filter_sandbox *sandbox,
                            const struct dns_reply_to *to, const struct dns_question *question)
{
    if (question->type == LDNS_RR_TYPE_A && !sandbox->closed)
        filter_ask_name(sandbox, question->name);
    refuse(server, sandbox, to, question, *question->name ? question->name : ".");
}

static void answer_question(struct dns_server *server, struct filter_sandbox *sandbox,
                            const struct dns_reply_to *to, const uint8_t *wire, size_t size)
{
    struct dns_question question;
    int rcode;
    enum dns_reading reading = dns_question_read(wire, size, &question, &rcode);
    if (reading == DNS_IGNORED)
        return;
    enum dns_action action = reading != DNS_READ ? DNS_ANSWER_EMPTY
                             : sandbox->closed
                                 ? DNS_ANSWER_REFUSED
                                 : dns_decide_question(&sandbox->wire.policy, &question);
    if (action == DNS_FORWARD) {
        forward(server, sandbox, to, &question);
        return;
    }
    if (action == DNS_ANSWER_PROXY)
        answer_proxy(server, to, &question);
    else if (action == DNS_ANSWER_REFUSED)
        refuse_question(server, sandbox, to, &question);
    else
        answer(server, to, &question, reading == DNS_READ ? LDNS_RCODE_NOERROR : rcode, NULL, 0,
               NULL);
    dns_question_deinit(&question);
}

static void take_question(struct dns_server *server, uint32_t address,
                          const struct dns_reply_to *to, const uint8_t *wire, size_t size)
{
    int64_t started_us = used_us();
    struct filter_sandbox *sandbox = filter_find(server->filter, address);
    if (!sandbox || size > QUESTION_MAX ||
        !rate_take(&sandbox->questions, QUESTIONS_BURST, QUESTIONS_PER_S, clock_monotonic_ms()))
        return;
    if (!has_time(server, sandbox)) {
        log_flood(sandbox,
                  "did not resolve a name, because the sandboxes of its team or user take too much "
                  "time",
                  NULL);
        return;
    }
    server->is_asked = true;
    answer_question(server, sandbox, to, wire, size);
    server->is_asked = false;
    count_time(server, sandbox, used_us() - started_us);
}

/* Sandboxes have no IPv6, and the socket has none either. */
static uint32_t sandbox_address(const struct sockaddr_storage *from)
{
    return ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr);
}

static void on_tcp_question(void *context, const struct sockaddr_storage *from, uint64_t serial,
                            const uint8_t *wire, size_t size)
{
    struct dns_reply_to to = {.tcp_serial = serial};
    take_question(context, sandbox_address(from), &to, wire, size);
}

static bool may_connect(void *context, const struct sockaddr_storage *from)
{
    struct dns_server *server = context;
    const struct filter_sandbox *sandbox = filter_find(server->filter, sandbox_address(from));
    if (!sandbox || !has_time(server, sandbox))
        return false;
    count_time(server, sandbox, CONNECT_US);
    return true;
}

static const struct dns_clients_calls tcp_calls = {may_connect, on_tcp_question};

static void on_udp(struct loop_source *source, uint32_t events)
{
    struct dns_server *server = container_of(source, struct dns_server, udp);
    (void)events;
    for (unsigned i = 0; i < UDP_BATCH; i++) {
        uint8_t wire[QUESTION_MAX + 1];
        struct dns_reply_to to = {0};
        socklen_t size = sizeof to.udp;
        ssize_t got = recvfrom(source->fd, wire, sizeof wire, 0, (struct sockaddr *)&to.udp, &size);
        if (got < 0)
            return;
        take_question(server, ntohl(to.udp.sin_addr.s_addr), &to, wire, (size_t)got);
    }
}

/* --- open and close --- */

/* Listen at the resolver's address. The links of sandboxes have this address, so it does not exist
 * before the first sandbox. */
static int listen_on(int type, uint16_t port, struct error **err)
{
    struct sockaddr_storage address = {0};
    *(struct sockaddr_in *)&address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(FILTER_RESOLVER)};
    return dns_listen(type, &address, err);
}

int dns_server_open(struct filter *filter, struct loop *loop, struct resolver *resolver,
                    struct dns_server **server, struct error **err)
{
    uint16_t port = (uint16_t)filter->settings->firewall_dns_port;
    struct dns_server *fresh = xcalloc(1, sizeof *fresh);
    fresh->udp.fd = -1;
    fresh->filter = filter;
    fresh->loop = loop;
    fresh->resolver = resolver;
    fresh->time.per_s = TIME_PER_S;
    autoclose int udp = listen_on(SOCK_DGRAM, port, err);
    int tcp = udp < 0 ? -1 : listen_on(SOCK_STREAM, port, err);
    if (tcp >= 0)
        fresh->clients = dns_clients_open(loop, tcp, &tcp_calls, fresh);
    if (fresh->clients && loop_add(loop, &fresh->udp, udp, EPOLLIN, on_udp) == 0)
        steal_fd(&udp);
    if (fresh->udp.fd < 0) {
        dns_server_close(fresh);
        return *err ? -1 : error_set(err, ERR_CONFIG, "cannot start the resolver of the sandboxes");
    }
    *server = fresh;
    return 0;
}

void dns_server_close(struct dns_server *server)
{
    if (!server)
        return;
    dns_clients_close(server->clients);
    loop_close(server->loop, &server->udp);
    free(server);
}

void dns_server_tick(struct dns_server *server, int64_t now_ms)
{
    dns_clients_tick(server->clients, now_ms);
}

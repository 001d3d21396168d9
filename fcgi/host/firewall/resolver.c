/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "firewall/dns_cache.h"
#include "firewall/upstreams.h"

#define RESOLV_CONF  "/etc/resolv.conf"
#define ATTEMPT_MS   1500
#define ATTEMPTS_MAX 4
#define TTL_MAX_S    3600 /* the longest time to live */
#define FRAME_HEADER 2    /* bytes of the length before a message over TCP */
#define MS_PER_S     1000
#define WAITERS_MAX  65536 /* of all lookups; dns_server.c limits those of each sandbox */

struct waiter {
    resolver_done *done;
    void *context;
    struct waiter *next;
};

struct lookup {
    struct loop_source socket;
    struct resolver *resolver;
    char name[DNS_NAME_MAX + 1];
    uint16_t type;
    uint64_t tenant;          /* the first tenant that asked */
    bool given_up;            /* in favour of another tenant's lookup: it ends at the next tick */
    struct dns_result result; /* the part of the chain of aliases that is known */
    bool has_result;
    unsigned steps; /* in this chain */
    unsigned attempts;
    uint16_t id;
    bool over_tcp;
    uint8_t *question; /* after its length; owned */
    size_t question_size, sent;
    uint8_t *answer; /* over TCP; DNS_MESSAGE_MAX and a length */
    size_t received;
    int64_t give_up_at_ms;
    struct waiter *waiters;
    struct lookup *next;
};

struct resolver {
    struct loop *loop;
    struct dns_cache *cache;
    struct upstream upstreams[RESOLVER_UPSTREAMS_MAX];
    size_t upstream_count;
    bool from_file;
    struct timespec file_changed;
    struct lookup *lookups; /* newest first */
    size_t waiter_count;
    struct room {
        size_t count, max; /* of lookups that are not given up */
    } tenants, denied;
};

static void attempt(struct lookup *lookup);

/* --- upstreams --- */

static void reread_file(struct resolver *resolver)
{
    struct stat status;
    if (!resolver->from_file || stat(RESOLV_CONF, &status) < 0 ||
        !memcmp(&status.st_mtim, &resolver->file_changed, sizeof status.st_mtim))
        return;
    resolver->file_changed = status.st_mtim;
    resolver->upstream_count =
        upstreams_read(RESOLV_CONF, resolver->upstreams, RESOLVER_UPSTREAMS_MAX);
    if (!resolver->upstream_count)
        log_warning(
            RESOLV_CONF
            " has no resolver: sandboxes cannot look up names; add one, or set dns_upstreams");
}

int resolver_open(struct loop *loop, const char *upstreams, struct resolver **resolver,
                  struct error **err)
{
    struct resolver *fresh = xcalloc(1, sizeof *fresh);
    fresh->loop = loop;
    fresh->cache = dns_cache_new();
    fresh->from_file = !*upstreams;
    fresh->tenants.max = RESOLVER_LOOKUPS_MAX;
    fresh->denied.max = RESOLVER_DENIED_MAX;
    if (upstreams_parse(upstreams, fresh->upstreams, RESOLVER_UPSTREAMS_MAX, &fresh->upstream_count,
                        err) < 0) {
        resolver_close(fresh);
        return -1;
    }
    reread_file(fresh);
    *resolver = fresh;
    return 0;
}

/* --- lookups --- */

static struct room *room_of(struct resolver *resolver, uint64_t tenant)
{
    return tenant == RESOLVER_DENIED ? &resolver->denied : &resolver->tenants;
}

static void lookup_free(struct lookup *lookup)
{
    struct waiter *next;
    loop_close(lookup->resolver->loop, &lookup->socket);
    for (struct waiter *waiter = lookup->waiters; waiter; waiter = next) {
        next = waiter->next;
        free(waiter);
        lookup->resolver->waiter_count--;
    }
    dns_result_deinit(&lookup->result);
    free(lookup->question);
    free(lookup->answer);
    if (!lookup->given_up)
        room_of(lookup->resolver, lookup->tenant)->count--;
    free(lookup);
}

void resolver_close(struct resolver *resolver)
{
    if (!resolver)
        return;
    while (resolver->lookups) {
        struct lookup *lookup = resolver->lookups;
        resolver->lookups = lookup->next;
        lookup_free(lookup);
    }
    dns_cache_free(resolver->cache);
    free(resolver);
}

static void finish(struct lookup *lookup, bool answered)
{
    struct resolver *resolver = lookup->resolver;
    struct lookup **link = &resolver->lookups;
    struct waiter *waiters = steal_pointer(&lookup->waiters);
    uint32_t ttl_s = lookup->result.ttl_s < TTL_MAX_S ? lookup->result.ttl_s : TTL_MAX_S;
    int64_t left_ms = (int64_t)ttl_s * MS_PER_S;
    while (*link != lookup)
        link = &(*link)->next;
    *link = lookup->next;
    while (waiters) {
        struct waiter *waiter = waiters;
        waiters = waiter->next;
        resolver->waiter_count--;
        waiter->done(waiter->context, answered ? &lookup->result : NULL, left_ms);
        free(waiter);
    }
    if (answered && left_ms)
        dns_cache_put(resolver->cache, lookup->name, lookup->type, &lookup->result,
                      clock_monotonic_ms(), left_ms);
    lookup_free(lookup);
}

/* Return the name to ask for: the original name, or the end of its aliases. */
static const char *current_name(const struct lookup *lookup)
{
    return lookup->has_result ? lookup->result.last_name : lookup->name;
}

static void next_attempt(struct lookup *lookup)
{
    loop_close(lookup->resolver->loop, &lookup->socket);
    if (++lookup->attempts >= ATTEMPTS_MAX)
        finish(lookup, false);
    else
        attempt(lookup);
}

static void take_result(struct lookup *lookup, struct dns_result *part)
{
    bool failed = part->rcode != LDNS_RCODE_NOERROR && part->rcode != LDNS_RCODE_NXDOMAIN;
    if (failed && lookup->attempts + 1 < ATTEMPTS_MAX && lookup->resolver->upstream_count > 1) {
        dns_result_deinit(part);
        lookup->over_tcp = false;
        next_attempt(lookup);
        return;
    }
    if (lookup->has_result) {
        dns_result_extend(&lookup->result, part);
    } else {
        lookup->result = *part;
        lookup->has_result = true;
    }
    if (failed)
        lookup->result.ttl_s = 0;
    lookup->over_tcp = false;
    if (lookup->result.complete || lookup->result.aliases >= DNS_CHAIN_MAX ||
        ++lookup->steps >= DNS_CHAIN_MAX) {
        finish(lookup, lookup->result.complete);
        return;
    }
    loop_close(lookup->resolver->loop, &lookup->socket);
    attempt(lookup);
}

static void take_message(struct lookup *lookup, const uint8_t *wire, size_t size)
{
    struct dns_result part;
    bool truncated;
    if (dns_result_read(wire, size, lookup->id, current_name(lookup), lookup->type, &part,
                        &truncated) < 0)
        return; /* not ours, or forged: the right one may still come */
    if (truncated && !lookup->over_tcp) {
        dns_result_deinit(&part);
        loop_close(lookup->resolver->loop, &lookup->socket);
        lookup->over_tcp = true;
        attempt(lookup);
        return;
    }
    take_result(lookup, &part);
}

static void on_udp(struct loop_source *source, uint32_t events)
{
    struct lookup *lookup = container_of(source, struct lookup, socket);
    uint8_t message[4096];
    ssize_t got = recv(source->fd, message, sizeof message, 0);
    (void)events;
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        next_attempt(lookup); /* the port is closed */
    else if (got > 0)
        take_message(lookup, message, (size_t)got);
}

/* --- over TCP --- */

static bool send_rest(struct lookup *lookup)
{
    while (lookup->sent < lookup->question_size) {
        ssize_t sent = send(lookup->socket.fd, lookup->question + lookup->sent,
                            lookup->question_size - lookup->sent, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN;
        lookup->sent += (size_t)sent;
    }
    loop_change(lookup->resolver->loop, &lookup->socket, EPOLLIN);
    return true;
}

/* Receive more of the answer. Returns false when the connection is of no more use. *whole: the
 * message is complete. */
static bool receive_more(struct lookup *lookup, bool *whole)
{
    size_t want = FRAME_HEADER;
    *whole = false;
    if (!lookup->answer)
        lookup->answer = xmalloc(FRAME_HEADER + DNS_MESSAGE_MAX);
    if (lookup->received >= FRAME_HEADER)
        want += (size_t)lookup->answer[0] << 8 | lookup->answer[1];
    ssize_t got =
        recv(lookup->socket.fd, lookup->answer + lookup->received, want - lookup->received, 0);
    if (got <= 0)
        return got < 0 && errno == EAGAIN;
    lookup->received += (size_t)got;
    *whole = lookup->received > FRAME_HEADER && lookup->received == want;
    return true;
}

static void on_tcp(struct loop_source *source, uint32_t events)
{
    struct lookup *lookup = container_of(source, struct lookup, socket);
    bool whole = false;
    if ((events & EPOLLOUT) && !send_rest(lookup)) {
        next_attempt(lookup);
        return;
    }
    if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return;
    if (!receive_more(lookup, &whole)) {
        next_attempt(lookup);
        return;
    }
    if (!whole)
        return;
    lookup->received = 0;
    take_message(lookup, lookup->answer + FRAME_HEADER,
                 (size_t)lookup->answer[0] << 8 | lookup->answer[1]);
}

/* --- asking --- */

static int write_question(struct lookup *lookup)
{
    autofree uint8_t *wire = NULL;
    size_t size;
    if (getrandom(&lookup->id, sizeof lookup->id, 0) != (ssize_t)sizeof lookup->id ||
        dns_query_write(lookup->id, current_name(lookup), lookup->type, &wire, &size) < 0)
        return -1;
    free(lookup->question);
    lookup->question = xmalloc(FRAME_HEADER + size);
    lookup->question[0] = (uint8_t)(size >> 8);
    lookup->question[1] = (uint8_t)size;
    memcpy(lookup->question + FRAME_HEADER, wire, size);
    lookup->question_size = FRAME_HEADER + size;
    lookup->sent = lookup->received = 0;
    return 0;
}

static int open_socket(struct lookup *lookup, const struct upstream *upstream)
{
    int type = lookup->over_tcp ? SOCK_STREAM : SOCK_DGRAM;
    autoclose int fd = socket(upstream->address.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || loop_add(lookup->resolver->loop, &lookup->socket, fd,
                           lookup->over_tcp ? EPOLLIN | EPOLLOUT : EPOLLIN,
                           lookup->over_tcp ? on_tcp : on_udp) < 0)
        return -1;
    steal_fd(&fd);
    /* The connected socket accepts datagrams only from the upstream; the kernel picks a random
     * port. */
    if (connect(lookup->socket.fd, (const struct sockaddr *)&upstream->address, upstream->size) < 0)
        return errno == EINPROGRESS ? 0 : -1;
    if (lookup->over_tcp)
        return 0;
    size_t size = lookup->question_size - FRAME_HEADER;
    return send(lookup->socket.fd, lookup->question + FRAME_HEADER, size, 0) == (ssize_t)size ? 0
                                                                                              : -1;
}

/* Start an attempt. One that fails at once ends at the next tick: resolver_ask() must not call
 * finish(). */
static void attempt(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    int64_t now_ms = clock_monotonic_ms();
    lookup->give_up_at_ms = now_ms + ATTEMPT_MS;
    if (!resolver->upstream_count || write_question(lookup) < 0 ||
        open_socket(lookup, &resolver->upstreams[lookup->attempts % resolver->upstream_count]) < 0)
        lookup->give_up_at_ms = now_ms;
}

bool resolver_is_asking(const struct resolver *resolver)
{
    return resolver->lookups;
}

void resolver_tick(struct resolver *resolver, int64_t now_ms)
{
    struct lookup *next;
    reread_file(resolver);
    for (struct lookup *lookup = resolver->lookups; lookup; lookup = next) {
        next = lookup->next;
        if (lookup->give_up_at_ms <= now_ms) {
            lookup->over_tcp = false;
            next_attempt(lookup);
        }
    }
}

static struct lookup *find_lookup(struct resolver *resolver,
                                  const struct resolver_question *question)
{
    struct lookup *lookup = resolver->lookups;
    while (lookup && (lookup->given_up || lookup->type != question->type ||
                      strcmp(lookup->name, question->name) != 0))
        lookup = lookup->next;
    return lookup;
}

static struct lookup *start_lookup(struct resolver *resolver,
                                   const struct resolver_question *question)
{
    struct lookup *lookup = xcalloc(1, sizeof *lookup);
    lookup->socket.fd = -1;
    lookup->resolver = resolver;
    lookup->type = question->type;
    lookup->tenant = question->tenant;
    memcpy(lookup->name, question->name, strlen(question->name) + 1);
    lookup->next = resolver->lookups;
    resolver->lookups = lookup;
    room_of(resolver, question->tenant)->count++;
    attempt(lookup);
    return lookup;
}

/* --- shares --- */

#define SHARES (2 * RESOLVER_LOOKUPS_MAX) /* entries of a table that is never full */

struct share {
    uint64_t tenant;
    unsigned count;
};

static struct share *share_of(struct share *shares, uint64_t tenant)
{
    size_t at = tenant % SHARES;
    while (shares[at].count && shares[at].tenant != tenant)
        at = (at + 1) % SHARES;
    shares[at].tenant = tenant;
    return &shares[at];
}

/* Return the oldest lookup of the tenant with the most lookups. NULL: this is the asking tenant.
 * All denied names count as one tenant. */
static struct lookup *to_give_up(const struct resolver *resolver, uint64_t tenant)
{
    static struct share shares[SHARES];
    struct lookup *oldest = NULL;
    uint64_t most = tenant;
    unsigned count = 0;
    if (tenant != RESOLVER_DENIED) {
        memset(shares, 0, sizeof shares);
        for (const struct lookup *lookup = resolver->lookups; lookup; lookup = lookup->next)
            if (!lookup->given_up && lookup->tenant != RESOLVER_DENIED &&
                ++share_of(shares, lookup->tenant)->count > count) {
                most = lookup->tenant;
                count = share_of(shares, most)->count;
            }
        if (share_of(shares, tenant)->count + 1 >= count)
            return NULL;
    }
    for (struct lookup *lookup = resolver->lookups; lookup; lookup = lookup->next)
        if (!lookup->given_up && lookup->tenant == most)
            oldest = lookup;
    return oldest;
}

/* Make room for a lookup. The one that is given up ends in resolver_tick(), not in the middle of
 * other work. */
static bool make_room(struct resolver *resolver, uint64_t tenant)
{
    struct room *room = room_of(resolver, tenant);
    if (room->count < room->max)
        return true;
    struct lookup *lookup = to_give_up(resolver, tenant);
    if (!lookup)
        return false;
    lookup->given_up = true;
    lookup->attempts = ATTEMPTS_MAX;
    lookup->give_up_at_ms = 0;
    room->count--;
    return true;
}

bool resolver_knows(struct resolver *resolver, const char *name, uint16_t type)
{
    int64_t left_ms;
    return dns_cache_get(resolver->cache, name, type, clock_monotonic_ms(), &left_ms) != NULL;
}

int resolver_ask(struct resolver *resolver, const struct resolver_question *question,
                 resolver_done *done, void *context)
{
    int64_t left_ms;
    const struct dns_result *known = dns_cache_get(resolver->cache, question->name, question->type,
                                                   clock_monotonic_ms(), &left_ms);
    if (known) {
        done(context, known, left_ms);
        return 0;
    }
    struct lookup *lookup = find_lookup(resolver, question);
    if (resolver->waiter_count == WAITERS_MAX ||
        (!lookup && !make_room(resolver, question->tenant)))
        return -1;
    if (!lookup)
        lookup = start_lookup(resolver, question);
    struct waiter *waiter = xmalloc(sizeof *waiter);
    *waiter = (struct waiter){done, context, lookup->waiters};
    lookup->waiters = waiter;
    resolver->waiter_count++;
    return 0;
}

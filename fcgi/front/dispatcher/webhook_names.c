/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/webhook_names.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/ulid.h"

#define ADDRESSES_MAX 1024  /* bytes of the addresses as text */
#define FOUND_MS      30000 /* how long an answer is used */
#define FAILED_MS     2000
#define UNASKED_MS    15000 /* a queued lookup is not started after so long without a caller */
#define STACK_SIZE    (256 * 1024)
/* For a server that does not answer: a few seconds in total. */
#define RESOLVER_OPTIONS "timeout:2 attempts:2"

/* The answer, shared by a lookup and its thread; the last user frees it. */
struct answer {
    atomic_int users;
    atomic_bool ended;
    int wake_fd; /* the thread's own copy */
    char *host;
    struct buffer addresses;
    int failure; /* of getaddrinfo() */
};

struct lookup {
    TAILQ_ENTRY(lookup) entry;
    char team_id[ID_SIZE];
    char *host;
    enum { QUEUED, RUNNING, ENDED } state;
    struct answer *answer; /* RUNNING and ENDED */
    int64_t asked_at_ms, forget_at_ms;
};
TAILQ_HEAD(lookups, lookup);

struct webhook_names {
    struct lookups lookups;
    int wake_fd;
};

/* --- the thread --- */

static void answer_leave(struct answer *answer)
{
    if (atomic_fetch_sub(&answer->users, 1) > 1)
        return;
    close(answer->wake_fd);
    buffer_deinit(&answer->addresses);
    free(answer->host);
    free(answer);
}

static void add_address(struct buffer *addresses, const struct sockaddr *from)
{
    char text[INET6_ADDRSTRLEN];
    bool is_ipv6 = from->sa_family == AF_INET6;
    const void *bytes = is_ipv6 ? (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr
                                : &((const struct sockaddr_in *)from)->sin_addr;
    if (!inet_ntop(from->sa_family, bytes, text, sizeof text) ||
        addresses->size + sizeof text + 4 > ADDRESSES_MAX)
        return;
    buffer_printf(addresses, "%s%s%s%s", addresses->size ? "," : "", is_ipv6 ? "[" : "", text,
                  is_ipv6 ? "]" : "");
}

static void *run(void *context)
{
    struct answer *answer = context;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *list = NULL;
    uint64_t one = 1;
    answer->failure = getaddrinfo(answer->host, NULL, &hints, &list);
    for (const struct addrinfo *found = list; found; found = found->ai_next)
        if (found->ai_family == AF_INET || found->ai_family == AF_INET6)
            add_address(&answer->addresses, found->ai_addr);
    if (list)
        freeaddrinfo(list);
    atomic_store(&answer->ended, true);
    ssize_t ignored = write(answer->wake_fd, &one, sizeof one);
    (void)ignored; /* the next turn finds the answer */
    answer_leave(answer);
    return NULL;
}

static void start(struct webhook_names *names, struct lookup *lookup)
{
    pthread_t thread;
    pthread_attr_t attributes;
    struct answer *answer = xcalloc(1, sizeof *answer);
    answer->wake_fd = fcntl(names->wake_fd, F_DUPFD_CLOEXEC, 0);
    answer->host = xstrdup(lookup->host);
    buffer_init(&answer->addresses, ADDRESSES_MAX);
    atomic_store(&answer->users, 2);
    lookup->answer = answer;
    lookup->state = RUNNING;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    if (thread_start(&thread, &attributes, run, answer) < 0) {
        answer->failure = EAI_AGAIN;
        atomic_store(&answer->ended, true);
        answer_leave(answer);
    }
    pthread_attr_destroy(&attributes);
}

/* --- lookups --- */

struct webhook_names *webhook_names_open(void)
{
    struct webhook_names *names = xcalloc(1, sizeof *names);
    setenv("RES_OPTIONS", RESOLVER_OPTIONS, 0);
    TAILQ_INIT(&names->lookups);
    names->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (names->wake_fd < 0)
        panic("eventfd() failed");
    return names;
}

static void drop(struct webhook_names *names, struct lookup *lookup)
{
    TAILQ_REMOVE(&names->lookups, lookup, entry);
    if (lookup->answer)
        answer_leave(lookup->answer);
    free(lookup->host);
    free(lookup);
}

void webhook_names_close(struct webhook_names *names)
{
    while (TAILQ_FIRST(&names->lookups))
        drop(names, TAILQ_FIRST(&names->lookups));
    close(names->wake_fd);
    free(names);
}

int webhook_names_fd(const struct webhook_names *names)
{
    return names->wake_fd;
}

static struct lookup *find(const struct webhook_names *names, const char *team_id, const char *host)
{
    struct lookup *lookup;
    TAILQ_FOREACH(lookup, &names->lookups, entry)
    if (str_equal(lookup->team_id, team_id) && str_equal(lookup->host, host))
        return lookup;
    return NULL;
}

enum webhook_name_state webhook_names_find(struct webhook_names *names, const char *team_id,
                                           const char *host, const char **text)
{
    struct lookup *lookup = find(names, team_id, host);
    if (!lookup) {
        lookup = xcalloc(1, sizeof *lookup);
        snprintf(lookup->team_id, sizeof lookup->team_id, "%s", team_id);
        lookup->host = xstrdup(host);
        TAILQ_INSERT_TAIL(&names->lookups, lookup, entry);
    }
    lookup->asked_at_ms = clock_monotonic_ms();
    if (lookup->state != ENDED)
        return WEBHOOK_NAME_WAITS;
    struct answer *answer = lookup->answer;
    if (answer->addresses.size) {
        *text = buffer_string(&answer->addresses);
        return WEBHOOK_NAME_FOUND;
    }
    *text = answer->failure ? gai_strerror(answer->failure) : "the host has no address";
    return WEBHOOK_NAME_FAILED;
}

static unsigned running_of(const struct webhook_names *names, const char *team_id)
{
    const struct lookup *lookup;
    unsigned count = 0;
    TAILQ_FOREACH(lookup, &names->lookups, entry)
    count += lookup->state == RUNNING && (!team_id || str_equal(lookup->team_id, team_id));
    return count;
}

/* Return the oldest queued lookup of the team with the fewest threads, so that every team gets
 * some. */
static struct lookup *next_queued(const struct webhook_names *names)
{
    struct lookup *lookup, *next = NULL;
    unsigned least = WEBHOOK_NAMES_TEAM;
    TAILQ_FOREACH(lookup, &names->lookups, entry)
    {
        unsigned count = lookup->state == QUEUED ? running_of(names, lookup->team_id) : least;
        if (count < least) {
            least = count;
            next = lookup;
        }
    }
    return next;
}

static void collect(struct webhook_names *names, int64_t now_ms)
{
    struct lookup *lookup, *next;
    for (lookup = TAILQ_FIRST(&names->lookups); lookup; lookup = next) {
        next = TAILQ_NEXT(lookup, entry);
        if (lookup->state == RUNNING && atomic_load(&lookup->answer->ended)) {
            lookup->state = ENDED;
            lookup->forget_at_ms = now_ms + (lookup->answer->addresses.size ? FOUND_MS : FAILED_MS);
        } else if ((lookup->state == ENDED && lookup->forget_at_ms <= now_ms) ||
                   (lookup->state == QUEUED && now_ms - lookup->asked_at_ms > UNASKED_MS)) {
            drop(names, lookup);
        }
    }
}

void webhook_names_turn(struct webhook_names *names)
{
    uint64_t ignored;
    struct lookup *next;
    while (read(names->wake_fd, &ignored, sizeof ignored) > 0)
        ;
    collect(names, clock_monotonic_ms());
    while (running_of(names, NULL) < WEBHOOK_NAMES_ALL && (next = next_queued(names)))
        start(names, next);
}

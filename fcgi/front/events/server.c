/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "events/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "account/access_revision.h"
#include "account/access_teams.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define LOOK_MS      100 /* between two queries for new events */
#define TROUBLE_MS   1000
#define BATCH_MAX    1000
#define PAGE         200
#define CATCH_UP_MS  100 /* for the followers with queries of their own, in one turn */
#define ACCESS_MS    1000
#define CHECK_MOST   128 /* followers whose access is checked in a turn */
#define SPARE        64  /* connections in addition to the waiting requests */
#define STOP_WAIT_MS 3000

/* --- who may wait --- */

bool server_admits(const struct server *server, const struct wanted *wanted)
{
    const struct settings *settings = server->worker.settings;
    const struct follower *one;
    unsigned all = 0, of_team = 0, of_user = 0;
    TAILQ_FOREACH(one, &server->followers, entry)
    {
        if (!one->following)
            continue;
        all++;
        of_team += !strcmp(one->wanted.tenant, wanted->tenant);
        of_user += !strcmp(one->wanted.user, wanted->user);
    }
    return all < settings->event_followers && of_team < settings->event_followers_per_team &&
           of_user < settings->event_followers_per_team;
}

/* --- new events --- */

/* Give new events to the followers that have all earlier ones. */
static void give_to_all(struct server *server, struct told *list, unsigned count, uint64_t before)
{
    struct follower *one, *next;
    for (one = TAILQ_FIRST(&server->followers); one; one = next) {
        next = TAILQ_NEXT(one, entry);
        if (one->following && !one->ending && one->cursor >= before &&
            one->cursor < server->known && !follower_is_full(one))
            follower_take(one, list, count, server->known);
    }
}

static struct told *tell_all(const struct event *list, unsigned count)
{
    struct told *told = xcalloc(count + 1, sizeof *told);
    for (unsigned i = 0; i < count; i++)
        told[i].event = &list[i];
    return told;
}

static void told_free(struct told *told, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(told[i].text);
    free(told);
}

static int read_new(struct server *server, bool *more, struct error **err)
{
    struct event *list;
    unsigned count;
    uint64_t head, before = server->known;
    if (event_head(server->worker.db, &head, err) < 0)
        return -1;
    if (head <= before)
        return 0;
    if (event_list_all(server->worker.db, before, head, BATCH_MAX, &list, &count, err) < 0)
        return -1;
    *more = count == BATCH_MAX;
    server->known = *more ? list[count - 1].id : head;
    struct told *told = tell_all(list, count);
    give_to_all(server, told, count, before);
    told_free(told, count);
    events_free(list, count);
    return 0;
}

static bool is_behind(const struct follower *one)
{
    return one->following && !one->ending && one->cursor < one->server->known &&
           !follower_is_full(one);
}

static int catch_up(struct follower *one, struct error **err)
{
    struct server *server = one->server;
    const struct wanted *wanted = &one->wanted;
    unsigned count, limit = wanted->limit < PAGE ? wanted->limit : PAGE;
    uint64_t end;
    struct event *list;
    if (event_scan_end(server->worker.db, &wanted->filter, one->cursor, server->known, &end, err) <
            0 ||
        event_list(server->worker.db, &wanted->filter, one->cursor, end, limit, &list, &count,
                   err) < 0)
        return -1;
    struct told *told = tell_all(list, count);
    follower_take(one, told, count, count == limit ? list[count - 1].id : end);
    told_free(told, count);
    events_free(list, count);
    return 0;
}

/* Read older events for followers that are behind, a page each in turn. All other followers wait
 * meanwhile, so a turn is short. */
static int catch_up_all(struct server *server, bool *more, struct error **err)
{
    struct follower *one, *next;
    unsigned seen = 0, all = server->count;
    int64_t until_ms = clock_monotonic_ms() + CATCH_UP_MS;
    for (one = TAILQ_FIRST(&server->followers); one && seen < all; one = next, seen++) {
        next = TAILQ_NEXT(one, entry);
        if (!is_behind(one))
            continue;
        TAILQ_REMOVE(&server->followers, one, entry);
        TAILQ_INSERT_TAIL(&server->followers, one, entry);
        if (catch_up(one, err) < 0)
            return -1;
        *more = true; /* perhaps; the next turn finds out */
        if (clock_monotonic_ms() >= until_ms)
            return 0;
    }
    return 0;
}

/* --- end of access --- */

static int may_read(struct follower *one, bool *may, struct error **err)
{
    struct principal principal;
    const struct event_filter *filter = &one->wanted.filter;
    if (access_teams_read(one->server->worker.db, one->wanted.credential, &principal, err) < 0)
        return -1;
    *may = true;
    one->allowed_until_ms = principal.expires_at_ms;
    for (unsigned i = 0; i < filter->team_count; i++)
        *may &= principal_reaches(&principal, filter->team_ids[i]);
    principal_deinit(&principal);
    return 0;
}

static bool must_check(const struct follower *one)
{
    return !one->checked || (one->allowed_until_ms && one->allowed_until_ms < clock_now_ms());
}

/* Mark the followers whose users' rights have changed. */
static int read_changes(struct server *server, struct error **err)
{
    struct access_changes changes;
    struct follower *one;
    uint64_t revision;
    if (access_revision_get(server->worker.db, &revision, err) < 0 ||
        access_changes_read(server->worker.db, server->access_revision, revision, &changes, err) <
            0)
        return -1;
    TAILQ_FOREACH(one, &server->followers, entry)
    one->checked &= !access_changes_concern(&changes, one->wanted.user);
    server->access_revision = revision;
    return 0;
}

/* End waiting requests within seconds after their key was revoked or has expired, their sign-in
 * ended, or their user was removed from the team. */
static int check_access(struct server *server, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    struct follower *one, *next;
    unsigned checked = 0;
    bool may;
    if (now_ms >= server->access_at_ms + ACCESS_MS) {
        if (read_changes(server, err) < 0)
            return -1;
        server->access_at_ms = now_ms;
    }
    for (one = TAILQ_FIRST(&server->followers); one && checked < CHECK_MOST; one = next) {
        next = TAILQ_NEXT(one, entry);
        if (!one->following || one->ending || !must_check(one))
            continue;
        checked++;
        if (may_read(one, &may, err) < 0)
            return -1;
        one->checked = true;
        /* The next turn begins with others, also if the revision changes in each turn. */
        TAILQ_REMOVE(&server->followers, one, entry);
        TAILQ_INSERT_TAIL(&server->followers, one, entry);
        if (!may)
            follower_end(one);
    }
    return 0;
}

static void on_look(struct loop_timer *timer)
{
    struct server *server = container_of(timer, struct server, look);
    error_auto err = NULL;
    bool more = false;
    int64_t wait_ms = LOOK_MS;
    if (check_access(server, &err) < 0 || read_new(server, &more, &err) < 0 ||
        catch_up_all(server, &more, &err) < 0) {
        if (!server->troubled)
            log_warning("cannot read events; trying again", LOG_ERROR(err));
        wait_ms = TROUBLE_MS;
    } else if (more) {
        wait_ms = 0;
    }
    server->troubled = err != NULL;
    if (server->count)
        loop_timer_arm(&server->loop, timer, clock_monotonic_ms() + wait_ms, on_look);
}

void server_follow(struct server *server)
{
    error_auto ignored = NULL;
    uint64_t head;
    if (server->look.slot)
        return;
    /* No request was waiting, so no follower needs the events since then. A request for older
     * events is behind and gets a query of its own. */
    if (event_head(server->worker.db, &head, &ignored) == 0 && head > server->known)
        server->known = head;
    loop_timer_arm(&server->loop, &server->look, clock_monotonic_ms(), on_look);
}

/* --- connections --- */

static void on_listener(struct loop_source *source, uint32_t events)
{
    struct server *server = container_of(source, struct server, listener.source);
    (void)events;
    int fd =
        loop_accept(&server->loop, &server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno)
        log_error("cannot accept a connection", LOG_STR("reason", strerror(errno)));
    if (fd < 0)
        return;
    if (server->count >= server->worker.settings->event_followers + SPARE)
        close(fd);
    else
        follower_new(server, fd);
}

static void on_signal(struct loop_source *source, uint32_t events)
{
    struct server *server = container_of(source, struct server, signals);
    struct signalfd_siginfo info;
    (void)events;
    while (read(source->fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGHUP)
            log_reopen();
        else
            server->stopping = true;
    }
}

/* --- the whole --- */

static int watch(struct server *server, struct error **err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGQUIT); /* multiwatch 1.0 sends it although it is configured for SIGTERM */
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    if (fd < 0 || loop_add(&server->loop, &server->signals, fd, EPOLLIN, on_signal) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch signals");
    if (flags < 0 || fcntl(STDIN_FILENO, F_SETFL, flags | O_NONBLOCK) < 0 ||
        loop_add(&server->loop, &server->listener.source, STDIN_FILENO, EPOLLIN, on_listener) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "file descriptor 0 is not a socket");
    return 0;
}

static void raise_limits(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int server_open(struct server *server, const struct settings *settings, struct error **err)
{
    *server = (struct server){.listener.source.fd = -1, .signals.fd = -1};
    TAILQ_INIT(&server->followers);
    raise_limits();
    if (worker_open(settings, "sandlot-events", &server->worker, err) < 0 ||
        db_check_statements(server->worker.db, err) < 0)
        return -1;
    if (loop_init(&server->loop) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create an event loop");
    return watch(server, err);
}

static void end_all(struct server *server)
{
    struct follower *one, *next;
    int64_t until_ms = clock_monotonic_ms() + STOP_WAIT_MS;
    loop_remove(&server->loop, &server->listener.source);
    for (one = TAILQ_FIRST(&server->followers); one; one = next) {
        next = TAILQ_NEXT(one, entry);
        follower_end(one);
    }
    while (server->count && clock_monotonic_ms() < until_ms)
        if (loop_run_once(&server->loop, 200) < 0)
            return;
}

void server_run(struct server *server)
{
    log_info("serving requests that wait for events");
    while (!server->stopping && loop_run_once(&server->loop, -1) == 0)
        ;
    end_all(server);
    log_info("stopping");
}

void server_close(struct server *server)
{
    worker_close(&server->worker);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/service.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/thread.h"
#include "firewall/dns_server.h"
#include "firewall/netfilter.h"
#include "firewall/stale_flows.h"
#include "firewall/state.h"

#define TICK_MS          50
#define IDLE_MS          500 /* between two ticks without pending work */
#define TABLE_CHECK_MS   500
#define SAVE_MS          1000
#define SAVE_TURN_MS     20    /* of the files that are saved at once */
#define SAVE_ALL_MS      30000 /* of all files, at the end */
#define LOOKUP_AGAIN_S   30    /* the least time between two lookups of a denied name */
#define LOOKUP_MOST_S    300
#define LOOKUP_FAILED_MS 5000
#define WATCHES_AT_ONCE  64   /* started in one go */
#define LOOKUP_LOOKS     4096 /* in one go, so that all are checked within a second */
#define MS_PER_S         1000

struct service {
    struct filter *filter;
    struct loop loop;
    struct resolver *resolver;
    struct dns_server *dns;
    struct log_source {
        struct loop_source source;
        struct filter *filter;
    } log;
    struct wake_source {
        struct loop_source source;
        struct service *service;
    } wake;
    uint64_t table_handle;
    bool marked; /* the state directory has table.missing */
    int64_t next_tick_ms, next_table_check_ms, next_save_ms;
    pthread_t thread;
    bool running;
    atomic_bool stop;
};

/* --- refusals --- */

static const char *protocol_name(uint8_t protocol)
{
    switch (protocol) {
    case IPPROTO_TCP:
        return "tcp";
    case IPPROTO_UDP:
        return "udp";
    case IPPROTO_ICMP:
        return "icmp";
    default:
        return "other";
    }
}

static void on_refused(void *context, const struct refused_packet *packet)
{
    char target[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address address = policy_address_ipv4(packet->target);
    struct filter_sandbox *sandbox = filter_find(context, packet->source);
    if (!sandbox)
        return;
    if (!packet->too_many && (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP))
        filter_ask_connection(context, sandbox, packet->target, packet->port);
    denials_add(&sandbox->denials, packet->too_many ? DENIAL_LIMIT : DENIAL_CONNECTION,
                policy_address_text(&address, target), packet->port,
                protocol_name(packet->protocol), clock_now_ms());
}

static void on_log(struct loop_source *source, uint32_t events)
{
    struct log_source *log = container_of(source, struct log_source, source);
    (void)events;
    netfilter_log_read(source->fd, on_refused, log->filter);
}

/* --- denied names --- */

struct lookup_question {
    struct filter *filter;
    char name[POLICY_HOST_MAX + 1];
};

/* Handle the answer for a denied name. The lookup may be gone, so it is found by its name. */
static void on_watched(void *context, const struct dns_result *result, int64_t left_ms)
{
    struct lookup_question *question = context;
    uint32_t addresses[LOOKUP_ADDRESSES_MAX];
    int64_t again_ms = LOOKUP_FAILED_MS;
    size_t count = 0;
    struct lookup *lookup = lookup_find(&question->filter->lookups, question->name);
    if (result) {
        count = dns_result_addresses(result, addresses, LOOKUP_ADDRESSES_MAX);
        again_ms = left_ms < LOOKUP_AGAIN_S * MS_PER_S  ? LOOKUP_AGAIN_S * MS_PER_S
                   : left_ms > LOOKUP_MOST_S * MS_PER_S ? LOOKUP_MOST_S * MS_PER_S
                                                        : left_ms;
    }
    if (lookup)
        filter_watch_answered(question->filter, lookup, addresses, count, again_ms);
    free(question);
}

static void ask_lookups(struct service *service)
{
    struct lookup *lookup;
    int64_t now_ms = clock_monotonic_ms();
    unsigned looks = LOOKUP_LOOKS;
    for (unsigned i = 0;
         i < WATCHES_AT_ONCE && (lookup = lookup_due(&service->filter->lookups, now_ms, &looks));
         i++) {
        struct lookup_question *question = xmalloc(sizeof *question);
        question->filter = service->filter;
        snprintf(question->name, sizeof question->name, "%s", lookup->name);
        lookup->asked = true;
        const struct resolver_question asked = {lookup->name, LDNS_RR_TYPE_A, RESOLVER_DENIED};
        if (resolver_ask(service->resolver, &asked, on_watched, question) < 0) {
            lookup->asked = false;
            free(question);
            return;
        }
    }
}

static void on_wake(struct loop_source *source, uint32_t events)
{
    uint64_t ignored;
    (void)events;
    if (read(source->fd, &ignored, sizeof ignored) > 0)
        ask_lookups(container_of(source, struct wake_source, source)->service);
}

/* --- periodic work --- */

/* Without the table no packet of a sandbox is filtered: for example after "flush ruleset" of the
 * machine's own filter. The mark is written at each check, because the unit that loads the table
 * deletes it also when it failed. */
static void mark_table(struct service *service, bool missing)
{
    error_auto err = NULL;
    if (!missing && !service->marked)
        return;
    service->marked = missing;
    if (state_mark_table(service->filter->settings->firewall_state_dir, missing, &err) < 0)
        log_error("cannot ask systemd to load the nftables table", LOG_ERROR(err));
}

/* Apply all policies again when the table was loaded again (conf/nftables/load-network): then its
 * maps are empty, and all addresses are closed. */
static void check_table(struct service *service)
{
    error_auto err = NULL;
    struct filter *filter = service->filter;
    uint64_t handle;
    if (kernel_table_handle(filter->kernel, filter->settings->firewall_table, &handle, &err) < 0) {
        log_error("cannot read the nftables table; policies may be missing until the next check",
                  LOG_ERROR(err));
        return;
    }
    mark_table(service, !handle);
    if (handle == service->table_handle && !filter->table_missing)
        return;
    filter->table_missing = !handle;
    if (handle && filter_apply_all(filter, &err) < 0) {
        log_error("cannot apply the policies again after the table was replaced", LOG_ERROR(err));
        return;
    }
    if (handle != service->table_handle)
        log_warning(handle ? "the nftables table was loaded again; applied all policies again"
                           : "the nftables table does not exist; sandlot-nftables must load it",
                    LOG_STR("table", filter->settings->firewall_table),
                    LOG_INT("sandboxes", filter->count));
    service->table_handle = handle;
}

static bool is_busy(const struct service *service)
{
    const struct filter *filter = service->filter;
    return resolver_is_asking(service->resolver) || filter->lookups.count || filter->ended.count;
}

/* Do the periodic work that is due. Returns the milliseconds until the next call. */
static int64_t tick(struct service *service)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < service->next_tick_ms)
        return service->next_tick_ms - now_ms;
    service->next_tick_ms = now_ms + TICK_MS;
    filter_lock(service->filter);
    resolver_tick(service->resolver, now_ms);
    dns_server_tick(service->dns, now_ms);
    flows_reap(service->filter->flows, now_ms);
    ask_lookups(service);
    filter_apply_changed(service->filter);
    if (now_ms >= service->next_table_check_ms) {
        check_table(service);
        service->next_table_check_ms = now_ms + TABLE_CHECK_MS;
    }
    if (now_ms >= service->next_save_ms && state_save_dirty(service->filter, SAVE_TURN_MS))
        service->next_save_ms = now_ms + SAVE_MS;
    bool busy = is_busy(service);
    filter_unlock(service->filter);
    return busy ? TICK_MS : IDLE_MS;
}

static void lock(void *context)
{
    filter_lock(context);
}

static void unlock(void *context)
{
    filter_unlock(context);
}

static void *run(void *context)
{
    struct service *service = context;
    int64_t rest_ms = 0;
    while (!atomic_load(&service->stop)) {
        if (loop_run_once(&service->loop, rest_ms) < 0)
            panic("the event loop of the firewall cannot wait");
        rest_ms = tick(service);
        stale_flows_cut_due(service->filter);
    }
    return NULL;
}

/* --- open and close --- */

static int open_sources(struct service *service, struct error **err)
{
    const struct settings *settings = service->filter->settings;
    struct loop *loop = &service->loop;
    autoclose int log_fd = -1;
    if (loop_init(loop) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot create an event loop");
    loop_enclose(loop, lock, unlock, service->filter);
    if (resolver_open(loop, settings->dns_upstreams, &service->resolver, err) < 0 ||
        dns_server_open(service->filter, loop, service->resolver, &service->dns, err) < 0 ||
        netfilter_log_open((uint16_t)settings->firewall_log_group, &log_fd, err) < 0 ||
        kernel_table_handle(service->filter->kernel, settings->firewall_table,
                            &service->table_handle, err) < 0)
        return -1;
    service->log.filter = service->filter;
    service->wake.service = service;
    if (loop_add(loop, &service->log.source, log_fd, EPOLLIN, on_log) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot watch the NFLOG socket");
    steal_fd(&log_fd);
    return loop_add(loop, &service->wake.source, service->filter->wake_fd, EPOLLIN, on_wake) < 0
               ? error_set_errno(err, ERR_CONFIG, errno, "cannot watch an eventfd")
               : 0;
}

static int start_thread(struct service *service, struct error **err)
{
    service->running = thread_start(&service->thread, NULL, run, service) == 0;
    return service->running ? 0 : error_set(err, ERR_CONFIG, "cannot start a thread");
}

int service_start(struct filter *filter, struct service **service, struct error **err)
{
    struct service *fresh = xcalloc(1, sizeof *fresh);
    fresh->filter = filter;
    fresh->loop.epoll_fd = -1;
    fresh->log.source.fd = -1;
    if (open_sources(fresh, err) < 0 || start_thread(fresh, err) < 0) {
        service_stop(fresh);
        return -1;
    }
    *service = fresh;
    return 0;
}

void service_stop(struct service *service)
{
    if (!service)
        return;
    atomic_store(&service->stop, true);
    filter_wake(service->filter);
    if (service->running)
        pthread_join(service->thread, NULL);
    state_save_dirty(service->filter, SAVE_ALL_MS);
    dns_server_close(service->dns);
    resolver_close(service->resolver);
    loop_close(&service->loop, &service->log.source);
    if (service->loop.epoll_fd >= 0)
        loop_deinit(&service->loop);
    free(service);
}

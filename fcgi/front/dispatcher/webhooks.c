/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/webhooks.h"

#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/places.h"
#include "db/named_lease.h"
#include "dispatcher/jobs.h"
#include "http/pool.h"
#include "sandbox/sandbox_network_row.h"
#include "webhook/webhook_e2b.h"

#define BATCH        100
#define EVENTS_AHEAD 16 /* of one webhook at once */
#define AGAIN_AHEAD  4  /* of its retries at once */
#define SENDING_MAX  2048
#define TENANT_AHEAD 40 /* of a team, and of a user */
#define TENANT_BUSY  4  /* the same, while half of all are sending */
#define SENDING_MS   50 /* between two checks of the transfers */
#define LEASE_MS     5000
#define RELOAD_MS    60000 /* of all webhooks */
#define CHANGES_MS   1000  /* of changed webhooks, and of due retries */
#define HURRY_MS     200   /* the same after a notice of changed webhooks */
#define DUE_MAX      10000
#define TRIM_EVERY   100 /* dead letters */
#define PURGE_MS     60000
#define KEEP_MS      30000 /* between two writes of a cursor that only skipped events */
#define FAILURE_MS   1000

#define LEASE        "webhooks"

struct hook {
    TAILQ_ENTRY(hook) entry;
    struct webhook row;
    struct tenant tenant; /* user: its creator */
    struct event_filter filter;
    const char *team_ids[1];
    uint64_t cursor;                   /* earlier events are read and settled */
    int64_t keep_at_ms, rest_until_ms; /* monotonic */

    /* The current events: sent in order, at most EVENTS_AHEAD at once, and only one of a sandbox at
     * a time. */
    struct event *events;
    bool open[BATCH]; /* events that are being sent */
    unsigned count, next, settled;
    uint64_t end;
    bool delivered, failed, broken; /* broken: the settled events are not known; read them again */

    struct webhook_message *messages; /* the current retries */
    unsigned message_count, next_message, messages_settled;

    struct webhook_secrets secrets; /* for the current events and retries */
    unsigned waiting;               /* its messages in the database */
    bool counted;                   /* waiting is known */
    bool due;                       /* retries are due */
    unsigned ended;                 /* dead letters and tests since the last trim */
    bool trimmed;                   /* at least once */
    unsigned sending;
    bool wanted;
};

TAILQ_HEAD(hooks, hook);

struct delivery {
    struct worker *worker;
    CURLM *multi;
    struct webhook_names *names;
    TAILQ_HEAD(, sending) resolving; /* sendings without an address yet */
    struct hooks hooks;
    json_t *by_id; /* the id of a hook -> its address */
    struct protected_networks networks;
    struct places sending; /* by the addresses of the sendings */
    uint64_t head;
    int events, changes; /* descriptors of notices */
    /* Monotonic: */
    int64_t lease_at_ms, reload_at_ms, changes_at_ms, changes_read_ms, look_at_ms, purge_at_ms;
    bool ours;
};

/* --- webhooks --- */

static void read_filter(struct hook *hook)
{
    autofree char *kinds = xstrdup(hook->row.kinds);
    char *rest = NULL;
    hook->team_ids[0] = hook->row.team_id;
    hook->filter = (struct event_filter){.team_ids = hook->team_ids, .team_count = 1};
    for (char *name = strtok_r(kinds, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        enum event_kind kind;
        if (event_kind_parse(name, &kind) == 0)
            hook->filter.kinds[kind] = true;
    }
    if (hook->row.form == WEBHOOK_E2B && !webhook_e2b_narrow(&hook->filter))
        hook->filter.team_count = 0; /* it gets no events */
}

static struct hook *find(struct delivery *delivery, const char *id)
{
    return (void *)(intptr_t)json_integer_value(json_object_get(delivery->by_id, id));
}

static void drop_events(struct hook *hook)
{
    events_free(hook->events, hook->count);
    hook->events = NULL;
    hook->count = hook->next = hook->settled = 0;
    hook->delivered = hook->failed = hook->broken = false;
}

static void drop_messages(struct hook *hook)
{
    webhook_messages_free(hook->messages, hook->message_count);
    hook->messages = NULL;
    hook->message_count = hook->next_message = hook->messages_settled = 0;
}

static void hook_free(struct delivery *delivery, struct hook *hook)
{
    TAILQ_REMOVE(&delivery->hooks, hook, entry);
    json_object_del(delivery->by_id, hook->row.id);
    drop_events(hook);
    drop_messages(hook);
    mem_wipe(&hook->secrets, sizeof hook->secrets);
    free(hook);
}

static void take_row(struct delivery *delivery, const struct webhook *row)
{
    struct hook *hook = find(delivery, row->id);
    if (!hook) {
        hook = xcalloc(1, sizeof *hook);
        hook->cursor = row->cursor_id;
        hook->tenant = (struct tenant){pool_tenant(row->team_id), pool_tenant(row->created_by)};
        json_object_set_new(delivery->by_id, row->id, json_integer((intptr_t)hook));
        TAILQ_INSERT_TAIL(&delivery->hooks, hook, entry);
    }
    hook->row = *row;
    hook->wanted = true;
    read_filter(hook);
}

static void free_unwanted(struct delivery *delivery)
{
    struct hook *hook, *next;
    for (hook = TAILQ_FIRST(&delivery->hooks); hook; hook = next) {
        next = TAILQ_NEXT(hook, entry);
        if (!hook->wanted && !hook->sending)
            hook_free(delivery, hook);
    }
}

static int reload(struct delivery *delivery, struct error **err)
{
    autofree struct webhook *rows = NULL;
    unsigned count;
    struct hook *hook;
    if (webhook_list_enabled(delivery->worker->db, &rows, &count, err) < 0)
        return -1;
    TAILQ_FOREACH(hook, &delivery->hooks, entry)
    hook->wanted = false;
    for (unsigned i = 0; i < count; i++)
        take_row(delivery, &rows[i]);
    free_unwanted(delivery);
    return 0;
}

static int read_changes(struct delivery *delivery, struct error **err)
{
    autofree struct webhook *rows = NULL;
    unsigned count;
    if (webhook_list_changed(delivery->worker->db, &rows, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        struct hook *hook = find(delivery, rows[i].id);
        if (rows[i].enabled)
            take_row(delivery, &rows[i]);
        else if (hook)
            hook->wanted = false;
    }
    free_unwanted(delivery);
    return 0;
}

static int read_due(struct delivery *delivery, struct error **err)
{
    autofree char(*ids)[ID_SIZE] = xcalloc(DUE_MAX, sizeof *ids);
    unsigned count;
    if (webhook_list_due(delivery->worker->db, DUE_MAX, ids, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        struct hook *hook = find(delivery, ids[i]);
        if (hook)
            hook->due = true;
    }
    return 0;
}

/* --- sending --- */

static bool has_room(const struct delivery *delivery, const struct hook *hook)
{
    return hook->sending < EVENTS_AHEAD + AGAIN_AHEAD &&
           places_has_room(&delivery->sending, &hook->tenant);
}

static uint64_t key_of(const struct sending *sending)
{
    return (uint64_t)(uintptr_t)sending;
}

static void free_sending(struct delivery *delivery, struct sending *sending)
{
    places_leave(&delivery->sending, key_of(sending));
    sending_free(sending, delivery->multi);
}

/* Start a sending. Takes it over. */
static void begin(struct delivery *delivery, struct hook *hook, struct sending *sending)
{
    error_auto err = NULL;
    sending->hook = hook;
    sending->networks = &delivery->networks;
    memcpy(sending->message.webhook_id, hook->row.id, ID_SIZE);
    hook->sending++;
    places_take(&delivery->sending, &hook->tenant, key_of(sending));
    if (sending_begin(sending, &hook->secrets, &hook->row, &err) == 0) {
        TAILQ_INSERT_TAIL(&delivery->resolving, sending, entry);
        return;
    }
    log_warning("cannot prepare a message of a webhook; trying again",
                LOG_STR("webhook", hook->row.id), LOG_ERROR(err));
    if (sending->is_event)
        hook->broken = true;
    else
        hook->messages_settled++; /* it stays due */
    hook->sending--;
    free_sending(delivery, sending);
}

/* Return whether another event of the same sandbox is being sent. */
static bool is_being_sent(const struct hook *hook, const char *sandbox_id)
{
    for (unsigned i = 0; i < hook->next; i++)
        if (hook->open[i] && *sandbox_id && !strcmp(hook->events[i].sandbox_id, sandbox_id))
            return true;
    return false;
}

/* Return the body of an event, or NULL when it cannot be made now. */
static char *body_of(struct delivery *delivery, const struct hook *hook, const struct event *event)
{
    error_auto err = NULL;
    char *body = NULL;
    if (hook->row.form != WEBHOOK_E2B)
        return webhook_body(event);
    if (webhook_e2b_body(delivery->worker->db, event, &body, &err) < 0)
        log_warning("cannot prepare a message of a webhook; trying again",
                    LOG_STR("webhook", hook->row.id), LOG_ERROR(err));
    return body;
}

static void send_event(struct delivery *delivery, struct hook *hook, unsigned index)
{
    const struct event *event = &hook->events[index];
    autofree char *body = body_of(delivery, hook, event);
    if (!body) {
        hook->broken = true;
        return;
    }
    struct sending *sending = xcalloc(1, sizeof *sending);
    struct webhook_message *message = &sending->message;
    sending->is_event = true;
    sending->index = index;
    message->body = steal_pointer(&body);
    message->created_at_ms = clock_now_ms();
    event_id_format(event->id, message->message_id);
    snprintf(message->kind, sizeof message->kind, "%s", event_kind_names[event->kind]);
    hook->open[index] = true;
    begin(delivery, hook, sending);
}

static void send_message(struct delivery *delivery, struct hook *hook,
                         const struct webhook_message *message)
{
    struct sending *sending = xcalloc(1, sizeof *sending);
    sending->message = *message;
    sending->message.body = xstrdup(message->body);
    begin(delivery, hook, sending);
}

/* Send current events and retries, as far as there is room. */
static void send_more(struct delivery *delivery, struct hook *hook)
{
    while (!hook->broken && hook->next < hook->count && hook->sending < EVENTS_AHEAD &&
           has_room(delivery, hook) && !is_being_sent(hook, hook->events[hook->next].sandbox_id))
        send_event(delivery, hook, hook->next++);
    while (hook->next_message < hook->message_count && has_room(delivery, hook))
        send_message(delivery, hook, &hook->messages[hook->next_message++]);
}

/* --- finished sendings --- */

/* Delete the dead letters that are too many. */
static int trim(struct delivery *delivery, struct hook *hook, struct error **err)
{
    if (webhook_trim(delivery->worker->db, hook->row.id, err) < 0)
        return -1;
    hook->trimmed = true;
    hook->ended = 0;
    return 0;
}

/* A webhook that comes and goes is trimmed with its first dead letter. */
static void trim_at_times(struct delivery *delivery, struct hook *hook)
{
    error_auto err = NULL;
    if (hook->ended >= (hook->trimmed ? TRIM_EVERY : 1) && trim(delivery, hook, &err) < 0)
        log_warning("cannot delete old dead letters of a webhook; trying again within a minute",
                    LOG_STR("webhook", hook->row.id), LOG_ERROR(err));
}

/* Store the result. A delivered event needs no row; a failed one gets a row. */
static int keep_result(struct delivery *delivery, const struct sending *sending, struct error **err)
{
    struct db *db = delivery->worker->db;
    struct hook *hook = sending->hook;
    const struct webhook_message *message = &sending->message;
    bool waits = message->state == MESSAGE_WAITING;
    if (sending->is_event && message->state == MESSAGE_DELIVERED)
        return 0;
    hook->ended += !waits;
    if (sending->is_event) {
        hook->waiting += waits;
        return webhook_message_add(db, message, err);
    }
    hook->waiting -= !waits && hook->waiting;
    return webhook_message_settle(db, message, err);
}

static void settle(struct delivery *delivery, struct sending *sending, CURLcode result)
{
    struct hook *hook = sending->hook;
    error_auto err = NULL;
    sending_judge(sending, result);
    bool delivered = sending->message.state == MESSAGE_DELIVERED;
    hook->delivered |= delivered;
    hook->failed |= !delivered;
    if (keep_result(delivery, sending, &err) < 0) {
        log_warning("cannot store the delivery result of a webhook; it will be delivered again",
                    LOG_STR("webhook", hook->row.id), LOG_ERROR(err));
        hook->broken |= sending->is_event;
    }
    trim_at_times(delivery, hook);
    if (sending->is_event) {
        hook->open[sending->index] = false;
        hook->settled++;
    } else {
        hook->messages_settled++;
    }
    hook->sending--;
    free_sending(delivery, sending);
}

static void settle_ended(struct delivery *delivery)
{
    CURLMsg *said;
    int left;
    while ((said = curl_multi_info_read(delivery->multi, &left))) {
        struct sending *sending = NULL;
        CURLcode result = said->data.result;
        if (said->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(said->easy_handle, CURLINFO_PRIVATE, (char **)&sending);
        settle(delivery, sending, result);
    }
}

static void connect_resolved(struct delivery *delivery)
{
    struct sending *sending, *next;
    for (sending = TAILQ_FIRST(&delivery->resolving); sending; sending = next) {
        bool begun;
        next = TAILQ_NEXT(sending, entry);
        CURLcode result = sending_connect(sending, delivery->names, sending->hook->row.team_id,
                                          delivery->multi, &begun);
        if (begun || result != CURLE_OK)
            TAILQ_REMOVE(&delivery->resolving, sending, entry);
        if (result != CURLE_OK)
            settle(delivery, sending, result);
    }
}

static void advance(struct delivery *delivery)
{
    int running;
    webhook_names_turn(delivery->names);
    connect_resolved(delivery);
    webhook_names_turn(delivery->names); /* the names that were asked for just now */
    curl_multi_perform(delivery->multi, &running);
    settle_ended(delivery);
}

/* --- the next events and retries --- */

static int finish_batch(struct delivery *delivery, struct hook *hook, struct error **err)
{
    if (hook->broken && !hook->sending) { /* start again from the cursor */
        drop_events(hook);
        hook->rest_until_ms = clock_monotonic_ms() + FAILURE_MS;
        return 0;
    }
    if (hook->broken || hook->settled < hook->count)
        return 0;
    if (webhook_advance(delivery->worker->db, hook->row.id, hook->end, hook->delivered,
                        hook->failed, err) < 0)
        return -1;
    hook->cursor = hook->end;
    drop_events(hook);
    return 0;
}

static int finish_messages(struct delivery *delivery, struct hook *hook, struct error **err)
{
    bool done = hook->messages_settled == hook->message_count;
    if (!done)
        return 0;
    drop_messages(hook);
    if (webhook_advance(delivery->worker->db, hook->row.id, 0, hook->delivered, hook->failed, err) <
        0)
        return -1;
    return webhook_due_next(delivery->worker->db, hook->row.id, err);
}

static int count_waiting(struct delivery *delivery, struct hook *hook, struct error **err)
{
    if (webhook_waiting(delivery->worker->db, hook->row.id, &hook->waiting, err) < 0)
        return -1;
    hook->counted = true;
    return 0;
}

static int take_messages(struct delivery *delivery, struct hook *hook, struct error **err)
{
    struct worker *worker = delivery->worker;
    if (webhook_secrets_load(worker->db, worker->ring, hook->row.id, &hook->secrets, err) < 0 ||
        count_waiting(delivery, hook, err) < 0 ||
        webhook_messages_due(worker->db, hook->row.id, AGAIN_AHEAD, &hook->messages,
                             &hook->message_count, err) < 0)
        return -1;
    hook->due = false;
    return hook->messages ? 0 : webhook_due_next(worker->db, hook->row.id, err);
}

static int take_events(struct delivery *delivery, struct hook *hook, struct error **err)
{
    struct db *db = delivery->worker->db;
    int64_t now_ms = clock_monotonic_ms();
    if (webhook_secrets_load(db, delivery->worker->ring, hook->row.id, &hook->secrets, err) < 0 ||
        event_list(db, &hook->filter, hook->cursor, delivery->head, BATCH, &hook->events,
                   &hook->count, err) < 0)
        return -1;
    hook->end = hook->count == BATCH ? hook->events[BATCH - 1].id : delivery->head;
    if (hook->count)
        return 0;
    free(hook->events);
    hook->events = NULL;
    hook->cursor = hook->end;
    if (now_ms < hook->keep_at_ms)
        return 0;
    hook->keep_at_ms = now_ms + KEEP_MS;
    return webhook_advance(db, hook->row.id, hook->cursor, false, false, err);
}

static int attend(struct delivery *delivery, struct hook *hook, struct error **err)
{
    if (hook->events && finish_batch(delivery, hook, err) < 0)
        return -1;
    if (hook->messages && finish_messages(delivery, hook, err) < 0)
        return -1;
    if (!hook->wanted || clock_monotonic_ms() < hook->rest_until_ms)
        return 0;
    if (!hook->messages && hook->due && take_messages(delivery, hook, err) < 0)
        return -1;
    bool has_events = !hook->events && hook->cursor < delivery->head;
    if (has_events && !hook->counted && count_waiting(delivery, hook, err) < 0)
        return -1;
    if (has_events && hook->waiting < WEBHOOK_WAITING_MAX && take_events(delivery, hook, err) < 0)
        return -1;
    send_more(delivery, hook);
    return 0;
}

/* Move the cursors of webhooks that have read all earlier events and match none of the new ones.
 * They need no query of their own. */
static void pass_over(struct delivery *delivery, const struct event *list, unsigned count,
                      uint64_t before, uint64_t end)
{
    struct hook *hook;
    TAILQ_FOREACH(hook, &delivery->hooks, entry)
    {
        bool any = false;
        for (unsigned i = 0; i < count && !any; i++)
            any = event_matches(&list[i], &hook->filter);
        if (!any && !hook->events && hook->cursor >= before && hook->cursor < end &&
            clock_monotonic_ms() < hook->keep_at_ms)
            hook->cursor = end;
    }
}

static int look(struct delivery *delivery, struct error **err)
{
    struct db *db = delivery->worker->db;
    struct event *list;
    unsigned count;
    uint64_t head, before = delivery->head;
    if (event_head(db, &head, err) < 0)
        return -1;
    if (!before) /* at the start each webhook reads from its own cursor */
        delivery->head = head;
    if (!before || head <= before)
        return 0;
    if (event_list_all(db, before, head, EVENT_PAGE_MAX, &list, &count, err) < 0)
        return -1;
    delivery->head = count == EVENT_PAGE_MAX ? list[count - 1].id : head;
    pass_over(delivery, list, count, before, delivery->head);
    events_free(list, count);
    return 0;
}

/* --- the loop --- */

static int add_range(void *context, const char *range, struct error **err)
{
    return protected_close(context, range, err);
}

/* Refuse this machine's own addresses: services on its public addresses may be meant only for its
 * neighbours. */
static int close_own_addresses(struct protected_networks *networks, struct error **err)
{
    struct ifaddrs *all = NULL;
    int result = 0;
    if (getifaddrs(&all) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot read this machine's addresses");
    for (const struct ifaddrs *one = all; one && result == 0; one = one->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        struct policy_address address;
        if (one->ifa_addr && sending_read_address(one->ifa_addr, text, &address) &&
            !protected_reason(networks, &address))
            result = protected_close_own(networks, text, err);
    }
    freeifaddrs(all);
    return result;
}

static int read_networks(struct delivery *delivery, struct error **err)
{
    delivery->networks = (struct protected_networks){0};
    if (protected_open_any(&delivery->networks, "webhook_networks_open",
                           delivery->worker->settings->webhook_networks_open, err) < 0)
        return -1;
    if (network_row_ranges(delivery->worker->db, add_range, &delivery->networks, err) < 0)
        return -1;
    return close_own_addresses(&delivery->networks, err);
}

/* Take the lease: one of all dispatchers delivers. */
static int take_lease(struct delivery *delivery, struct error **err)
{
    return named_lease_take(delivery->worker->db, LEASE, delivery->worker->lease_owner,
                            &delivery->ours, err);
}

static void release_lease(struct delivery *delivery)
{
    error_auto ignored = NULL;
    named_lease_release(delivery->worker->db, LEASE, delivery->worker->lease_owner, &ignored);
}

static int purge(struct delivery *delivery, struct error **err)
{
    struct hook *hook;
    TAILQ_FOREACH(hook, &delivery->hooks, entry)
    {
        if (hook->ended && trim(delivery, hook, err) < 0)
            return -1;
    }
    return webhook_purge(delivery->worker->db, err);
}

static int take_turns(struct delivery *delivery, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms >= delivery->lease_at_ms) {
        if (take_lease(delivery, err) < 0 || (delivery->ours && read_networks(delivery, err) < 0))
            return -1;
        delivery->lease_at_ms = now_ms + LEASE_MS;
    }
    if (!delivery->ours) {
        delivery->reload_at_ms = 0;
        return 0;
    }
    if (now_ms >= delivery->reload_at_ms) {
        if (reload(delivery, err) < 0)
            return -1;
        delivery->reload_at_ms = now_ms + RELOAD_MS;
    }
    if (now_ms >= delivery->changes_at_ms) {
        if (read_changes(delivery, err) < 0 || read_due(delivery, err) < 0)
            return -1;
        delivery->changes_read_ms = now_ms;
        delivery->changes_at_ms = now_ms + CHANGES_MS;
    }
    if (now_ms >= delivery->purge_at_ms) {
        if (purge(delivery, err) < 0)
            return -1;
        delivery->purge_at_ms = now_ms + PURGE_MS;
    }
    if (now_ms < delivery->look_at_ms)
        return 0;
    delivery->look_at_ms = now_ms + (int64_t)delivery->worker->settings->dispatcher_poll_ms;
    return look(delivery, err);
}

static int turn(struct delivery *delivery, struct error **err)
{
    struct hook *hook;
    if (take_turns(delivery, err) < 0)
        return -1;
    TAILQ_FOREACH(hook, &delivery->hooks, entry)
    {
        error_auto failure = NULL;
        if (!delivery->ours || attend(delivery, hook, &failure) == 0)
            continue;
        if (error_is_transient(failure))
            return error_move(err, &failure);
        /* The webhook was deleted, or it alone has a fault. */
        hook->rest_until_ms = clock_monotonic_ms() + FAILURE_MS;
        if (failure->code != ERR_NOT_FOUND)
            log_warning("cannot deliver the messages of a webhook; trying again",
                        LOG_STR("webhook", hook->row.id), LOG_ERROR(failure));
    }
    advance(delivery);
    return 0;
}

/* Drop all webhooks, at the end or after the loss of the lease. Open sendings count as not
 * delivered. */
static void drop_all(struct delivery *delivery)
{
    struct hook *hook;
    while ((hook = TAILQ_FIRST(&delivery->hooks)))
        hook_free(delivery, hook);
}

static void drain(struct delivery *delivery)
{
    while (delivery->sending.count) { /* each transfer has a time limit */
        advance(delivery);
        curl_multi_poll(delivery->multi, NULL, 0, SENDING_MS, NULL);
    }
    drop_all(delivery);
}

static bool is_idle(const struct delivery *delivery)
{
    const struct hook *hook;
    TAILQ_FOREACH(hook, &delivery->hooks, entry)
    if ((hook->events && hook->settled == hook->count) ||
        (hook->messages && hook->messages_settled == hook->message_count))
        return false;
    return true;
}

/* Wait for a notice, for progress of a transfer, or for the next check. */
static void rest(struct delivery *delivery)
{
    struct curl_waitfd notices[] = {
        {.fd = delivery->events, .events = CURL_WAIT_POLLIN},
        {.fd = delivery->changes, .events = CURL_WAIT_POLLIN},
        {.fd = webhook_names_fd(delivery->names), .events = CURL_WAIT_POLLIN}};
    int64_t now_ms = clock_monotonic_ms();
    int64_t at_ms = delivery->lease_at_ms;
    if (delivery->ours && delivery->look_at_ms < at_ms)
        at_ms = delivery->look_at_ms;
    if (delivery->ours && delivery->changes_at_ms < at_ms)
        at_ms = delivery->changes_at_ms;
    int64_t wait_ms = at_ms - now_ms;
    if (delivery->sending.count && wait_ms > SENDING_MS)
        wait_ms = SENDING_MS;
    if (wait_ms > 0)
        curl_multi_poll(delivery->multi, notices, ARRAY_SIZE(notices), (int)wait_ms, NULL);
    if (notify_wait(delivery->events, 0))
        delivery->look_at_ms = 0;
    if (notify_wait(delivery->changes, 0) &&
        delivery->changes_at_ms > delivery->changes_read_ms + HURRY_MS)
        delivery->changes_at_ms = delivery->changes_read_ms + HURRY_MS;
}

void webhooks_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    struct delivery delivery = {.worker = worker,
                                .sending = {.most = SENDING_MAX,
                                            .most_of_tenant = TENANT_AHEAD,
                                            .most_when_busy = TENANT_BUSY}};
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, mem_free_wiped, mem_realloc_wiped, strdup,
                         calloc);
    delivery.multi = curl_multi_init();
    delivery.events = notify_open(worker->settings->api_socket, NOTIFY_DELIVERIES);
    delivery.changes = notify_open(worker->settings->api_socket, NOTIFY_WEBHOOKS);
    delivery.names = webhook_names_open();
    delivery.by_id = json_object();
    TAILQ_INIT(&delivery.hooks);
    TAILQ_INIT(&delivery.resolving);
    while (!*stop) {
        error_auto err = NULL;
        if (turn(&delivery, &err) < 0) {
            log_warning("cannot read due webhooks; trying again", LOG_ERROR(err));
            clock_sleep_ms(FAILURE_MS);
        }
        if (!delivery.ours && TAILQ_FIRST(&delivery.hooks))
            drain(&delivery);
        if (!*stop && is_idle(&delivery))
            rest(&delivery);
    }
    drain(&delivery);
    release_lease(&delivery);
    webhook_names_close(delivery.names);
    json_decref(delivery.by_id);
    curl_multi_cleanup(delivery.multi);
    notify_close(delivery.events);
    notify_close(delivery.changes);
}

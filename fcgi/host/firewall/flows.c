/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/flows.h"

#include <errno.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack_tcp.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "firewall/challenge.h"
#include "firewall/rules.h"

#define REAP_AFTER_MS 2000
#define CUT_MAX       65536 /* entries that wait for deletion; more: the oldest is deleted at once */

struct cut_flow {
    struct nf_conntrack *tuple;
    int64_t due_at_ms;
    struct cut_flow *next;
};

struct flows {
    struct nfct_handle *handle;
    struct nfct_handle *finder; /* only for flows_find() */
    int tun;                    /* -1: no device */
    struct cut_flow *first, **last;
    size_t waiting;
};

/* The results of a walk: its callback must not change the table. */
struct walk {
    const uint32_t *addresses; /* in rising order */
    size_t address_count;
    bool (*allowed)(void *context, const struct flow *flow);
    void *context;
    struct nf_conntrack **found;
    size_t count, capacity;
};

static struct flow flow_of(const struct nf_conntrack *entry)
{
    return (struct flow){
        .remote = ntohl(nfct_get_attr_u32(entry, ATTR_ORIG_IPV4_DST)),
        .remote_port = ntohs(nfct_get_attr_u16(entry, ATTR_ORIG_PORT_DST)),
        .local_port = ntohs(nfct_get_attr_u16(entry, ATTR_ORIG_PORT_SRC)),
        .protocol = nfct_get_attr_u8(entry, ATTR_ORIG_L4PROTO),
        .mark = nfct_get_attr_u32(entry, ATTR_MARK),
    };
}

static bool is_of(const struct walk *walk, uint32_t address)
{
    for (size_t low = 0, high = walk->address_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (walk->addresses[middle] == address)
            return true;
        if (walk->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static uint32_t began_at(const struct nf_conntrack *entry)
{
    return ntohl(nfct_get_attr_u32(entry, ATTR_ORIG_IPV4_SRC));
}

static int on_entry(enum nf_conntrack_msg_type type, struct nf_conntrack *entry, void *data)
{
    struct walk *walk = data;
    (void)type;
    if (nfct_get_attr_u8(entry, ATTR_ORIG_L3PROTO) != AF_INET || !is_of(walk, began_at(entry)))
        return NFCT_CB_CONTINUE;
    struct flow flow = flow_of(entry);
    if ((flow.mark & MARK_CUT) || (walk->allowed && walk->allowed(walk->context, &flow)))
        return NFCT_CB_CONTINUE;
    if (walk->count == walk->capacity) {
        walk->capacity = walk->capacity ? walk->capacity * 2 : 64;
        walk->found = xreallocarray(walk->found, walk->capacity, sizeof(struct nf_conntrack *));
    }
    walk->found[walk->count++] = nfct_clone(entry);
    return NFCT_CB_CONTINUE;
}

/* Return the tuple of an entry alone: an update or deletion needs no more, and must not set
 * more. */
static struct nf_conntrack *tuple_of(const struct nf_conntrack *entry)
{
    struct nf_conntrack *tuple = nfct_new();
    if (!tuple)
        panic("out of memory");
    nfct_copy(tuple, entry, NFCT_CP_ORIG);
    return tuple;
}

static void release_first(struct flows *flows)
{
    struct cut_flow *first = flows->first;
    nfct_query(flows->handle, NFCT_Q_DESTROY, first->tuple);
    nfct_destroy(first->tuple);
    flows->first = first->next;
    if (!flows->first)
        flows->last = &flows->first;
    flows->waiting--;
    free(first);
}

void flows_reap(struct flows *flows, int64_t now_ms)
{
    while (flows->first && flows->first->due_at_ms <= now_ms)
        release_first(flows);
}

static void cut_tcp(struct flows *flows, uint32_t address, const struct nf_conntrack *entry)
{
    struct flow flow = flow_of(entry);
    struct nf_conntrack *tuple = tuple_of(entry);
    nfct_set_attr_u32(tuple, ATTR_MARK, flow.mark | MARK_CUT);
    nfct_query(flows->handle, NFCT_Q_UPDATE, tuple);
    nfct_destroy(tuple);
    if (flows->tun >= 0)
        challenge_both_ends(flows->tun, address, &flow);
    if (flows->waiting == CUT_MAX)
        release_first(flows);
    struct cut_flow *cut = xcalloc(1, sizeof *cut);
    *cut = (struct cut_flow){tuple_of(entry), clock_monotonic_ms() + REAP_AFTER_MS, NULL};
    *flows->last = cut;
    flows->last = &cut->next;
    flows->waiting++;
}

static void cut_one(struct flows *flows, uint32_t address, struct nf_conntrack *entry)
{
    /* The ends of a connection that was reset in the meantime need no notice, and a SYN would open
     * it again. */
    if (nfct_get_attr_u8(entry, ATTR_ORIG_L4PROTO) == IPPROTO_TCP &&
        nfct_get_attr_u8(entry, ATTR_TCP_STATE) != TCP_CONNTRACK_CLOSE) {
        cut_tcp(flows, address, entry);
        return;
    }
    struct nf_conntrack *tuple = tuple_of(entry);
    nfct_query(flows->handle, NFCT_Q_DESTROY, tuple);
    nfct_destroy(tuple);
}

/* --- walks --- */

/* Set the filter of a walk: the kernel returns entries whose mark has the bits that are equal in
 * all the addresses. */
static void mark_of(const struct walk *walk, struct nfct_filter_dump_mark *mark)
{
    uint32_t differs = 0;
    for (size_t i = 1; i < walk->address_count; i++)
        differs |= walk->addresses[i] ^ walk->addresses[0];
    mark->mask = MARK_SANDBOX & ~differs;
    mark->val = walk->addresses[0] & mark->mask;
}

/* Walk the table. After an error, walk has the entries that were found before. */
static int walk_table(struct nfct_handle *handle, struct walk *walk, struct error **err)
{
    struct nfct_filter_dump_mark mark;
    struct nfct_filter_dump *filter = nfct_filter_dump_create();
    if (!filter)
        panic("out of memory");
    mark_of(walk, &mark);
    nfct_filter_dump_set_attr(filter, NFCT_FILTER_DUMP_MARK, &mark);
    nfct_filter_dump_set_attr_u8(filter, NFCT_FILTER_DUMP_L3NUM, AF_INET);
    nfct_callback_register(handle, NFCT_T_ALL, on_entry, walk);
    int result = nfct_query(handle, NFCT_Q_DUMP_FILTER, filter);
    int errnum = errno;
    nfct_callback_unregister(handle);
    nfct_filter_dump_destroy(filter);
    if (result < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errnum,
                               "cannot read the connection table");
    return 0;
}

static void walk_deinit(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        nfct_destroy(walk->found[i]);
    free(walk->found);
}

int flows_cut(struct flows *flows, uint32_t address,
              bool (*allowed)(void *context, const struct flow *flow), void *context, size_t *cut,
              struct error **err)
{
    struct walk walk = {
        .addresses = &address, .address_count = 1, .allowed = allowed, .context = context};
    int result = walk_table(flows->handle, &walk, err);
    for (size_t i = 0; i < walk.count; i++)
        cut_one(flows, address, walk.found[i]);
    *cut = walk.count;
    walk_deinit(&walk);
    return result;
}

struct flows_found {
    struct walk walk;
};

int flows_find(struct flows *flows, const uint32_t *addresses, size_t count,
               struct flows_found **found, struct error **err)
{
    *found = xcalloc(1, sizeof **found);
    (*found)->walk = (struct walk){.addresses = addresses, .address_count = count};
    return walk_table(flows->finder, &(*found)->walk, err);
}

void flows_cut_found(struct flows *flows, const struct flows_found *found, uint32_t address,
                     size_t *cut)
{
    for (size_t i = 0; i < found->walk.count; i++) {
        if (began_at(found->walk.found[i]) != address)
            continue;
        cut_one(flows, address, found->walk.found[i]);
        ++*cut;
    }
}

void flows_found_free(struct flows_found *found)
{
    if (found)
        walk_deinit(&found->walk);
    free(found);
}

int flows_open(const char *tun_name, struct flows **flows, struct error **err)
{
    struct nfct_handle *handle = nfct_open(CONNTRACK, 0), *finder = nfct_open(CONNTRACK, 0);
    if (!handle || !finder) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot open the connection table");
        if (handle)
            nfct_close(handle);
        return -1;
    }
    *flows = xcalloc(1, sizeof **flows);
    (*flows)->handle = handle;
    (*flows)->finder = finder;
    (*flows)->last = &(*flows)->first;
    (*flows)->tun = challenge_open(tun_name);
    return 0;
}

bool flows_wake_idle(const struct flows *flows)
{
    return flows->tun >= 0;
}

void flows_close(struct flows *flows)
{
    if (!flows)
        return;
    while (flows->first)
        release_first(flows);
    nfct_close(flows->handle);
    nfct_close(flows->finder);
    if (flows->tun >= 0)
        close(flows->tun);
    free(flows);
}

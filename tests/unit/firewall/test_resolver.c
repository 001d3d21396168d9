/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shares of sandboxes and teams in the lookups, at an upstream that never answers, and the
 * cache of answers. */
#include "unit/unit.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/loop.h"
#include "firewall/dns_cache.h"
#include "firewall/resolver.h"

struct fixture {
    struct loop loop;
    struct resolver *resolver;
    int upstream;
    unsigned ended[4]; /* lookups without an answer, by tenant */
    unsigned names;
};

static struct fixture *now;
static unsigned tenants[] = {0, 1, 2, 3};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const struct rlimit files = {4096, 4096};
    char upstream[32];
    error_auto err = NULL;
    setrlimit(RLIMIT_NOFILE, &files);
    fixture->upstream = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fixture->upstream, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fixture->upstream, (struct sockaddr *)&address, &size), 0);
    snprintf(upstream, sizeof upstream, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(loop_init(&fixture->loop), 0);
    assert_ok(resolver_open(&fixture->loop, upstream, &fixture->resolver, &err));
    *state = now = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    resolver_close(fixture->resolver);
    loop_deinit(&fixture->loop);
    close(fixture->upstream);
    free(fixture);
    return 0;
}

static void on_done(void *context, const struct dns_result *result, int64_t left_ms)
{
    (void)left_ms;
    assert_null(result);
    now->ended[*(unsigned *)context]++;
}

/* A new name. Whether it is looked up. */
static bool ask(struct fixture *fixture, unsigned tenant)
{
    char name[32];
    snprintf(name, sizeof name, "n%u.dead.test", fixture->names++);
    const struct resolver_question question = {name, LDNS_RR_TYPE_A, tenant};
    return resolver_ask(fixture->resolver, &question, on_done, &tenants[tenant]) == 0;
}

TEST_WITH(the_tenant_with_most_gives_up_its_oldest, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < RESOLVER_LOOKUPS_MAX; i++)
        assert_true(ask(fixture, 1));
    assert_false(ask(fixture, 1));
    for (unsigned i = 0; i < 3; i++)
        assert_true(ask(fixture, 2));
    assert_int_equal(fixture->ended[1], 0); /* not in the middle of a question */
    resolver_tick(fixture->resolver, 0);
    assert_int_equal(fixture->ended[1], 3);
    assert_int_equal(fixture->ended[2], 0);
}

/* Two that take what they can have half of the lookups each, and a third still finds room. */
TEST_WITH(shares_are_equal, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < RESOLVER_LOOKUPS_MAX; i++)
        ask(fixture, 1);
    unsigned second = 0;
    while (ask(fixture, 2))
        second++;
    resolver_tick(fixture->resolver, 0);
    assert_in_range(second, RESOLVER_LOOKUPS_MAX / 2 - 1, RESOLVER_LOOKUPS_MAX / 2);
    assert_int_equal(fixture->ended[1], second);
    assert_true(ask(fixture, 3));
}

TEST_WITH(denied_names_have_room_of_their_own, set_up, tear_down)
{
    struct fixture *fixture = *state;
    for (unsigned i = 0; i < RESOLVER_LOOKUPS_MAX; i++)
        ask(fixture, 1);
    for (unsigned i = 0; i < RESOLVER_DENIED_MAX; i++)
        assert_true(ask(fixture, RESOLVER_DENIED));
    /* A new one is looked up in place of the oldest. */
    assert_true(ask(fixture, RESOLVER_DENIED));
    resolver_tick(fixture->resolver, 0);
    assert_int_equal(fixture->ended[RESOLVER_DENIED], 1);
    assert_int_equal(fixture->ended[1], 0);
}

/* A record with as many strings, each of one byte. */
static struct dns_result texts(unsigned count)
{
    struct dns_result result = {.records = ldns_rr_list_new(), .complete = true, .ttl_s = 60};
    buffer_auto text = BUFFER_INIT(1 << 20);
    ldns_rr *rr = NULL;
    buffer_append_string(&text, "text.test. 60 IN TXT");
    while (count--)
        buffer_append_string(&text, " \"x\"");
    assert_int_equal(ldns_rr_new_frm_str(&rr, buffer_string(&text), 0, NULL, NULL), LDNS_STATUS_OK);
    ldns_rr_list_push_rr(result.records, rr);
    return result;
}

TEST(large_answers_are_not_kept)
{
    struct dns_cache *cache = dns_cache_new();
    struct dns_result small = texts(64), large = texts(2000);
    int64_t now_ms = clock_monotonic_ms(), left_ms;
    dns_cache_put(cache, "small.test", LDNS_RR_TYPE_TXT, &small, now_ms, 60000);
    dns_cache_put(cache, "large.test", LDNS_RR_TYPE_TXT, &large, now_ms, 60000);
    assert_non_null(dns_cache_get(cache, "small.test", LDNS_RR_TYPE_TXT, now_ms, &left_ms));
    assert_null(dns_cache_get(cache, "large.test", LDNS_RR_TYPE_TXT, now_ms, &left_ms));
    assert_non_null(large.records);
    dns_result_deinit(&large);
    dns_cache_free(cache);
}

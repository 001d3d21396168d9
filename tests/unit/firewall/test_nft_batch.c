/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <linux/netlink.h>
#include <nftables/libnftables.h>
#include <sched.h>

#include "base/mem.h"
#include "firewall/netfilter.h"
#include "firewall/nft_batch.h"
#include "firewall/rules.h"

#define TABLE   "batch_test"
#define SANDBOX 0x0a5c0007u
#define NOW_MS  1000000

static const char *const table =
    "table inet " TABLE " {\n"
    " map egress { type ipv4_addr : verdict; }\n"
    " map egress_echo { type ipv4_addr : verdict; }\n"
    " set gone { type ipv4_addr; }\n"
    " set links { type ipv4_addr . ether_addr; }\n"
    " set proxied { type ipv4_addr; }\n"
    " set outlets { type ipv4_addr; }\n"
    " map teams { type ipv4_addr : mark; }\n"
    " map users { type ipv4_addr : mark; }\n"
    " map sources { type ipv4_addr : ipv4_addr; }\n"
    " set named { type ipv4_addr . ipv4_addr; flags timeout; }\n"
    " set named_port { type ipv4_addr . ipv4_addr . inet_service; flags timeout; }\n"
    " set denied { type ipv4_addr . ipv4_addr; flags timeout; }\n"
    " set denied_port { type ipv4_addr . ipv4_addr . inet_service; flags timeout; }\n"
    " chain refuse { drop; }\n"
    " chain by_name { accept; }\n"
    " chain echo_by_name { accept; }\n"
    "}\n";

static void add(struct policy *policy, const char *entry, enum policy_verdict verdict)
{
    error_auto err = NULL;
    assert_ok(policy_add(policy, entry, verdict, "", &err));
}

/* Of each kind that a policy may have, and of what comes and goes with names. */
static void write_all(struct rules *rules)
{
    const struct name_element elements[] = {
        {0x01020304, 0, POLICY_ALLOW, 0},
        {0x01020305, 443, POLICY_ALLOW, NOW_MS + 100000000},
        {0x01020306, 0, POLICY_DENY, 0},
        {0x01020306, 80, POLICY_DENY, 0},
    };
    rules_init(rules, TABLE);
    for (unsigned i = 0; i < 6; i++) {
        policy_auto policy = {.default_verdict = i % 2 ? POLICY_DENY : POLICY_ALLOW};
        if (i >= 2) {
            add(&policy, "203.0.113.0/24:443", POLICY_ALLOW);
            add(&policy, "198.51.100.7", i % 2 ? POLICY_ALLOW : POLICY_DENY);
        }
        if (i >= 4)
            add(&policy, "example.com", i % 2 ? POLICY_ALLOW : POLICY_DENY);
        rules_sandbox(rules, SANDBOX + i, &policy);
        rules_names(rules, SANDBOX + i, elements, 4, elements, 4, NOW_MS);
    }
    const struct sources sources = {.all = {{7, 0xcb007107}, {8, 0xcb007108}}, .count = 2};
    struct policy_wire none = {0}, one = {.tenant = 7, .user = UINT64_MAX - 7},
                       other = {.tenant = 8, .user = 1};
    one.policy.egress = other.policy.egress = json_object();
    for (unsigned i = 0; i < 3; i++)
        rules_tenants(rules, &sources, SANDBOX + i, &none, &one);
    rules_tenants(rules, &sources, SANDBOX, &one, &other);
    rules_tenants(rules, &sources, SANDBOX + 1, &one, NULL);
    json_decref(one.policy.egress);
    rules_sandbox_remove(rules, SANDBOX + 1);
    rules_names(rules, SANDBOX + 1, elements, 4, NULL, 0, NOW_MS);
    rules_sandbox_remove(rules, SANDBOX + 2);
    rules_sandbox_ended(rules, SANDBOX + 2);
    rules_close(rules, SANDBOX + 3);
}

/* --- what does not need the kernel --- */

TEST(the_messages_of_a_policy_follow_each_other)
{
    rules_auto rules = {0};
    buffer_auto batch = BUFFER_INIT(NFT_BATCH_MAX);
    uint32_t sequence = 0, acknowledged = 0;
    write_all(&rules);
    assert_true(nft_batch_write(&batch, rules.commands));
    for (size_t at = 0; at < batch.size;) {
        struct nlmsghdr header;
        memcpy(&header, batch.data + at, sizeof header);
        assert_true(header.nlmsg_len >= NLMSG_HDRLEN && at + header.nlmsg_len <= batch.size);
        assert_int_equal(header.nlmsg_len % 4, 0);
        assert_true(header.nlmsg_seq == sequence || header.nlmsg_seq == sequence + 1);
        sequence = header.nlmsg_seq;
        if (header.nlmsg_flags & NLM_F_ACK)
            acknowledged = sequence;
        at += header.nlmsg_len;
    }
    assert_int_equal(sequence, json_array_size(rules.commands) + 1);
    assert_int_equal(acknowledged, json_array_size(rules.commands));
}

TEST(sets_of_intervals_and_flushes_are_left_to_libnftables)
{
    rules_auto rules = {0}, flush = {0};
    policy_auto policy = {.default_verdict = POLICY_DENY};
    buffer_auto batch = BUFFER_INIT(NFT_BATCH_MAX);
    for (unsigned i = 0; i < 40; i++) {
        autofree char *entry = xasprintf("198.51.100.%u:%u", i * 2, 1000 + i);
        add(&policy, entry, POLICY_ALLOW);
    }
    rules_init(&rules, TABLE);
    rules_sandbox(&rules, SANDBOX, &policy);
    assert_false(nft_batch_write(&batch, rules.commands));
    buffer_clear(&batch);
    rules_init(&flush, TABLE);
    rules_close_all(&flush);
    assert_false(nft_batch_write(&batch, flush.commands));
}

TEST(what_does_not_fit_a_socket_is_left_to_libnftables)
{
    rules_auto rules = {0};
    buffer_auto batch = BUFFER_INIT(NFT_BATCH_MAX);
    autofree struct name_element *elements = xcalloc(10000, sizeof *elements);
    for (unsigned i = 0; i < 10000; i++)
        elements[i] = (struct name_element){0x01000000 + i, 0, POLICY_ALLOW, 0};
    rules_init(&rules, TABLE);
    rules_names(&rules, SANDBOX, NULL, 0, elements, 10000, NOW_MS);
    assert_false(nft_batch_write(&batch, rules.commands));
}

/* --- in the kernel: a network namespace of its own, which needs root --- */

static char *run_nft(const char *commands, unsigned flags)
{
    struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
    assert_non_null(nft);
    nft_ctx_output_set_flags(nft, flags);
    nft_ctx_buffer_output(nft);
    assert_int_equal(nft_run_cmd_from_buffer(nft, commands), 0);
    char *output = xstrdup(nft_ctx_get_output_buffer(nft));
    nft_ctx_free(nft);
    return output;
}

/* Lists of elements come in an order that changes; what is in them is compared elsewhere. */
static char *listing(const char *what)
{
    autofree char *command = xasprintf("list %s", what);
    return run_nft(command, NFT_CTX_OUTPUT_STATELESS | NFT_CTX_OUTPUT_NUMERIC_ALL);
}

static void load_table(void)
{
    autofree char *ignored = run_nft("flush ruleset", 0), *ignored_too = run_nft(table, 0);
}

static void run_batch(json_t *commands)
{
    buffer_auto batch = BUFFER_INIT(NFT_BATCH_MAX);
    struct netfilter netfilter = NETFILTER_INIT;
    error_auto err = NULL;
    uint32_t failed;
    assert_true(nft_batch_write(&batch, commands));
    assert_ok(netfilter_change(&netfilter, batch.data, batch.size,
                               (uint32_t)json_array_size(commands), &failed, &err));
    assert_int_equal(failed, 0);
    netfilter_close(&netfilter);
}

static void run_library(json_t *commands)
{
    json_auto_t *document = json_pack("{s:O}", "nftables", commands);
    autofree char *text = json_dumps(document, JSON_COMPACT);
    autofree char *ignored = run_nft(text, NFT_CTX_OUTPUT_JSON);
}

/* Each line, whatever its place. */
static void assert_same_lines(const char *a, const char *b)
{
    assert_int_equal(strlen(a), strlen(b));
    autofree char *copy = xstrdup(a);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n,"));)
        if (!strstr(b, line))
            fail_msg("only one of them has: %s", line);
}

TEST(the_kernel_has_the_same_as_by_libnftables)
{
    rules_auto rules = {0};
    if (unshare(CLONE_NEWNET) < 0)
        skip();
    write_all(&rules);
    load_table();
    run_library(rules.commands);
    autofree char *by_library = listing("table inet " TABLE);
    load_table();
    run_batch(rules.commands);
    autofree char *by_batch = listing("table inet " TABLE);
    assert_non_null(strstr(by_library, "sb_0a5c0007"));
    assert_same_lines(by_library, by_batch);
    assert_same_lines(by_batch, by_library);
}

TEST(what_the_kernel_refuses_is_named_and_nothing_is_changed)
{
    rules_auto missing = {0};
    buffer_auto batch = BUFFER_INIT(NFT_BATCH_MAX);
    struct netfilter netfilter = NETFILTER_INIT;
    error_auto err = NULL;
    uint64_t handle;
    uint32_t failed;
    if (unshare(CLONE_NEWNET) < 0)
        skip();
    load_table();
    autofree char *before = listing("table inet " TABLE);
    rules_init(&missing, TABLE);
    rules_sandbox_remove(&missing, SANDBOX); /* its chains are not there */
    assert_true(nft_batch_write(&batch, missing.commands));
    uint32_t last = (uint32_t)json_array_size(missing.commands);
    assert_fails(netfilter_change(&netfilter, batch.data, batch.size, last, &failed, &err),
                 ERR_RUNTIME_REFUSED);
    error_clear(&err);
    assert_true(failed > 0 && failed <= last);
    /* The next call is not answered by what is left of this one. */
    assert_ok(netfilter_table_handle(&netfilter, TABLE, &handle, &err));
    assert_true(handle);
    assert_ok(netfilter_table_handle(&netfilter, "nosuch", &handle, &err));
    assert_false(handle);
    netfilter_close(&netfilter);
    autofree char *after = listing("table inet " TABLE);
    assert_string_equal(before, after);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "dns/message.h"

/* A message, as in RFC 1035 section 4.1. */
struct message {
    uint8_t bytes[2048];
    size_t size;
};

static void put(struct message *message, const void *bytes, size_t size)
{
    assert_true(message->size + size <= sizeof message->bytes);
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

static void put_16(struct message *message, unsigned value)
{
    put(message, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

static void put_name(struct message *message, const char *name)
{
    while (*name) {
        size_t label = strcspn(name, ".");
        put(message, (uint8_t[]){(uint8_t)label}, 1);
        put(message, name, label);
        name += label + (name[label] == '.');
    }
    put(message, "", 1);
}

static struct message new_message(unsigned flags, const char *name, unsigned type, unsigned answers)
{
    struct message message = {.size = 0};
    put_16(&message, 0x1234);
    put_16(&message, flags);
    put_16(&message, 1);
    put_16(&message, answers);
    put_16(&message, 0);
    put_16(&message, 0);
    put_name(&message, name);
    put_16(&message, type);
    put_16(&message, 1);
    return message;
}

static void put_record(struct message *message, const char *owner, unsigned type, unsigned ttl,
                       const void *data, size_t size)
{
    put_name(message, owner);
    put_16(message, type);
    put_16(message, 1);
    put_16(message, 0);
    put_16(message, ttl);
    put_16(message, (unsigned)size);
    put(message, data, size);
}

static void put_alias(struct message *message, const char *owner, const char *target)
{
    struct message name = {.size = 0};
    put_name(&name, target);
    put_record(message, owner, LDNS_RR_TYPE_CNAME, 30, name.bytes, name.size);
}

static int read_result(const struct message *message, const char *name, struct dns_result *result)
{
    bool truncated;
    return dns_result_read(message->bytes, message->size, 0x1234, name, LDNS_RR_TYPE_A, result,
                           &truncated);
}

/* --- questions --- */

TEST(a_question_is_read)
{
    struct message message = new_message(0x0100, "API.Example.com", LDNS_RR_TYPE_A, 0);
    struct dns_question question;
    int rcode;
    assert_int_equal(dns_question_read(message.bytes, message.size, &question, &rcode), DNS_READ);
    assert_string_equal(question.name, "api.example.com");
    assert_int_equal(question.id, 0x1234);
    assert_int_equal(question.type, LDNS_RR_TYPE_A);
    assert_true(question.recursion_desired);
    assert_int_equal(question.udp_max, DNS_UDP_MIN);
    dns_question_deinit(&question);
}

TEST(what_is_no_question_is_ignored)
{
    struct message answer = new_message(0x8180, "example.com", LDNS_RR_TYPE_A, 0);
    struct dns_question question;
    int rcode;
    assert_int_equal(dns_question_read(answer.bytes, answer.size, &question, &rcode), DNS_IGNORED);
    assert_int_equal(dns_question_read(answer.bytes, 5, &question, &rcode), DNS_IGNORED);
    assert_int_equal(dns_question_read(NULL, 0, &question, &rcode), DNS_IGNORED);
}

TEST(other_questions_are_refused)
{
    static const struct {
        unsigned flags;
        const char *name;
        int rcode;
    } cases[] = {
        {0x2800, "example.com", LDNS_RCODE_NOTIMPL},  /* an update */
        {0x0100, "exa mple.com", LDNS_RCODE_REFUSED}, /* a blank */
        {0x0100, "ex\\mple.com", LDNS_RCODE_REFUSED}, /* an escape in its text form */
        {0x0100, "\xc3\xa4.example", LDNS_RCODE_REFUSED},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct message message = new_message(cases[i].flags, cases[i].name, LDNS_RR_TYPE_A, 0);
        struct dns_question question;
        int rcode = 0;
        assert_int_equal(dns_question_read(message.bytes, message.size, &question, &rcode),
                         DNS_REFUSED);
        assert_int_equal(rcode, cases[i].rcode);
        dns_question_deinit(&question);
    }
}

/* --- answers of an upstream --- */

TEST(aliases_are_followed_to_the_addresses)
{
    struct message message = new_message(0x8180, "www.example.com", LDNS_RR_TYPE_A, 4);
    struct dns_result result;
    uint32_t addresses[4];
    put_alias(&message, "www.example.com", "edge.example.net");
    put_record(&message, "edge.example.net", LDNS_RR_TYPE_A, 20, "\xcb\0\x71\7", 4);
    put_record(&message, "edge.example.net", LDNS_RR_TYPE_A, 10, "\xcb\0\x71\x8", 4);
    put_record(&message, "other.example.org", LDNS_RR_TYPE_A, 5, "\xc0\0\2\1", 4);
    assert_int_equal(read_result(&message, "www.example.com", &result), 0);
    assert_true(result.complete);
    assert_int_equal(result.aliases, 1);
    assert_int_equal(result.ttl_s, 10);
    assert_string_equal(result.last_name, "edge.example.net");
    assert_int_equal(dns_result_addresses(&result, addresses, 4), 2);
    assert_int_equal(addresses[0], 0xcb007107);
    assert_int_equal(addresses[1], 0xcb007108);
    dns_result_deinit(&result);
}

TEST(an_alias_that_leads_out_is_not_complete)
{
    struct message message = new_message(0x8180, "www.example.com", LDNS_RR_TYPE_A, 1);
    struct message rest = new_message(0x8180, "edge.example.net", LDNS_RR_TYPE_A, 1);
    struct dns_result result, more;
    uint32_t address;
    put_alias(&message, "www.example.com", "edge.example.net");
    put_record(&rest, "edge.example.net", LDNS_RR_TYPE_A, 7, "\xcb\0\x71\7", 4);
    assert_int_equal(read_result(&message, "www.example.com", &result), 0);
    assert_false(result.complete);
    assert_int_equal(read_result(&rest, "edge.example.net", &more), 0);
    dns_result_extend(&result, &more);
    assert_true(result.complete);
    assert_int_equal(result.ttl_s, 7);
    assert_int_equal(dns_result_addresses(&result, &address, 1), 1);
    dns_result_deinit(&result);
}

TEST(aliases_in_a_circle_end)
{
    struct message message = new_message(0x8180, "a.example", LDNS_RR_TYPE_A, 2);
    struct dns_result result;
    put_alias(&message, "a.example", "b.example");
    put_alias(&message, "b.example", "a.example");
    assert_int_equal(read_result(&message, "a.example", &result), 0);
    assert_int_equal(result.aliases, DNS_CHAIN_MAX);
    dns_result_deinit(&result);
}

TEST(an_answer_to_something_else_does_not_count)
{
    struct message message = new_message(0x8180, "www.example.com", LDNS_RR_TYPE_A, 0);
    struct dns_result result;
    bool truncated;
    assert_int_equal(read_result(&message, "example.com", &result), -1);
    assert_int_equal(dns_result_read(message.bytes, message.size, 0x1235, "www.example.com",
                                     LDNS_RR_TYPE_A, &result, &truncated),
                     -1);
    assert_int_equal(dns_result_read(message.bytes, message.size, 0x1234, "www.example.com",
                                     LDNS_RR_TYPE_TXT, &result, &truncated),
                     -1);
    assert_int_equal(read_result(&message, "www.example.com", &result), 0);
    dns_result_deinit(&result);
    message.bytes[2] &= 0x7f; /* a question */
    assert_int_equal(read_result(&message, "www.example.com", &result), -1);
}

/* --- answers to a sandbox --- */

static bool keep_odd(void *context, uint32_t address)
{
    (void)context;
    return address & 1;
}

TEST(only_kept_addresses_leave_and_times_are_bounded)
{
    struct message asked = new_message(0x0100, "api.example.com", LDNS_RR_TYPE_A, 0);
    struct message message = new_message(0x8180, "api.example.com", LDNS_RR_TYPE_A, 2);
    struct dns_question question;
    struct dns_result result, seen;
    autofree uint8_t *wire = NULL;
    uint32_t addresses[4];
    size_t size;
    int rcode;
    bool truncated;
    put_record(&message, "api.example.com", LDNS_RR_TYPE_A, 600, "\xcb\0\x71\7", 4);
    put_record(&message, "api.example.com", LDNS_RR_TYPE_A, 600, "\xcb\0\x71\x8", 4);
    assert_int_equal(dns_question_read(asked.bytes, asked.size, &question, &rcode), DNS_READ);
    assert_int_equal(read_result(&message, "api.example.com", &result), 0);
    assert_int_equal(
        dns_answer_write(&question, 0, &result, 60, keep_odd, NULL, DNS_UDP_MIN, &wire, &size), 0);
    assert_int_equal(
        dns_result_read(wire, size, 0x1234, "api.example.com", LDNS_RR_TYPE_A, &seen, &truncated),
        0);
    assert_int_equal(dns_result_addresses(&seen, addresses, 4), 1);
    assert_int_equal(addresses[0], 0xcb007107);
    assert_int_equal(seen.ttl_s, 60);
    dns_result_deinit(&seen);
    dns_result_deinit(&result);
    dns_question_deinit(&question);
}

TEST(what_does_not_fit_is_truncated)
{
    struct message asked = new_message(0x0100, "api.example.com", LDNS_RR_TYPE_A, 0);
    struct message message = new_message(0x8180, "api.example.com", LDNS_RR_TYPE_A, 40);
    struct dns_question question;
    struct dns_result result, seen;
    autofree uint8_t *wire = NULL;
    size_t size;
    int rcode;
    bool truncated;
    for (uint8_t i = 0; i < 40; i++)
        put_record(&message, "api.example.com", LDNS_RR_TYPE_A, 60, (uint8_t[]){203, 0, 113, i}, 4);
    assert_int_equal(dns_question_read(asked.bytes, asked.size, &question, &rcode), DNS_READ);
    assert_int_equal(read_result(&message, "api.example.com", &result), 0);
    assert_int_equal(
        dns_answer_write(&question, 0, &result, 60, NULL, NULL, DNS_UDP_MIN, &wire, &size), 0);
    assert_true(size <= DNS_UDP_MIN);
    assert_int_equal(
        dns_result_read(wire, size, 0x1234, "api.example.com", LDNS_RR_TYPE_A, &seen, &truncated),
        0);
    assert_true(truncated);
    dns_result_deinit(&seen);
    dns_result_deinit(&result);
    dns_question_deinit(&question);
}

static struct dns_question refused_question(bool edns)
{
    struct dns_question question;
    struct message asked = new_message(0x0100, "api.example.com", LDNS_RR_TYPE_A, 0);
    int rcode;
    if (edns) {
        asked.bytes[11] = 1;
        put(&asked, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
    }
    assert_int_equal(dns_question_read(asked.bytes, asked.size, &question, &rcode), DNS_READ);
    assert_int_equal(question.edns, edns);
    return question;
}

TEST(a_refusal_says_why_to_those_who_understand_it)
{
    static const uint8_t option[] = {0, 15, 0, 5, 0, 18, 'w', 'h', 'y'};
    uint8_t *wire = NULL;
    size_t size;
    ldns_pkt *packet;
    struct dns_question question = refused_question(true);
    assert_int_equal(dns_refusal_write(&question, "why", &wire, &size), 0);
    assert_int_equal(ldns_wire2pkt(&packet, wire, size), LDNS_STATUS_OK);
    assert_int_equal(ldns_pkt_get_rcode(packet), LDNS_RCODE_REFUSED);
    assert_true(ldns_pkt_edns(packet));
    ldns_pkt_free(packet);
    assert_memory_equal(wire + size - sizeof option, option, sizeof option);
    assert_int_equal(wire[size - sizeof option - 1], sizeof option);
    free(wire);
    dns_question_deinit(&question);
    question = refused_question(false);
    assert_int_equal(dns_refusal_write(&question, "why", &wire, &size), 0);
    assert_int_equal(size, 12 + 17 + 4);
    free(wire);
    dns_question_deinit(&question);
}

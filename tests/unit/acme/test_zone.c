/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "acme/zone.h"
#include "base/mem.h"
#include "dns/message.h"

#define ONE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ-_01234"
#define TWO "43210_-JIHGFEDCBAzyxwvutsrqponmlkjihgfedcba"

static char box[] = "box.example", api[] = "api.other.example";
static const struct challenge_names names = {{box, api}, 2};
static struct challenge_value values[CHALLENGE_VALUES_MAX];

/* The answer, for the caller to free. */
static ldns_pkt *ask_wire(const uint8_t *wire, size_t size, size_t count, bool over_tcp)
{
    autofree uint8_t *answer = NULL;
    size_t answer_size;
    ldns_pkt *packet = NULL;
    assert_int_equal(
        zone_answer(&names, values, count, wire, size, over_tcp, &answer, &answer_size), 0);
    assert_int_equal(ldns_wire2pkt(&packet, answer, answer_size), LDNS_STATUS_OK);
    assert_int_equal(ldns_pkt_id(packet), 0x1234);
    assert_true(ldns_pkt_qr(packet));
    assert_false(ldns_pkt_ra(packet));
    return packet;
}

static ldns_pkt *ask(const char *name, uint16_t type, size_t count)
{
    autofree uint8_t *wire = NULL;
    size_t size;
    assert_int_equal(dns_query_write(0x1234, name, type, &wire, &size), 0);
    return ask_wire(wire, size, count, false);
}

static void assert_answer(const char *name, uint16_t type, size_t count, int rcode, size_t records,
                          bool has_soa)
{
    ldns_pkt *packet = ask(name, type, count);
    assert_int_equal(ldns_pkt_get_rcode(packet), rcode);
    assert_int_equal(ldns_pkt_ancount(packet), records);
    assert_int_equal(ldns_pkt_nscount(packet), has_soa);
    assert_int_equal(ldns_pkt_aa(packet), rcode != LDNS_RCODE_REFUSED);
    ldns_pkt_free(packet);
}

static int set_up(void **state)
{
    (void)state;
    memset(values, 0, sizeof values);
    memcpy(values[0].text, ONE, sizeof ONE);
    memcpy(values[1].text, TWO, sizeof TWO);
    for (size_t i = 2; i < CHALLENGE_VALUES_MAX; i++)
        memcpy(values[i].text, i % 2 ? ONE : TWO, sizeof ONE);
    return 0;
}

static void test_values_are_answered(void **state)
{
    (void)state;
    static const char *const asked[] = {"_acme-challenge.box.example",
                                        "_ACME-Challenge.Box.EXAMPLE",
                                        "_acme-challenge.api.other.example"};
    for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
        ldns_pkt *packet = ask(asked[i], LDNS_RR_TYPE_TXT, 2);
        const ldns_rr_list *records = ldns_pkt_answer(packet);
        assert_int_equal(ldns_rr_list_rr_count(records), 2);
        for (size_t j = 0; j < 2; j++) {
            const ldns_rr *record = ldns_rr_list_rr(records, j);
            autofree char *text = ldns_rdf2str(ldns_rr_rdf(record, 0));
            assert_string_equal(text, j ? "\"" TWO "\"" : "\"" ONE "\"");
            assert_int_equal(ldns_rr_get_type(record), LDNS_RR_TYPE_TXT);
            assert_int_equal(ldns_rr_ttl(record), 1);
        }
        ldns_pkt_free(packet);
    }
}

static void test_what_there_is_and_what_there_is_not(void **state)
{
    (void)state;
    static const char top[] = "_acme-challenge.box.example";
    assert_answer(top, LDNS_RR_TYPE_TXT, 0, LDNS_RCODE_NOERROR, 0, true);
    assert_answer(top, LDNS_RR_TYPE_SOA, 2, LDNS_RCODE_NOERROR, 1, false);
    assert_answer(top, LDNS_RR_TYPE_NS, 2, LDNS_RCODE_NOERROR, 1, false);
    assert_answer(top, LDNS_RR_TYPE_A, 2, LDNS_RCODE_NOERROR, 0, true);
    assert_answer(top, LDNS_RR_TYPE_ANY, 2, LDNS_RCODE_NOERROR, 0, true);
    assert_answer("a._acme-challenge.box.example", LDNS_RR_TYPE_TXT, 2, LDNS_RCODE_NXDOMAIN, 0,
                  true);
    assert_answer("_acme-challenge._acme-challenge.box.example", LDNS_RR_TYPE_TXT, 2,
                  LDNS_RCODE_NXDOMAIN, 0, true);
}

static void test_other_zones_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "box.example",
                                         "example",
                                         "api.box.example",
                                         "_acme-challenge.api.box.example",
                                         "_acme-challenge.example",
                                         "_acme-challenge.xbox.example",
                                         "x_acme-challenge.box.example",
                                         "_acme-challenge.box.example.evil.example"};
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_answer(others[i], LDNS_RR_TYPE_TXT, 2, LDNS_RCODE_REFUSED, 0, false);
}

static void test_the_name_server_is_the_machine_itself(void **state)
{
    (void)state;
    ldns_pkt *packet = ask("_acme-challenge.box.example", LDNS_RR_TYPE_NS, 0);
    autofree char *text = ldns_rdf2str(ldns_rr_rdf(ldns_rr_list_rr(ldns_pkt_answer(packet), 0), 0));
    assert_string_equal(text, "box.example.");
    ldns_pkt_free(packet);
}

/* Whoever gives another's address as his own sends him little: without EDNS 512 bytes. */
static void test_answers_over_udp_are_bounded(void **state)
{
    (void)state;
    ldns_rdf *owner = ldns_dname_new_frm_str("_acme-challenge.box.example");
    ldns_pkt *question = ldns_pkt_query_new(owner, LDNS_RR_TYPE_TXT, LDNS_RR_CLASS_IN, 0);
    uint8_t *wire = NULL;
    size_t size;
    ldns_pkt_set_id(question, 0x1234);
    assert_int_equal(ldns_pkt2wire(&wire, question, &size), LDNS_STATUS_OK);
    ldns_pkt_free(question);
    ldns_pkt *cut = ask_wire(wire, size, CHALLENGE_VALUES_MAX, false);
    assert_true(ldns_pkt_tc(cut));
    assert_int_equal(ldns_pkt_ancount(cut), 0);
    ldns_pkt *whole = ask_wire(wire, size, CHALLENGE_VALUES_MAX, true);
    assert_false(ldns_pkt_tc(whole));
    assert_int_equal(ldns_pkt_ancount(whole), CHALLENGE_VALUES_MAX);
    ldns_pkt_free(cut);
    ldns_pkt_free(whole);
    free(wire);
}

static void test_what_is_no_question_is_not_answered(void **state)
{
    uint8_t *answer = NULL, reply[] = {0x12, 0x34, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    size_t size;
    (void)state;
    assert_int_equal(zone_answer(&names, values, 2, (const uint8_t *)"x", 1, false, &answer, &size),
                     -1);
    assert_int_equal(zone_answer(&names, values, 2, reply, sizeof reply, false, &answer, &size),
                     -1);
    assert_null(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_answered),
        cmocka_unit_test(test_what_there_is_and_what_there_is_not),
        cmocka_unit_test(test_other_zones_are_refused),
        cmocka_unit_test(test_the_name_server_is_the_machine_itself),
        cmocka_unit_test(test_answers_over_udp_are_bounded),
        cmocka_unit_test(test_what_is_no_question_is_not_answered),
    };
    return cmocka_run_group_tests_name(__FILE__, tests, set_up, NULL);
}

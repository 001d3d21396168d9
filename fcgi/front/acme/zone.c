/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acme/zone.h"

#include <string.h>

#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "dns/message.h"

#define TTL_S 1 /* the next challenge has another value */

static ldns_rr *new_record(const char *owner, const char *rest)
{
    ldns_rr *record = NULL;
    autofree char *text = xasprintf("%s. %d IN %s", owner, TTL_S, rest);
    if (ldns_rr_new_frm_str(&record, text, TTL_S, NULL, NULL) != LDNS_STATUS_OK)
        panic("a DNS record cannot be made");
    return record;
}

static ldns_rr_list *new_list(ldns_rr *record)
{
    ldns_rr_list *list = ldns_rr_list_new();
    if (!list || (record && !ldns_rr_list_push_rr(list, record)))
        panic("out of memory");
    return list;
}

/* The machine that the name leads to is who is asked, so that the delegation needs no other one.
 * Nobody has mail. */
static ldns_rr *new_soa(const char *zone, const char *name)
{
    autofree char *rest = xasprintf("SOA %s. . 1 3600 600 86400 %d", name, TTL_S);
    return new_record(zone, rest);
}

static void add_values(ldns_rr_list *records, const char *zone,
                       const struct challenge_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        autofree char *rest = xasprintf("TXT \"%s\"", values[i].text);
        if (!ldns_rr_list_push_rr(records, new_record(zone, rest)))
            panic("out of memory");
    }
}

static void add_top(ldns_rr_list *records, const struct dns_question *question, const char *name,
                    const struct challenge_value *values, size_t count)
{
    autofree char *name_server = xasprintf("NS %s.", name);
    if (question->type == LDNS_RR_TYPE_TXT)
        add_values(records, question->name, values, count);
    else if (question->type == LDNS_RR_TYPE_SOA)
        ldns_rr_list_push_rr(records, new_soa(question->name, name));
    else if (question->type == LDNS_RR_TYPE_NS)
        ldns_rr_list_push_rr(records, new_record(question->name, name_server));
}

/* The name of ours whose zone has this name in it; NULL: none. zone: where its zone begins. */
static const char *find_zone(const struct challenge_names *names, const char *name,
                             const char **zone)
{
    for (*zone = name; *zone; *zone = strchr(*zone, '.')) {
        *zone += **zone == '.';
        const char *found =
            str_starts_with(*zone, CHALLENGE_PREFIX) ? challenge_names_find(names, *zone) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* What is said of the question; the caller ends with dns_result_deinit(). */
static int decide(const struct challenge_names *names, const struct challenge_value *values,
                  size_t count, const struct dns_question *question, struct dns_result *result)
{
    const char *zone, *name = find_zone(names, question->name, &zone);
    if (!name)
        return LDNS_RCODE_REFUSED;
    bool is_top = zone == question->name;
    if (is_top)
        add_top(result->records, question, name, values, count);
    if (!ldns_rr_list_rr_count(result->records))
        result->authority = new_list(new_soa(zone, name));
    return is_top ? LDNS_RCODE_NOERROR : LDNS_RCODE_NXDOMAIN;
}

int zone_answer(const struct challenge_names *names, const struct challenge_value *values,
                size_t count, const uint8_t *wire, size_t size, bool over_tcp, uint8_t **answer,
                size_t *answer_size)
{
    struct dns_question question;
    int rcode;
    enum dns_reading reading = dns_question_read(wire, size, &question, &rcode);
    if (reading == DNS_IGNORED)
        return -1;
    struct dns_result result = {.authoritative = true, .records = new_list(NULL)};
    if (reading == DNS_READ)
        rcode = decide(names, values, count, &question, &result);
    int written =
        dns_answer_write(&question, rcode, &result, TTL_S, NULL, NULL,
                         over_tcp ? DNS_MESSAGE_MAX : question.udp_max, answer, answer_size);
    dns_result_deinit(&result);
    dns_question_deinit(&question);
    return written;
}

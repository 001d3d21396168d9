/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dns/message.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

#define NEGATIVE_TTL_MAX_S 300
#define TYPE_SOA           LDNS_RR_TYPE_SOA
/* Of an Extended DNS Error (RFC 8914): its option, the bytes before its text, and its code. */
#define OPTION_REASON     15
#define REASON_HEAD       6
#define REASON_PROHIBITED 18
#define PART_OVERHEAD     72

/* --- names --- */

/* The name as policies write it; false when it holds a byte that no host name has. A label may
 * begin with an underscore (_service._tcp). */
static bool name_text(const ldns_rdf *rdf, char text[DNS_NAME_MAX + 1])
{
    const uint8_t *wire = ldns_rdf_data(rdf);
    size_t size = ldns_rdf_size(rdf), at = 0, written = 0;
    while (at < size && wire[at]) {
        size_t label = wire[at++];
        if (at + label > size || written + label + 1 > DNS_NAME_MAX + 1)
            return false;
        if (written)
            text[written++] = '.';
        for (size_t i = 0; i < label; i++) {
            char c = (char)wire[at + i];
            if (c >= 'A' && c <= 'Z')
                c = (char)(c - 'A' + 'a');
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'))
                return false;
            if (written == DNS_NAME_MAX)
                return false;
            text[written++] = c;
        }
        at += label;
    }
    text[written] = '\0';
    return true;
}

/* name is a host name that was checked, so it fits. */
static void set_name(char to[DNS_NAME_MAX + 1], const char *name)
{
    memcpy(to, name, strnlen(name, DNS_NAME_MAX));
    to[strnlen(name, DNS_NAME_MAX)] = '\0';
}

static bool owner_is(const ldns_rr *rr, const char *name)
{
    char owner[DNS_NAME_MAX + 1];
    return name_text(ldns_rr_owner(rr), owner) && !strcmp(owner, name);
}

/* --- questions --- */

void dns_question_deinit(struct dns_question *question)
{
    if (question->section)
        ldns_rr_free(question->section);
    question->section = NULL;
}

static int check_question(const ldns_pkt *packet, struct dns_question *question)
{
    if (ldns_pkt_get_opcode(packet) != LDNS_PACKET_QUERY)
        return LDNS_RCODE_NOTIMPL;
    if (ldns_pkt_qdcount(packet) != 1 || ldns_pkt_ancount(packet) || ldns_pkt_nscount(packet))
        return LDNS_RCODE_FORMERR;
    if (ldns_rr_get_class(question->section) != LDNS_RR_CLASS_IN ||
        !name_text(ldns_rr_owner(question->section), question->name))
        return LDNS_RCODE_REFUSED;
    return LDNS_RCODE_NOERROR;
}

enum dns_reading dns_question_read(const uint8_t *wire, size_t size, struct dns_question *question,
                                   int *rcode)
{
    ldns_pkt *packet = NULL;
    *question = (struct dns_question){.udp_max = DNS_UDP_MIN};
    if (ldns_wire2pkt(&packet, wire, size) != LDNS_STATUS_OK)
        return DNS_IGNORED;
    const ldns_rr_list *asked = ldns_pkt_question(packet);
    if (ldns_pkt_qr(packet) || ldns_rr_list_rr_count(asked) < 1) {
        ldns_pkt_free(packet);
        return DNS_IGNORED;
    }
    question->id = ldns_pkt_id(packet);
    question->recursion_desired = ldns_pkt_rd(packet);
    question->checking_disabled = ldns_pkt_cd(packet);
    question->section = ldns_rr_clone(ldns_rr_list_rr(asked, 0));
    question->type = (uint16_t)ldns_rr_get_type(question->section);
    question->edns = ldns_pkt_edns(packet);
    if (question->edns && ldns_pkt_edns_udp_size(packet) > DNS_UDP_MIN)
        question->udp_max = ldns_pkt_edns_udp_size(packet);
    if (question->udp_max > DNS_UDP_MAX)
        question->udp_max = DNS_UDP_MAX;
    *rcode = check_question(packet, question);
    ldns_pkt_free(packet);
    return *rcode == LDNS_RCODE_NOERROR ? DNS_READ : DNS_REFUSED;
}

/* --- answers of an upstream --- */

void dns_result_deinit(struct dns_result *result)
{
    if (result->records)
        ldns_rr_list_deep_free(result->records);
    if (result->authority)
        ldns_rr_list_deep_free(result->authority);
    *result = (struct dns_result){0};
}

void dns_result_of_address(struct dns_result *result, const char *name, uint32_t address,
                           uint32_t ttl_s)
{
    uint32_t bytes = htonl(address);
    ldns_rr *rr = ldns_rr_new();
    ldns_rdf *owner = ldns_dname_new_frm_str(name);
    ldns_rdf *value = ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, sizeof bytes, &bytes);
    *result = (struct dns_result){
        .records = ldns_rr_list_new(), .complete = true, .authoritative = true, .ttl_s = ttl_s};
    if (!rr || !owner || !value || !result->records)
        panic("out of memory");
    ldns_rr_set_type(rr, LDNS_RR_TYPE_A);
    ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
    ldns_rr_set_ttl(rr, ttl_s);
    ldns_rr_set_owner(rr, owner);
    ldns_rr_push_rdf(rr, value);
    ldns_rr_list_push_rr(result->records, rr);
    set_name(result->last_name, name);
}

static bool answers(const ldns_pkt *packet, uint16_t id, const char *name, uint16_t type)
{
    const ldns_rr_list *asked = ldns_pkt_question(packet);
    return ldns_pkt_qr(packet) && ldns_pkt_id(packet) == id &&
           ldns_pkt_get_opcode(packet) == LDNS_PACKET_QUERY && ldns_rr_list_rr_count(asked) == 1 &&
           ldns_rr_get_type(ldns_rr_list_rr(asked, 0)) == (ldns_rr_type)type &&
           ldns_rr_get_class(ldns_rr_list_rr(asked, 0)) == LDNS_RR_CLASS_IN &&
           owner_is(ldns_rr_list_rr(asked, 0), name);
}

static void take_record(struct dns_result *result, const ldns_rr *rr)
{
    if (ldns_rr_list_rr_count(result->records) >= DNS_ANSWERS_MAX)
        return;
    if (ldns_rr_ttl(rr) < result->ttl_s)
        result->ttl_s = ldns_rr_ttl(rr);
    ldns_rr_list_push_rr(result->records, ldns_rr_clone(rr));
}

/* The alias of name in the section, or NULL. */
static const ldns_rr *find_alias(const ldns_rr_list *section, const char *name)
{
    for (size_t i = 0; i < ldns_rr_list_rr_count(section); i++) {
        const ldns_rr *rr = ldns_rr_list_rr(section, i);
        if (ldns_rr_get_type(rr) == LDNS_RR_TYPE_CNAME && ldns_rr_rd_count(rr) == 1 &&
            owner_is(rr, name))
            return rr;
    }
    return NULL;
}

static void follow_aliases(struct dns_result *result, const ldns_rr_list *section)
{
    const ldns_rr *alias;
    while (result->aliases < DNS_CHAIN_MAX && (alias = find_alias(section, result->last_name))) {
        char target[DNS_NAME_MAX + 1];
        if (!name_text(ldns_rr_rdf(alias, 0), target))
            return;
        take_record(result, alias);
        set_name(result->last_name, target);
        result->aliases++;
    }
}

static size_t take_records(struct dns_result *result, const ldns_rr_list *section, uint16_t type)
{
    size_t taken = 0;
    for (size_t i = 0; i < ldns_rr_list_rr_count(section); i++) {
        const ldns_rr *rr = ldns_rr_list_rr(section, i);
        if (ldns_rr_get_type(rr) != (ldns_rr_type)type ||
            ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN || !owner_is(rr, result->last_name))
            continue;
        take_record(result, rr);
        taken++;
    }
    return taken;
}

static void take_authority(struct dns_result *result, const ldns_rr_list *section)
{
    for (size_t i = 0; i < ldns_rr_list_rr_count(section); i++) {
        const ldns_rr *rr = ldns_rr_list_rr(section, i);
        if (ldns_rr_get_type(rr) != TYPE_SOA || ldns_rr_rd_count(rr) < 7)
            continue;
        uint32_t minimum = ldns_rdf2native_int32(ldns_rr_rdf(rr, 6));
        uint32_t ttl = ldns_rr_ttl(rr) < minimum ? ldns_rr_ttl(rr) : minimum;
        result->authority = ldns_rr_list_new();
        ldns_rr_list_push_rr(result->authority, ldns_rr_clone(rr));
        if (ttl < result->ttl_s)
            result->ttl_s = ttl;
        return;
    }
}

static void take_packet(const ldns_pkt *packet, uint16_t type, struct dns_result *result)
{
    const ldns_rr_list *section = ldns_pkt_answer(packet);
    result->rcode = ldns_pkt_get_rcode(packet);
    result->records = ldns_rr_list_new();
    result->ttl_s = UINT32_MAX;
    if (type != LDNS_RR_TYPE_CNAME)
        follow_aliases(result, section);
    size_t taken = take_records(result, section, type);
    if (!taken)
        take_authority(result, ldns_pkt_authority(packet));
    /* An alias that leads out of the answer: the rest must be asked for. */
    result->complete =
        taken || !result->aliases || result->authority || result->rcode != LDNS_RCODE_NOERROR;
    if (!taken && result->complete) {
        uint32_t most = result->authority ? NEGATIVE_TTL_MAX_S : 0;
        result->ttl_s = result->ttl_s < most ? result->ttl_s : most;
    }
}

int dns_result_read(const uint8_t *wire, size_t size, uint16_t id, const char *name, uint16_t type,
                    struct dns_result *result, bool *truncated)
{
    ldns_pkt *packet = NULL;
    *result = (struct dns_result){0};
    *truncated = false;
    if (ldns_wire2pkt(&packet, wire, size) != LDNS_STATUS_OK)
        return -1;
    if (!answers(packet, id, name, type)) {
        ldns_pkt_free(packet);
        return -1;
    }
    *truncated = ldns_pkt_tc(packet);
    set_name(result->last_name, name);
    take_packet(packet, type, result);
    ldns_pkt_free(packet);
    return 0;
}

void dns_result_extend(struct dns_result *result, struct dns_result *rest)
{
    for (size_t i = 0; i < ldns_rr_list_rr_count(rest->records) &&
                       ldns_rr_list_rr_count(result->records) < DNS_ANSWERS_MAX;
         i++)
        ldns_rr_list_push_rr(result->records, ldns_rr_clone(ldns_rr_list_rr(rest->records, i)));
    if (result->authority)
        ldns_rr_list_deep_free(result->authority);
    result->authority = steal_pointer(&rest->authority);
    result->rcode = rest->rcode;
    result->aliases += rest->aliases;
    result->complete = rest->complete;
    if (rest->ttl_s < result->ttl_s)
        result->ttl_s = rest->ttl_s;
    set_name(result->last_name, rest->last_name);
    dns_result_deinit(rest);
}

static bool record_address(const ldns_rr *rr, uint32_t *address)
{
    if (ldns_rr_get_type(rr) != LDNS_RR_TYPE_A || ldns_rr_rd_count(rr) != 1 ||
        ldns_rdf_size(ldns_rr_rdf(rr, 0)) != 4)
        return false;
    const uint8_t *bytes = ldns_rdf_data(ldns_rr_rdf(rr, 0));
    *address =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return true;
}

size_t dns_result_addresses(const struct dns_result *result, uint32_t *addresses, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < ldns_rr_list_rr_count(result->records) && count < max; i++)
        count += record_address(ldns_rr_list_rr(result->records, i), &addresses[count]);
    return count;
}

/* Return the memory of a part of a record: two blocks with the overhead of malloc(), and a pointer.
 */
static size_t part_memory(const ldns_rdf *part)
{
    return PART_OVERHEAD + ldns_rdf_size(part);
}

static size_t list_memory(const ldns_rr_list *records)
{
    size_t size = 0;
    for (size_t i = 0; i < ldns_rr_list_rr_count(records); i++) {
        const ldns_rr *rr = ldns_rr_list_rr(records, i);
        size += sizeof *rr + part_memory(ldns_rr_owner(rr));
        for (size_t j = 0; j < ldns_rr_rd_count(rr); j++)
            size += part_memory(ldns_rr_rdf(rr, j));
    }
    return size;
}

size_t dns_result_memory(const struct dns_result *result)
{
    return list_memory(result->records) + list_memory(result->authority);
}

bool dns_result_each_alias(const struct dns_result *result,
                           bool (*visit)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < ldns_rr_list_rr_count(result->records); i++) {
        char target[DNS_NAME_MAX + 1];
        const ldns_rr *rr = ldns_rr_list_rr(result->records, i);
        if (ldns_rr_get_type(rr) == LDNS_RR_TYPE_CNAME && name_text(ldns_rr_rdf(rr, 0), target) &&
            !visit(context, target))
            return false;
    }
    return true;
}

/* --- writing --- */

static int write_packet(ldns_pkt *packet, uint8_t **wire, size_t *size)
{
    ldns_status status = ldns_pkt2wire(wire, packet, size);
    ldns_pkt_free(packet);
    return status == LDNS_STATUS_OK ? 0 : -1;
}

int dns_query_write(uint16_t id, const char *name, uint16_t type, uint8_t **wire, size_t *size)
{
    ldns_rdf *owner = ldns_dname_new_frm_str(*name ? name : ".");
    if (!owner)
        return -1;
    ldns_pkt *packet = ldns_pkt_query_new(owner, (ldns_rr_type)type, LDNS_RR_CLASS_IN, LDNS_RD);
    if (!packet) {
        ldns_rdf_deep_free(owner);
        return -1;
    }
    ldns_pkt_set_id(packet, id);
    ldns_pkt_set_edns_udp_size(packet, DNS_UDP_MAX);
    return write_packet(packet, wire, size);
}

static ldns_pkt *new_answer(const struct dns_question *question, int rcode, bool authoritative)
{
    ldns_pkt *packet = ldns_pkt_new();
    if (!packet)
        panic("out of memory");
    ldns_pkt_set_id(packet, question->id);
    ldns_pkt_set_qr(packet, true);
    ldns_pkt_set_ra(packet, !authoritative);
    ldns_pkt_set_aa(packet,
                    authoritative && (rcode == LDNS_RCODE_NOERROR || rcode == LDNS_RCODE_NXDOMAIN));
    ldns_pkt_set_rd(packet, question->recursion_desired);
    ldns_pkt_set_cd(packet, question->checking_disabled);
    ldns_pkt_set_opcode(packet, LDNS_PACKET_QUERY);
    ldns_pkt_set_rcode(packet, (uint8_t)rcode);
    if (question->section)
        ldns_pkt_push_rr(packet, LDNS_SECTION_QUESTION, ldns_rr_clone(question->section));
    if (question->edns)
        ldns_pkt_set_edns_udp_size(packet, DNS_UDP_MAX);
    return packet;
}

static void push_clone(ldns_pkt *packet, ldns_pkt_section section, const ldns_rr *rr,
                       uint32_t ttl_max_s)
{
    ldns_rr *clone = ldns_rr_clone(rr);
    if (ldns_rr_ttl(clone) > ttl_max_s)
        ldns_rr_set_ttl(clone, ttl_max_s);
    ldns_pkt_push_rr(packet, section, clone);
}

int dns_answer_write(const struct dns_question *question, int rcode,
                     const struct dns_result *result, uint32_t ttl_max_s,
                     bool (*keep)(void *context, uint32_t address), void *context, size_t max,
                     uint8_t **wire, size_t *size)
{
    bool authoritative = result && result->authoritative;
    ldns_pkt *packet = new_answer(question, rcode, authoritative);
    for (size_t i = 0; result && i < ldns_rr_list_rr_count(result->records); i++) {
        uint32_t address;
        const ldns_rr *rr = ldns_rr_list_rr(result->records, i);
        if (!keep || !record_address(rr, &address) || keep(context, address))
            push_clone(packet, LDNS_SECTION_ANSWER, rr, ttl_max_s);
    }
    if (result && result->authority)
        push_clone(packet, LDNS_SECTION_AUTHORITY, ldns_rr_list_rr(result->authority, 0),
                   ttl_max_s);
    if (write_packet(packet, wire, size) < 0)
        return -1;
    if (*size <= max)
        return 0;
    free(*wire);
    packet = new_answer(question, rcode, authoritative);
    ldns_pkt_set_tc(packet, true);
    return write_packet(packet, wire, size);
}

/* Put an option into the OPT record, which is the last record of the message and has none yet. */
static void append_reason(const char *reason, uint8_t **wire, size_t *size)
{
    size_t text = strnlen(reason, DNS_REASON_MAX), option = REASON_HEAD + text;
    *wire = xreallocarray(*wire, *size + option, 1);
    uint8_t *at = *wire + *size - 2; /* the size of the options */
    const uint8_t head[] = {0, (uint8_t)option,     0, OPTION_REASON,
                            0, (uint8_t)(2 + text), 0, REASON_PROHIBITED};
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, reason, text);
    *size += option;
}

int dns_refusal_write(const struct dns_question *question, const char *reason, uint8_t **wire,
                      size_t *size)
{
    if (write_packet(new_answer(question, LDNS_RCODE_REFUSED, false), wire, size) < 0)
        return -1;
    if (question->edns && *size + REASON_HEAD + DNS_REASON_MAX <= question->udp_max)
        append_reason(reason, wire, size);
    return 0;
}

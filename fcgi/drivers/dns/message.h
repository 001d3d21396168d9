/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read and write DNS messages (RFC 1035) with ldns. All sizes are limited here, because messages
 * come from outside. Names may have letters, digits, hyphens and underscores only. Without input
 * and output.
 */
#pragma once

#include <ldns/ldns.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX    253   /* bytes of a name without the last dot (RFC 1035) */
#define DNS_MESSAGE_MAX 65535 /* over TCP */
#define DNS_UDP_MAX     1232  /* the largest message over UDP without fragments (RFC 9715) */
#define DNS_UDP_MIN     512   /* the largest answer without EDNS */
#define DNS_CHAIN_MAX   16    /* aliases that are followed */
#define DNS_ANSWERS_MAX 64    /* records that are passed on */

struct dns_question {
    uint16_t id;
    uint16_t type;
    bool recursion_desired;
    bool checking_disabled;
    bool edns;
    size_t udp_max;              /* bytes that the client can take over UDP */
    char name[DNS_NAME_MAX + 1]; /* lower case, without the last dot; "" is the root */
    ldns_rr *section;            /* as it was asked, to be repeated; owned */
};

enum dns_reading {
    DNS_READ,    /* a question that can be answered */
    DNS_REFUSED, /* a question of another kind: answer with *rcode */
    DNS_IGNORED, /* not a question: do not answer */
};

/* Read a question. Except after DNS_IGNORED, the caller calls dns_question_deinit(). */
enum dns_reading dns_question_read(const uint8_t *wire, size_t size, struct dns_question *question,
                                   int *rcode);
void dns_question_deinit(struct dns_question *question);

/* The result for one name and type: a chain of aliases and the records at its end. */
struct dns_result {
    int rcode;
    ldns_rr_list *records;            /* owned; the aliases in their order, then the records */
    ldns_rr_list *authority;          /* SOA of an empty answer; owned; may be NULL */
    char last_name[DNS_NAME_MAX + 1]; /* where the chain ended */
    size_t aliases;
    bool authoritative; /* made by this program, not by an upstream */
    bool complete;      /* the result is complete: it has the records, or the name has no records of
                         * the type */
    uint32_t ttl_s;     /* the least of all records; of an empty answer: from its SOA (RFC 2308) */
};
void dns_result_deinit(struct dns_result *result);

/* Make an authoritative result: the name has only this address (host byte order). */
void dns_result_of_address(struct dns_result *result, const char *name, uint32_t address,
                           uint32_t ttl_s);

/* Read an upstream's answer for name (lower case) and type. Returns 0, or -1 when it is malformed,
 * or has another id or question; then ignore it. *truncated: ask again over TCP. The caller calls
 * dns_result_deinit(). */
int dns_result_read(const uint8_t *wire, size_t size, uint16_t id, const char *name, uint16_t type,
                    struct dns_result *result, bool *truncated);

/* Append rest, the answer for result->last_name, and take its contents. */
void dns_result_extend(struct dns_result *result, struct dns_result *rest);

/* Write the addresses (host byte order) of the A records, at most max. Returns their number. */
size_t dns_result_addresses(const struct dns_result *result, uint32_t *addresses, size_t max);

/* Estimate the bytes of memory of the records. Each string of a TXT record has an overhead. */
size_t dns_result_memory(const struct dns_result *result);

/* Call visit() with the target of each alias, in lower case, until it returns false. Returns false
 * in this case. */
bool dns_result_each_alias(const struct dns_result *result,
                           bool (*visit)(void *context, const char *name), void *context);

/* Write a message to an upstream. Returns 0 and the bytes, which the caller frees. */
int dns_query_write(uint16_t id, const char *name, uint16_t type, uint8_t **wire, size_t *size);

/* Write an answer. A result of NULL or without records gives an empty answer with that rcode.
 * ttl_max_s bounds each record's time. keep() selects the addresses (NULL: all). An answer larger
 * than max is replaced by an empty one with the TC bit. Returns 0 and the bytes, which the caller
 * frees. */
int dns_answer_write(const struct dns_question *question, int rcode,
                     const struct dns_result *result, uint32_t ttl_max_s,
                     bool (*keep)(void *context, uint32_t address), void *context, size_t max,
                     uint8_t **wire, size_t *size);

/* Write an answer that refuses the question. A client that understands EDNS gets the reason, a
 * sentence of at most DNS_REASON_MAX bytes (RFC 8914). Returns as dns_answer_write(). */
#define DNS_REASON_MAX 100
int dns_refusal_write(const struct dns_question *question, const char *reason, uint8_t **wire,
                      size_t *size);

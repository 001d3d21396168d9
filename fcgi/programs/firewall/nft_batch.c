/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/nft_batch.h"

#include <arpa/inet.h>
#include <endian.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/ethernet.h>
#include <netinet/ether.h>
#include <string.h>

#include "base/str.h"

#define KEY_MAX      64  /* bytes of an element's key */
#define PART_MAX     8   /* bytes of a part of one */
#define ELEMENTS_MAX 256 /* of a message: attributes end at 64 KiB */
#define MARK_SIZE    4
#define IP_DADDR_AT  16 /* in the network header */
#define TH_DPORT_AT  2  /* in the transport header */
#define MS_PER_S     1000u

/* --- messages and attributes --- */

static size_t begin_message(struct buffer *out, unsigned subsystem, unsigned type, unsigned flags,
                            uint32_t sequence)
{
    size_t at = out->size;
    struct nlmsghdr header = {.nlmsg_type = (uint16_t)(subsystem << 8 | type),
                              .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                              .nlmsg_seq = sequence};
    struct nfgenmsg family = {.nfgen_family = subsystem ? NFPROTO_INET : AF_UNSPEC,
                              .version = NFNETLINK_V0,
                              .res_id = subsystem ? 0 : htons(NFNL_SUBSYS_NFTABLES)};
    buffer_append(out, &header, sizeof header);
    buffer_append(out, &family, sizeof family);
    return at;
}

static void end_message(struct buffer *out, size_t at)
{
    uint32_t size = (uint32_t)(out->size - at);
    if (!buffer_overflowed(out))
        memcpy(out->data + at, &size, sizeof size);
}

static void put(struct buffer *out, uint16_t type, const void *data, size_t size)
{
    static const char zeros[NLA_ALIGNTO];
    struct nlattr attribute = {(uint16_t)(NLA_HDRLEN + size), type};
    buffer_append(out, &attribute, sizeof attribute);
    buffer_append(out, data, size);
    buffer_append(out, zeros, NLA_ALIGN(size) - size);
}

static void put_text(struct buffer *out, uint16_t type, const char *text)
{
    put(out, type, text, strlen(text) + 1);
}

static void put_u32(struct buffer *out, uint16_t type, uint32_t value)
{
    uint32_t big = htonl(value);
    put(out, type, &big, sizeof big);
}

static size_t begin_nest(struct buffer *out, uint16_t type)
{
    size_t at = out->size;
    put(out, type | NLA_F_NESTED, "", 0);
    return at;
}

static void end_nest(struct buffer *out, size_t at)
{
    uint16_t size = (uint16_t)(out->size - at);
    if (!buffer_overflowed(out))
        memcpy(out->data + at, &size, sizeof size);
}

/* --- data --- */

static void put_value(struct buffer *out, uint16_t type, const void *data, size_t size)
{
    size_t nest = begin_nest(out, type);
    put(out, NFTA_DATA_VALUE, data, size);
    end_nest(out, nest);
}

/* chain NULL: a verdict that needs none. */
static void put_verdict(struct buffer *out, uint16_t type, int code, const char *chain)
{
    size_t nest = begin_nest(out, type);
    size_t verdict = begin_nest(out, NFTA_DATA_VERDICT);
    put_u32(out, NFTA_VERDICT_CODE, (uint32_t)code);
    if (chain)
        put_text(out, NFTA_VERDICT_CHAIN, chain);
    end_nest(out, verdict);
    end_nest(out, nest);
}

/* {"accept": null}, {"goto": …} or {"jump": …} */
static bool put_json_verdict(struct buffer *out, uint16_t type, json_t *json)
{
    const char *chain = NULL;
    if (json_is_null(json_object_get(json, "accept")))
        put_verdict(out, type, NF_ACCEPT, NULL);
    else if (json_unpack(json, "{s:{s:s}}", "goto", "target", &chain) == 0)
        put_verdict(out, type, NFT_GOTO, chain);
    else if (json_unpack(json, "{s:{s:s}}", "jump", "target", &chain) == 0)
        put_verdict(out, type, NFT_JUMP, chain);
    else
        return false;
    return true;
}

/* --- expressions: what they leave is in the first register --- */

struct expression {
    size_t element, data;
};

static struct expression begin_expression(struct buffer *out, const char *name)
{
    struct expression expression = {.element = begin_nest(out, NFTA_LIST_ELEM)};
    put_text(out, NFTA_EXPR_NAME, name);
    expression.data = begin_nest(out, NFTA_EXPR_DATA);
    return expression;
}

static void end_expression(struct buffer *out, struct expression expression)
{
    end_nest(out, expression.data);
    end_nest(out, expression.element);
}

static void compare(struct buffer *out, enum nft_cmp_ops op, const void *data, size_t size)
{
    struct expression cmp = begin_expression(out, "cmp");
    put_u32(out, NFTA_CMP_SREG, NFT_REG_1);
    put_u32(out, NFTA_CMP_OP, op);
    put_value(out, NFTA_CMP_DATA, data, size);
    end_expression(out, cmp);
}

static void load_payload(struct buffer *out, enum nft_payload_bases base, uint32_t at,
                         uint32_t size)
{
    struct expression payload = begin_expression(out, "payload");
    put_u32(out, NFTA_PAYLOAD_DREG, NFT_REG_1);
    put_u32(out, NFTA_PAYLOAD_BASE, base);
    put_u32(out, NFTA_PAYLOAD_OFFSET, at);
    put_u32(out, NFTA_PAYLOAD_LEN, size);
    end_expression(out, payload);
}

static void ct_mark(struct buffer *out, uint16_t reg)
{
    struct expression ct = begin_expression(out, "ct");
    put_u32(out, NFTA_CT_KEY, NFT_CT_MARK);
    put_u32(out, reg, NFT_REG_1);
    end_expression(out, ct);
}

static void mask(struct buffer *out, uint32_t bits)
{
    uint32_t none = 0;
    struct expression bitwise = begin_expression(out, "bitwise");
    put_u32(out, NFTA_BITWISE_SREG, NFT_REG_1);
    put_u32(out, NFTA_BITWISE_DREG, NFT_REG_1);
    put_u32(out, NFTA_BITWISE_LEN, MARK_SIZE);
    put_value(out, NFTA_BITWISE_MASK, &bits, sizeof bits);
    put_value(out, NFTA_BITWISE_XOR, &none, sizeof none);
    end_expression(out, bitwise);
}

static void immediate(struct buffer *out, uint32_t value)
{
    struct expression load = begin_expression(out, "immediate");
    put_u32(out, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    put_value(out, NFTA_IMMEDIATE_DATA, &value, sizeof value);
    end_expression(out, load);
}

static void ipv4_alone(struct buffer *out)
{
    uint8_t ipv4 = NFPROTO_IPV4;
    struct expression meta = begin_expression(out, "meta");
    put_u32(out, NFTA_META_KEY, NFT_META_NFPROTO);
    put_u32(out, NFTA_META_DREG, NFT_REG_1);
    end_expression(out, meta);
    compare(out, NFT_CMP_EQ, &ipv4, sizeof ipv4);
}

/* --- what rules.c writes --- */

static bool match_mark(struct buffer *out, json_t *match)
{
    const char *op, *key;
    json_int_t bits, value;
    if (json_unpack(match, "{s:s, s:{s:[{s:{s:s}}, I]}, s:I}", "op", &op, "left", "&", "ct", "key",
                    &key, &bits, "right", &value) < 0 ||
        !str_equal(op, "!=") || !str_equal(key, "mark"))
        return false;
    uint32_t mark = (uint32_t)value;
    ct_mark(out, NFTA_CT_DREG);
    mask(out, (uint32_t)bits);
    compare(out, NFT_CMP_NEQ, &mark, sizeof mark);
    return true;
}

static bool match_address(struct buffer *out, json_t *right)
{
    struct in_addr first, last;
    const char *from = json_string_value(right), *to = from;
    if (!from && json_unpack(right, "{s:[s, s]}", "range", &from, &to) < 0)
        return false;
    if (inet_pton(AF_INET, from, &first) != 1 || inet_pton(AF_INET, to, &last) != 1)
        return false;
    ipv4_alone(out);
    load_payload(out, NFT_PAYLOAD_NETWORK_HEADER, IP_DADDR_AT, sizeof first);
    if (from == to) {
        compare(out, NFT_CMP_EQ, &first, sizeof first);
        return true;
    }
    compare(out, NFT_CMP_GTE, &first, sizeof first);
    compare(out, NFT_CMP_LTE, &last, sizeof last);
    return true;
}

static bool match_port(struct buffer *out, const json_t *right)
{
    uint16_t port = htons((uint16_t)json_integer_value(right));
    if (!json_is_integer(right))
        return false;
    load_payload(out, NFT_PAYLOAD_TRANSPORT_HEADER, TH_DPORT_AT, sizeof port);
    compare(out, NFT_CMP_EQ, &port, sizeof port);
    return true;
}

static bool write_match(struct buffer *out, json_t *match)
{
    const char *op, *protocol, *field;
    json_t *right;
    if (json_unpack(match, "{s:s, s:{s:{s:s, s:s}}, s:o}", "op", &op, "left", "payload", "protocol",
                    &protocol, "field", &field, "right", &right) < 0)
        return match_mark(out, match);
    if (!str_equal(op, "=="))
        return false;
    if (str_equal(protocol, "ip") && str_equal(field, "daddr"))
        return match_address(out, right);
    return str_equal(protocol, "th") && str_equal(field, "dport") && match_port(out, right);
}

static bool write_mangle(struct buffer *out, json_t *mangle)
{
    const char *key;
    json_int_t value;
    if (json_unpack(mangle, "{s:{s:{s:s}}, s:I}", "key", "ct", "key", &key, "value", &value) < 0 ||
        !str_equal(key, "mark"))
        return false;
    immediate(out, (uint32_t)value);
    ct_mark(out, NFTA_CT_SREG);
    return true;
}

static bool write_expression(struct buffer *out, json_t *json)
{
    json_t *match = json_object_get(json, "match"), *mangle = json_object_get(json, "mangle");
    if (match)
        return write_match(out, match);
    if (mangle)
        return write_mangle(out, mangle);
    struct expression verdict = begin_expression(out, "immediate");
    put_u32(out, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    bool known = put_json_verdict(out, NFTA_IMMEDIATE_DATA, json);
    end_expression(out, verdict);
    return known;
}

/* --- elements --- */

/* Each part of a key begins at a multiple of four bytes. Returns its size, 0 for one that is not
 * known. */
static size_t write_part(uint8_t *at, const json_t *part)
{
    const char *text = json_string_value(part);
    struct ether_addr link;
    if (json_is_integer(part)) {
        uint16_t port = htons((uint16_t)json_integer_value(part));
        memcpy(at, &port, sizeof port);
        return sizeof port;
    }
    if (!text)
        return 0;
    if (inet_pton(AF_INET, text, at) == 1)
        return sizeof(struct in_addr);
    if (!ether_aton_r(text, &link))
        return 0;
    memcpy(at, &link, sizeof link);
    return sizeof link;
}

static size_t write_key(uint8_t key[KEY_MAX], json_t *json)
{
    json_t *parts = json_object_get(json, "concat"), *part;
    size_t size = 0, index;
    memset(key, 0, KEY_MAX);
    if (!parts)
        return write_part(key, json);
    json_array_foreach (parts, index, part) {
        size_t got = size + PART_MAX <= KEY_MAX ? write_part(key + size, part) : 0;
        if (!got)
            return 0;
        size += NLA_ALIGN(got);
    }
    return size;
}

/* A key alone, with its time, or with a verdict: [key, verdict]. */
static bool write_element(struct buffer *out, json_t *json, bool deletes)
{
    uint8_t key[KEY_MAX];
    json_t *timed = json_object_get(json, "elem"), *verdict = json_array_get(json, 1);
    json_t *name = timed                 ? json_object_get(timed, "val")
                   : json_is_array(json) ? json_array_get(json, 0)
                                         : json;
    size_t size = write_key(key, name);
    size_t element = begin_nest(out, NFTA_LIST_ELEM);
    put_value(out, NFTA_SET_ELEM_KEY, key, size);
    if (timed && !deletes) {
        json_int_t timeout_s = json_integer_value(json_object_get(timed, "timeout"));
        uint64_t timeout_ms = htobe64((uint64_t)timeout_s * MS_PER_S);
        put(out, NFTA_SET_ELEM_TIMEOUT, &timeout_ms, sizeof timeout_ms);
    }
    bool known =
        size && (!verdict || deletes || put_json_verdict(out, NFTA_SET_ELEM_DATA, verdict));
    end_nest(out, element);
    return known;
}

/* --- commands --- */

struct command {
    json_t *members;
    const char *table;
    uint32_t sequence;
    unsigned acknowledge; /* NLM_F_ACK, or 0 */
};

static bool write_elements(struct buffer *out, const struct command *command, bool deletes)
{
    const char *set = json_string_value(json_object_get(command->members, "name"));
    json_t *elements = json_object_get(command->members, "elem");
    size_t count = json_array_size(elements);
    bool known = set && count;
    for (size_t from = 0; known && from < count; from += ELEMENTS_MAX) {
        size_t to = count - from > ELEMENTS_MAX ? from + ELEMENTS_MAX : count;
        size_t message = begin_message(
            out, NFNL_SUBSYS_NFTABLES, deletes ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
            (deletes ? 0 : NLM_F_CREATE) | (to == count ? command->acknowledge : 0),
            command->sequence);
        put_text(out, NFTA_SET_ELEM_LIST_TABLE, command->table);
        put_text(out, NFTA_SET_ELEM_LIST_SET, set);
        size_t nest = begin_nest(out, NFTA_SET_ELEM_LIST_ELEMENTS);
        for (size_t i = from; known && i < to; i++)
            known = write_element(out, json_array_get(elements, i), deletes);
        end_nest(out, nest);
        end_message(out, message);
    }
    return known;
}

static bool write_chain(struct buffer *out, const struct command *command, unsigned type,
                        unsigned flags)
{
    const char *name = json_string_value(json_object_get(command->members, "name"));
    bool is_rules = type == NFT_MSG_DELRULE;
    if (!name || json_object_get(command->members, "hook"))
        return false;
    size_t message = begin_message(out, NFNL_SUBSYS_NFTABLES, type, flags | command->acknowledge,
                                   command->sequence);
    put_text(out, NFTA_CHAIN_TABLE, command->table); /* a rule's has the same number */
    put_text(out, is_rules ? NFTA_RULE_CHAIN : NFTA_CHAIN_NAME, name);
    end_message(out, message);
    return true;
}

static bool write_rule(struct buffer *out, const struct command *command)
{
    const char *chain = json_string_value(json_object_get(command->members, "chain"));
    json_t *expression;
    size_t index;
    bool known = chain;
    if (!known)
        return false;
    size_t message =
        begin_message(out, NFNL_SUBSYS_NFTABLES, NFT_MSG_NEWRULE,
                      NLM_F_CREATE | NLM_F_APPEND | command->acknowledge, command->sequence);
    put_text(out, NFTA_RULE_TABLE, command->table);
    put_text(out, NFTA_RULE_CHAIN, chain);
    size_t nest = begin_nest(out, NFTA_RULE_EXPRESSIONS);
    json_array_foreach (json_object_get(command->members, "expr"), index, expression)
        known = known && write_expression(out, expression);
    end_nest(out, nest);
    end_message(out, message);
    return known;
}

static bool write_command(struct buffer *out, json_t *json, struct command *command)
{
    const char *verb = json_object_iter_key(json_object_iter(json));
    json_t *object = verb ? json_object_get(json, verb) : NULL;
    const char *kind = object ? json_object_iter_key(json_object_iter(object)) : NULL;
    command->members = kind ? json_object_get(object, kind) : NULL;
    command->table = json_string_value(json_object_get(command->members, "table"));
    if (!command->table ||
        !str_equal(json_string_value(json_object_get(command->members, "family")), "inet"))
        return false;
    bool adds = str_equal(verb, "add"), deletes = str_equal(verb, "delete");
    if (str_equal(kind, "element"))
        return (adds || deletes) && write_elements(out, command, deletes);
    if (str_equal(kind, "rule"))
        return adds && write_rule(out, command);
    if (!str_equal(kind, "chain"))
        return false;
    if (adds)
        return write_chain(out, command, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    if (deletes)
        return write_chain(out, command, NFT_MSG_DELCHAIN, 0);
    return str_equal(verb, "flush") && write_chain(out, command, NFT_MSG_DELRULE, 0);
}

bool nft_batch_write(struct buffer *batch, json_t *commands)
{
    json_t *json;
    size_t index, count = json_array_size(commands);
    size_t message = begin_message(batch, NFNL_SUBSYS_NONE, NFNL_MSG_BATCH_BEGIN, 0, 0);
    end_message(batch, message);
    json_array_foreach (commands, index, json) {
        struct command command = {.sequence = (uint32_t)index + 1,
                                  .acknowledge = index + 1 == count ? NLM_F_ACK : 0};
        if (!write_command(batch, json, &command))
            return false;
    }
    message = begin_message(batch, NFNL_SUBSYS_NONE, NFNL_MSG_BATCH_END, 0, (uint32_t)count + 1);
    end_message(batch, message);
    return count && !buffer_overflowed(batch);
}

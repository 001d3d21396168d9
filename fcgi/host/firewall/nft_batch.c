/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/nft_batch.h"

#include <arpa/inet.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>
#include <net/ethernet.h>
#include <netinet/ether.h>
#include <string.h>

#include "base/panic.h"
#include "base/str.h"

#define KEY_MAX      64  /* bytes of an element's key */
#define PART_MAX     8   /* bytes of a part of a key */
#define NAME_SIZE    64  /* of a chain or a set, with the NUL */
#define ELEMENTS_MAX 256 /* in a message: attributes end at 64 KiB */
#define PARTS_MAX    8   /* in a rule */
#define MARK_SIZE    4
#define IP_DADDR_AT  16 /* in the network header */
#define TH_DPORT_AT  2  /* in the transport header */
#define MS_PER_S     1000u

/* libnftnl checks no bounds while it writes. OBJECT_ROOM is more bytes than a message of one object
 * takes. ELEMENT_ROOM is the most that an element of a set adds (a key, a verdict with its chain, a
 * time, their headers). */
#define OBJECT_ROOM  4096
#define ELEMENT_ROOM 192

struct command {
    json_t *members;
    const char *table;
    uint32_t sequence;
    unsigned acknowledge; /* NLM_F_ACK, or 0 */
};

/* Stop when memory runs out: libnftnl reports no other errors. */
static void *must(void *made)
{
    if (!made)
        panic("libnftnl is out of memory");
    return made;
}

/* Return a name. NULL: not a string, or longer than the names in the rules. */
static const char *name_of(const json_t *json)
{
    const char *name = json_string_value(json);
    return name && strlen(name) < NAME_SIZE ? name : NULL;
}

/* --- messages --- */

/* Start a message. NULL: the batch is full. */
static struct nlmsghdr *begin_message(struct buffer *out, const struct command *command,
                                      unsigned type, unsigned flags, size_t elements)
{
    char *at = buffer_reserve(out, OBJECT_ROOM + elements * ELEMENT_ROOM);
    return at ? nftnl_nlmsg_build_hdr(at, (uint16_t)type, NFPROTO_INET, (uint16_t)flags,
                                      command->sequence)
              : NULL;
}

static void end_message(struct buffer *out, const struct nlmsghdr *message)
{
    buffer_commit(out, message->nlmsg_len);
}

/* --- expressions: each leaves its result in the first register --- */

static struct nftnl_expr *append(struct nftnl_rule *rule, const char *name)
{
    struct nftnl_expr *expression = must(nftnl_expr_alloc(name));
    nftnl_rule_add_expr(rule, expression);
    return expression;
}

static void compare(struct nftnl_rule *rule, enum nft_cmp_ops op, const void *data, size_t size)
{
    struct nftnl_expr *cmp = append(rule, "cmp");
    nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_OP, op);
    nftnl_expr_set(cmp, NFTNL_EXPR_CMP_DATA, data, (uint32_t)size);
}

static void load_payload(struct nftnl_rule *rule, enum nft_payload_bases base, uint32_t at,
                         uint32_t size)
{
    struct nftnl_expr *payload = append(rule, "payload");
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_OFFSET, at);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_LEN, size);
}

/* Read or write the mark. reg: NFTNL_EXPR_CT_DREG to read, NFTNL_EXPR_CT_SREG to write. */
static void ct_mark(struct nftnl_rule *rule, uint16_t reg)
{
    struct nftnl_expr *ct = append(rule, "ct");
    nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_MARK);
    nftnl_expr_set_u32(ct, reg, NFT_REG_1);
}

static void mask(struct nftnl_rule *rule, uint32_t bits)
{
    uint32_t none = 0;
    struct nftnl_expr *bitwise = append(rule, "bitwise");
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_LEN, MARK_SIZE);
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_MASK, &bits, sizeof bits);
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_XOR, &none, sizeof none);
}

static void ipv4_alone(struct nftnl_rule *rule)
{
    uint8_t ipv4 = NFPROTO_IPV4;
    struct nftnl_expr *meta = append(rule, "meta");
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, NFT_META_NFPROTO);
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
    compare(rule, NFT_CMP_EQ, &ipv4, sizeof ipv4);
}

/* --- the expressions of rules.c --- */

struct verdict {
    uint32_t code;
    const char *chain; /* NULL: no chain */
};

/* Read {"accept": null}, {"goto": …} or {"jump": …}. */
static bool read_verdict(json_t *json, struct verdict *verdict)
{
    json_t *to = json_object_get(json, "goto"), *jump = json_object_get(json, "jump");
    if (json_is_null(json_object_get(json, "accept"))) {
        *verdict = (struct verdict){.code = NF_ACCEPT};
        return true;
    }
    *verdict = (struct verdict){.code = (uint32_t)(to ? NFT_GOTO : NFT_JUMP),
                                .chain = name_of(json_object_get(to ? to : jump, "target"))};
    return verdict->chain;
}

static bool match_mark(struct nftnl_rule *rule, json_t *match)
{
    const char *op, *key;
    json_int_t bits, value;
    if (json_unpack(match, "{s:s, s:{s:[{s:{s:s}}, I]}, s:I}", "op", &op, "left", "&", "ct", "key",
                    &key, &bits, "right", &value) < 0 ||
        !str_equal(op, "!=") || !str_equal(key, "mark"))
        return false;
    uint32_t mark = (uint32_t)value;
    ct_mark(rule, NFTNL_EXPR_CT_DREG);
    mask(rule, (uint32_t)bits);
    compare(rule, NFT_CMP_NEQ, &mark, sizeof mark);
    return true;
}

static bool match_address(struct nftnl_rule *rule, json_t *right)
{
    struct in_addr first, last;
    const char *from = json_string_value(right), *to = from;
    if (!from && json_unpack(right, "{s:[s, s]}", "range", &from, &to) < 0)
        return false;
    if (inet_pton(AF_INET, from, &first) != 1 || inet_pton(AF_INET, to, &last) != 1)
        return false;
    ipv4_alone(rule);
    load_payload(rule, NFT_PAYLOAD_NETWORK_HEADER, IP_DADDR_AT, sizeof first);
    if (from == to) {
        compare(rule, NFT_CMP_EQ, &first, sizeof first);
        return true;
    }
    compare(rule, NFT_CMP_GTE, &first, sizeof first);
    compare(rule, NFT_CMP_LTE, &last, sizeof last);
    return true;
}

static bool match_port(struct nftnl_rule *rule, const json_t *right)
{
    uint16_t port = htons((uint16_t)json_integer_value(right));
    if (!json_is_integer(right))
        return false;
    load_payload(rule, NFT_PAYLOAD_TRANSPORT_HEADER, TH_DPORT_AT, sizeof port);
    compare(rule, NFT_CMP_EQ, &port, sizeof port);
    return true;
}

static bool add_match(struct nftnl_rule *rule, json_t *match)
{
    const char *op, *protocol, *field;
    json_t *right;
    if (json_unpack(match, "{s:s, s:{s:{s:s, s:s}}, s:o}", "op", &op, "left", "payload", "protocol",
                    &protocol, "field", &field, "right", &right) < 0)
        return match_mark(rule, match);
    if (!str_equal(op, "=="))
        return false;
    if (str_equal(protocol, "ip") && str_equal(field, "daddr"))
        return match_address(rule, right);
    return str_equal(protocol, "th") && str_equal(field, "dport") && match_port(rule, right);
}

static bool add_mangle(struct nftnl_rule *rule, json_t *mangle)
{
    const char *key;
    json_int_t value;
    if (json_unpack(mangle, "{s:{s:{s:s}}, s:I}", "key", "ct", "key", &key, "value", &value) < 0 ||
        !str_equal(key, "mark"))
        return false;
    uint32_t mark = (uint32_t)value;
    struct nftnl_expr *load = append(rule, "immediate");
    nftnl_expr_set_u32(load, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
    nftnl_expr_set(load, NFTNL_EXPR_IMM_DATA, &mark, sizeof mark);
    ct_mark(rule, NFTNL_EXPR_CT_SREG);
    return true;
}

static bool add_verdict(struct nftnl_rule *rule, json_t *json)
{
    struct verdict verdict;
    if (!read_verdict(json, &verdict))
        return false;
    struct nftnl_expr *immediate = append(rule, "immediate");
    nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_VERDICT, verdict.code);
    if (verdict.chain)
        nftnl_expr_set_str(immediate, NFTNL_EXPR_IMM_CHAIN, verdict.chain);
    return true;
}

static bool add_expression(struct nftnl_rule *rule, json_t *json)
{
    json_t *match = json_object_get(json, "match"), *mangle = json_object_get(json, "mangle");
    if (match)
        return add_match(rule, match);
    return mangle ? add_mangle(rule, mangle) : add_verdict(rule, json);
}

/* --- elements --- */

/* Write a part of a key, which starts at a multiple of four bytes. Returns its size, or 0 when its
 * form is not known. */
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

static bool set_verdict(struct nftnl_set_elem *element, json_t *json)
{
    struct verdict verdict;
    if (!read_verdict(json, &verdict))
        return false;
    nftnl_set_elem_set_u32(element, NFTNL_SET_ELEM_VERDICT, verdict.code);
    if (verdict.chain)
        nftnl_set_elem_set_str(element, NFTNL_SET_ELEM_CHAIN, verdict.chain);
    return true;
}

/* Add an element: a key alone, a key with a time, or a key with a verdict, a mark or an address:
 * [key, data].
 */
static bool add_element(struct nftnl_set *set, json_t *json, bool deletes)
{
    uint8_t key[KEY_MAX];
    json_t *timed = json_object_get(json, "elem"), *data = json_array_get(json, 1);
    json_t *name = timed                 ? json_object_get(timed, "val")
                   : json_is_array(json) ? json_array_get(json, 0)
                                         : json;
    size_t size = write_key(key, name);
    if (!size)
        return false;
    struct nftnl_set_elem *element = must(nftnl_set_elem_alloc());
    nftnl_set_elem_add(set, element);
    nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key, (uint32_t)size);
    if (timed && !deletes) {
        json_int_t timeout_s = json_integer_value(json_object_get(timed, "timeout"));
        nftnl_set_elem_set_u64(element, NFTNL_SET_ELEM_TIMEOUT, (uint64_t)timeout_s * MS_PER_S);
    }
    if (json_is_integer(data) && !deletes) {
        uint32_t mark = (uint32_t)json_integer_value(data);
        nftnl_set_elem_set(element, NFTNL_SET_ELEM_DATA, &mark, sizeof mark);
        return true;
    }
    if (json_is_string(data) && !deletes) {
        size = write_key(key, data);
        nftnl_set_elem_set(element, NFTNL_SET_ELEM_DATA, key, (uint32_t)size);
        return size;
    }
    return !data || deletes || set_verdict(element, data);
}

/* --- commands --- */

/* Write the elements from `from` to before `to`. */
static bool write_some(struct buffer *out, const struct command *command, const char *name,
                       size_t from, size_t to, bool deletes)
{
    json_t *elements = json_object_get(command->members, "elem");
    bool is_last = to == json_array_size(elements), known = true;
    struct nlmsghdr *message = begin_message(
        out, command, deletes ? NFT_MSG_DELSETELEM : NFT_MSG_NEWSETELEM,
        (deletes ? 0 : NLM_F_CREATE) | (is_last ? command->acknowledge : 0), to - from);
    if (!message)
        return false;
    struct nftnl_set *set = must(nftnl_set_alloc());
    nftnl_set_set_str(set, NFTNL_SET_TABLE, command->table);
    nftnl_set_set_str(set, NFTNL_SET_NAME, name);
    for (size_t i = from; known && i < to; i++)
        known = add_element(set, json_array_get(elements, i), deletes);
    nftnl_set_elems_nlmsg_build_payload(message, set);
    nftnl_set_free(set);
    end_message(out, message);
    return known;
}

static bool write_elements(struct buffer *out, const struct command *command, bool deletes)
{
    const char *name = name_of(json_object_get(command->members, "name"));
    size_t count = json_array_size(json_object_get(command->members, "elem"));
    bool known = name && count;
    for (size_t from = 0; known && from < count; from += ELEMENTS_MAX) {
        size_t to = count - from > ELEMENTS_MAX ? from + ELEMENTS_MAX : count;
        known = write_some(out, command, name, from, to, deletes);
    }
    return known;
}

static bool write_chain(struct buffer *out, const struct command *command, unsigned type,
                        unsigned flags)
{
    const char *name = name_of(json_object_get(command->members, "name"));
    if (!name || json_object_get(command->members, "hook"))
        return false;
    struct nlmsghdr *message = begin_message(out, command, type, flags | command->acknowledge, 0);
    if (!message)
        return false;
    struct nftnl_chain *chain = must(nftnl_chain_alloc());
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, command->table);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, name);
    nftnl_chain_nlmsg_build_payload(message, chain);
    nftnl_chain_free(chain);
    end_message(out, message);
    return true;
}

static bool write_rule(struct buffer *out, const struct command *command, const char *chain,
                       unsigned type, unsigned flags)
{
    json_t *parts = json_object_get(command->members, "expr"), *part;
    size_t index;
    bool known = true;
    if (!chain || json_array_size(parts) > PARTS_MAX)
        return false;
    struct nlmsghdr *message = begin_message(out, command, type, flags | command->acknowledge, 0);
    if (!message)
        return false;
    struct nftnl_rule *rule = must(nftnl_rule_alloc());
    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, command->table);
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
    json_array_foreach (parts, index, part)
        known = known && add_expression(rule, part);
    nftnl_rule_nlmsg_build_payload(message, rule);
    nftnl_rule_free(rule);
    end_message(out, message);
    return known;
}

static bool write_object(struct buffer *out, const struct command *command, const char *verb,
                         const char *kind)
{
    bool adds = str_equal(verb, "add"), deletes = str_equal(verb, "delete");
    if (str_equal(kind, "element"))
        return (adds || deletes) && write_elements(out, command, deletes);
    if (str_equal(kind, "rule"))
        return adds && write_rule(out, command, name_of(json_object_get(command->members, "chain")),
                                  NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    if (!str_equal(kind, "chain"))
        return false;
    if (adds)
        return write_chain(out, command, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    if (deletes)
        return write_chain(out, command, NFT_MSG_DELCHAIN, 0);
    /* A flush of a chain is a deletion of rules without a handle. */
    return str_equal(verb, "flush") &&
           write_rule(out, command, name_of(json_object_get(command->members, "name")),
                      NFT_MSG_DELRULE, 0);
}

static bool write_command(struct buffer *out, json_t *json, struct command *command)
{
    const char *verb = json_object_iter_key(json_object_iter(json));
    json_t *object = verb ? json_object_get(json, verb) : NULL;
    const char *kind = object ? json_object_iter_key(json_object_iter(object)) : NULL;
    command->members = kind ? json_object_get(object, kind) : NULL;
    command->table = name_of(json_object_get(command->members, "table"));
    return command->table &&
           str_equal(json_string_value(json_object_get(command->members, "family")), "inet") &&
           write_object(out, command, verb, kind);
}

static bool write_border(struct buffer *batch,
                         struct nlmsghdr *(*border)(char *at, uint32_t sequence), uint32_t sequence)
{
    char *at = buffer_reserve(batch, OBJECT_ROOM);
    if (at)
        end_message(batch, border(at, sequence));
    return at;
}

bool nft_batch_write(struct buffer *batch, json_t *commands)
{
    json_t *json;
    size_t index, count = json_array_size(commands);
    if (!write_border(batch, nftnl_batch_begin, 0))
        return false;
    json_array_foreach (commands, index, json) {
        struct command command = {.sequence = (uint32_t)index + 1,
                                  .acknowledge = index + 1 == count ? NLM_F_ACK : 0};
        if (!write_command(batch, json, &command))
            return false;
    }
    return count && write_border(batch, nftnl_batch_end, (uint32_t)count + 1);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "audit/chain.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "audit/audit_row.h"
#include "audit/chain_row.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define BATCH 500

static void to_hex(const unsigned char hash[MAC_BYTES], char out[2 * MAC_BYTES + 1])
{
    sodium_bin2hex(out, 2 * MAC_BYTES + 1, hash, MAC_BYTES);
}

static void say_link(const struct chain_row *row, struct audit_link *link)
{
    link->seq = row->seq;
    link->at_ms = row->at_ms;
    to_hex(row->hash, link->hash);
}

/* Compute the hash of a link whose other members are set. before: the hash of the previous link. */
static int hash_link(const struct keyring *ring, const unsigned char before[MAC_BYTES],
                     const struct chain_row *link, unsigned char hash[MAC_BYTES],
                     struct error **err)
{
    char before_hex[2 * MAC_BYTES + 1], mac_hex_text[2 * MAC_BYTES + 1];
    buffer_auto text = BUFFER_INIT(512);
    to_hex(before, before_hex);
    to_hex(link->row_mac, mac_hex_text);
    buffer_printf(&text, "link %" PRIu64 " %s %s %s %" PRId64 " %s", link->seq, before_hex,
                  link->audit_id, link->team_id, link->at_ms, mac_hex_text);
    return mac_compute(ring, link->key_id, KEY_PURPOSE_AUDIT, text.data, text.size, hash, err);
}

/* --- extending --- */

struct extend {
    const struct keyring *ring;
    struct chain_row last;
    unsigned count;
};

/* Return the time from which to search. Rows do not commit in the order of their times, so the
 * search starts before the newest bound row. A row with a future time must not hide the others. */
static int64_t search_from(const struct chain_row *last)
{
    int64_t now_ms = clock_now_ms();
    int64_t from_ms = (last->at_ms < now_ms ? last->at_ms : now_ms) - AUDIT_CHAIN_LATE_MS;
    return last->seq && from_ms > 0 ? from_ms : 0;
}

static int append(struct db *db, struct extend *extend, struct chain_row *row, struct error **err)
{
    row->seq = extend->last.seq + 1;
    row->key_id = keyring_newest(extend->ring);
    if (hash_link(extend->ring, extend->last.hash, row, row->hash, err) < 0 ||
        chain_row_insert(db, row, err) < 0)
        return -1;
    extend->last = *row;
    return 0;
}

static int extend_body(struct db *db, void *context, struct error **err)
{
    struct extend *extend = context;
    autofree struct chain_row *rows = NULL;
    char from[ID_SIZE];
    if (chain_row_last(db, &extend->last, err) < 0 ||
        chain_row_waiting(db, id_floor("aud_", search_from(&extend->last), from), BATCH, &rows,
                          &extend->count, err) < 0)
        return -1;
    for (unsigned i = 0; i < extend->count; i++)
        if (append(db, extend, &rows[i], err) < 0)
            return -1;
    return 0;
}

int audit_chain_extend(struct db *db, const struct keyring *ring, struct audit_link *last,
                       bool *more, struct error **err)
{
    struct extend extend = {.ring = ring};
    error_auto failure = NULL;
    *more = false;
    if (db_transaction(db, extend_body, &extend, &failure) < 0)
        return failure->code == ERR_DB_DUPLICATE ? 0 : error_move(err, &failure);
    *more = extend.count == BATCH;
    say_link(&extend.last, last);
    return 0;
}

/* --- verifying --- */

struct verify {
    struct db *db;
    const struct keyring *ring;
    uint64_t anchor_seq;
    const char *anchor_hash;
    struct audit_check *check;
    struct chain_row before; /* seq 0: at the start of the chain */
    bool has_begun;
    char pruned_team[ID_SIZE]; /* the team of pruned_before_ms */
    int64_t pruned_before_ms;
    bool knows_pruned;
};

static void complain(struct verify *verify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void complain(struct verify *verify, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(verify->check->problem, sizeof verify->check->problem, format, ap);
    va_end(ap);
}

/* Check that a row audit.trim accounts for the links before the first one that is left. */
static int check_begin(struct verify *verify, const struct chain_row *link, struct error **err)
{
    char resource[64];
    bool is_trimmed;
    verify->has_begun = true;
    if (link->seq == 1)
        return 0;
    snprintf(resource, sizeof resource, "link %" PRIu64, link->seq);
    if (chain_row_is_trimmed(verify->db, resource, &is_trimmed, err) < 0)
        return -1;
    if (!is_trimmed)
        complain(verify,
                 "the links before %" PRIu64
                 " were removed, and the log does not record that retention removed them",
                 link->seq);
    return 0;
}

static int check_link(struct verify *verify, const struct chain_row *link, struct error **err)
{
    unsigned char hash[MAC_BYTES];
    bool is_first = !verify->has_begun;
    if (is_first && check_begin(verify, link, err) < 0)
        return -1;
    if (*verify->check->problem)
        return 0;
    /* The hash before a trimmed chain is not known any more, so its first link cannot be
     * checked. */
    if (is_first && link->seq > 1)
        return 0;
    if (link->seq != verify->before.seq + 1) {
        complain(verify, "link %" PRIu64 " was removed; the next link is that of row %s",
                 verify->before.seq + 1, link->audit_id);
        return 0;
    }
    if (hash_link(verify->ring, verify->before.hash, link, hash, err) < 0)
        return -1;
    if (!mac_equal(hash, link->hash))
        complain(verify, "link %" PRIu64 ", of row %s, was changed or inserted later", link->seq,
                 link->audit_id);
    return 0;
}

/* Count a missing row as pruned, or report its removal. */
static int check_gone(struct verify *verify, const struct chain_row *link, struct error **err)
{
    if ((!verify->knows_pruned || strcmp(verify->pruned_team, link->team_id)) &&
        chain_row_pruned_before(verify->db, link->team_id, &verify->pruned_before_ms, err) < 0)
        return -1;
    verify->knows_pruned = true;
    memcpy(verify->pruned_team, link->team_id, ID_SIZE);
    if (link->at_ms < verify->pruned_before_ms)
        verify->check->pruned++;
    else
        complain(verify, "row %s was removed (link %" PRIu64 ")", link->audit_id, link->seq);
    return 0;
}

static int check_row(struct verify *verify, const struct chain_look *look, struct error **err)
{
    unsigned char mac[MAC_BYTES];
    if (!look->has_row)
        return check_gone(verify, &look->link, err);
    if (audit_mac(verify->ring, look->mac_key_id, &look->entry, mac, err) < 0)
        return -1;
    verify->check->rows++;
    if (!mac_equal(mac, look->mac) || !mac_equal(mac, look->link.row_mac))
        complain(verify, "row %s was changed (link %" PRIu64 ")", look->link.audit_id,
                 look->link.seq);
    return 0;
}

static void check_anchor(struct verify *verify, const struct chain_row *link)
{
    char hex[2 * MAC_BYTES + 1];
    to_hex(link->hash, hex);
    if (link->seq == verify->anchor_seq && !str_equal(hex, verify->anchor_hash))
        complain(verify, "link %" PRIu64 " differs from the logged anchor: the chain was replaced",
                 link->seq);
}

static int check_look(struct verify *verify, const struct chain_look *look, struct error **err)
{
    struct audit_check *check = verify->check;
    if (check_link(verify, &look->link, err) < 0)
        return -1;
    if (!*check->problem && check_row(verify, look, err) < 0)
        return -1;
    if (!*check->problem)
        check_anchor(verify, &look->link);
    check->links++;
    verify->before = look->link;
    return 0;
}

static int check_links(struct verify *verify, struct error **err)
{
    unsigned count;
    do {
        autofree struct chain_look *looks = NULL;
        if (chain_row_page(verify->db, verify->before.seq, BATCH, &looks, &count, err) < 0)
            return -1;
        for (unsigned i = 0; i < count && !*verify->check->problem; i++)
            if (check_look(verify, &looks[i], err) < 0)
                return -1;
    } while (count == BATCH && !*verify->check->problem);
    return 0;
}

/* Check rows without a link: a row that is not young was inserted behind the chain's back. */
static int check_waiting(struct verify *verify, struct error **err)
{
    autofree struct chain_row *rows = NULL;
    unsigned count;
    int64_t late_ms = clock_now_ms() - AUDIT_CHAIN_LATE_MS;
    if (chain_row_waiting(verify->db, "", 1, &rows, &count, err) < 0)
        return -1;
    if (count && rows[0].at_ms < late_ms)
        complain(verify,
                 "row %s has no link: the row was inserted later, the link was removed, or no "
                 "dispatcher runs",
                 rows[0].audit_id);
    return chain_row_count_waiting(verify->db, &verify->check->waiting, err);
}

int audit_chain_verify(struct db *db, const struct keyring *ring, uint64_t anchor_seq,
                       const char *anchor_hash, struct audit_check *check, struct error **err)
{
    struct verify verify = {
        .db = db,
        .ring = ring,
        .anchor_seq = anchor_seq,
        .anchor_hash = anchor_hash,
        .check = check,
    };
    *check = (struct audit_check){0};
    if (check_links(&verify, err) < 0)
        return -1;
    say_link(&verify.before, &check->last);
    if (!*check->problem && check->last.seq < anchor_seq)
        complain(&verify,
                 "the chain ends at link %" PRIu64
                 ", before the anchor: the end of the chain was removed",
                 check->last.seq);
    return *check->problem ? 0 : check_waiting(&verify, err);
}

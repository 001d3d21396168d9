/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit log, its chain, and its retention. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/output.h"

#define PAGE          500
#define LIMIT_DEFAULT 50

static int read_time(const struct ctl_arguments *arguments, const char *name, int64_t *at_ms,
                     struct error **err)
{
    const char *text = ctl_text(arguments, name);
    uint64_t seconds;
    if (!text || clock_parse_iso8601(text, at_ms) == 0)
        return 0;
    if (duration_parse(text, &seconds) < 0)
        return error_set(err, ERR_INVALID_REQUEST,
                         "--%s must be a time such as 2027-01-01T00:00:00Z, or a span before now "
                         "such as 90d or 1h30m.",
                         name);
    *at_ms = clock_now_ms() - (int64_t)seconds * 1000;
    return 0;
}

static int read_filter(struct ctl *ctl, const struct ctl_arguments *arguments,
                       struct audit_filter *filter, struct team *team, struct error **err)
{
    const char *slug = ctl_text(arguments, "team");
    *filter = (struct audit_filter){
        .action = ctl_text(arguments, "action"),
        .resource = ctl_text(arguments, "resource"),
        .actor = ctl_text(arguments, "actor"),
    };
    if (filter->action && !audit_action_is_known(filter->action))
        return error_set(err, ERR_INVALID_REQUEST, "There is no action %s.", filter->action);
    if (slug && team_get_by_slug(ctl->db, slug, team, err) < 0)
        return -1;
    filter->team_id = slug ? team->id : NULL;
    return read_time(arguments, "since", &filter->since_ms, err) < 0
               ? -1
               : read_time(arguments, "until", &filter->until_ms, err);
}

static json_t *entry_json(const struct audit_entry *entry)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
                     "id", entry->id, "at", time_to_json(entry->at_ms), "team_id", entry->team_id,
                     "action", entry->action, "resource", entry->resource, "resource_name",
                     entry->resource_name, "actor_kind", audit_actor_name(entry->actor), "actor",
                     entry->actor_id, "user_id", entry->user_id, "user", entry->user_name,
                     "address", entry->address, "request_id", entry->request_id, "result",
                     audit_result_name(entry->result), "error", entry->error, "begun_id",
                     entry->begun_id);
}

static void print_line(json_t *row)
{
    json_auto_t *owned = row;
    ctl_dump_json(owned, JSON_COMPACT);
}

/* JSON lines as they come, however many there are; rows for the table are kept. */
static int list(struct ctl *ctl, const struct audit_filter *filter, uint64_t limit, json_t *rows,
                struct error **err)
{
    char before[ID_SIZE] = "";
    unsigned count, wanted;
    do {
        autofree struct audit_entry *entries = NULL;
        wanted = limit < PAGE ? (unsigned)limit : PAGE;
        if (audit_list(ctl->db, filter, *before ? before : NULL, wanted, &entries, &count, NULL,
                       err) < 0)
            return -1;
        for (unsigned i = 0; i < count; i++)
            if (ctl->json)
                print_line(entry_json(&entries[i]));
            else
                json_array_append_new(rows, entry_json(&entries[i]));
        if (count)
            memcpy(before, entries[count - 1].id, ID_SIZE);
        limit -= count;
    } while (count == wanted && limit);
    return 0;
}

int ctl_audit(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"TIME", "at"},           {"ACTION", "action"}, {"NAME", "resource_name"},
        {"RESOURCE", "resource"}, {"RESULT", "result"}, {"BY", "actor_kind"},
        {"WHO", "actor"},         {"USER", "user"},     {"FROM", "address"},
    };
    struct audit_filter filter;
    struct team team;
    json_auto_t *rows = json_array();
    uint64_t limit = ctl_number(arguments, "limit", ctl->json ? UINT64_MAX : LIMIT_DEFAULT);
    if (read_filter(ctl, arguments, &filter, &team, err) < 0 ||
        list(ctl, &filter, limit, rows, err) < 0)
        return -1;
    if (!ctl->json)
        ctl_print_table(rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int ctl_audit_prune(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    uint64_t removed;
    bool more;
    (void)arguments;
    if (audit_retain(ctl->db, ctl->ring, 0, &removed, &more, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:I}", "removed", (json_int_t)removed), "%" PRIu64 " rows removed.",
              removed);
    return 0;
}

/* "4711:<64 hexadecimal digits>", as the dispatcher logs it. */
static int read_anchor(const char *text, uint64_t *seq, const char **hash, struct error **err)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    autofree char *number = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;
    *seq = 0;
    *hash = colon ? colon + 1 : NULL;
    if (!text || (colon && str_parse_u64(number, 1, INT64_MAX, seq) == 0 &&
                  strspn(*hash, "0123456789abcdef") == 64 && strlen(*hash) == 64))
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "--anchor must be the number of a link, a colon and its hash.");
}

int ctl_audit_verify(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct audit_check check;
    uint64_t anchor_seq;
    const char *anchor_hash;
    if (read_anchor(ctl_text(arguments, "anchor"), &anchor_seq, &anchor_hash, err) < 0 ||
        audit_chain_verify(ctl->db, ctl->ring, anchor_seq, anchor_hash, &check, err) < 0)
        return -1;
    bool is_well = !*check.problem;
    ctl->exit_status = is_well ? EXIT_SUCCESS : EXIT_FAILURE;
    json_t *object =
        json_pack("{s:b, s:s, s:I, s:I, s:I, s:I, s:I, s:s}", "ok", (int)is_well, "problem",
                  check.problem, "links", (json_int_t)check.links, "rows", (json_int_t)check.rows,
                  "pruned", (json_int_t)check.pruned, "waiting", (json_int_t)check.waiting, "link",
                  (json_int_t)check.last.seq, "hash", check.last.hash);
    if (is_well)
        ctl_print(ctl, object,
                  "%" PRIu64 " rows are unchanged; the chain ends at %" PRIu64 ":%s, and "
                  "%" PRIu64 " rows are not in the chain yet.",
                  check.rows, check.last.seq, check.last.hash, check.waiting);
    else
        ctl_print(ctl, object, "The audit log was tampered with: %s.", check.problem);
    return 0;
}

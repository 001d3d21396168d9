/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build log of a version, in parts: an addition writes the last part, and not the whole log. */
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "template/template_row.h"

#define OUTPUT_LIMIT 262144 /* bytes of the log; output of steps is added below this size */
#define OUTPUT_MAX   12288  /* bytes of output at once, with the times of its lines */
#define LOG_KEPT     8192   /* for lines that are not output of steps */
#define LOG_MAX      (OUTPUT_LIMIT + OUTPUT_MAX + LOG_KEPT)
#define LINE_SHOWN   2000 /* bytes of a line */
#define PART_FULL    4096 /* bytes; a smaller part gets the next addition too */
#define PARTS_MAX    (LOG_MAX / PART_FULL + 2)

/* The lock keeps the order of additions at the same time. */
DB_STATEMENT(lock_statement) = {"template.log_lock",
                                "SELECT id FROM template_versions WHERE id = ? FOR UPDATE"};
DB_STATEMENT(last_statement) = {
    "template.log_last",
    "SELECT at_byte, LENGTH(text) FROM template_logs WHERE template_version_id = ?"
    " ORDER BY at_byte DESC LIMIT 1"};
DB_STATEMENT(insert_statement) = {
    "template.log_part",
    "INSERT INTO template_logs (template_version_id, at_byte, text) VALUES (?, ?, ?)"};
DB_STATEMENT(append_statement) = {"template.log_append",
                                  "UPDATE template_logs SET text = CONCAT(text, ?)"
                                  " WHERE template_version_id = ? AND at_byte = ?"};
DB_STATEMENT(read_statement) = {
    "template.log_of",
    "SELECT text FROM template_logs WHERE template_version_id = ? ORDER BY at_byte LIMIT ?"};
DB_STATEMENT(delete_statement) = {"template.log_delete",
                                  "DELETE FROM template_logs WHERE template_version_id = ?"};

struct addition {
    const char *id, *text;
    const char *full; /* added too when no further text fits; may be NULL */
    size_t limit;     /* bytes; a log of this size gets no addition */
    bool is_over;     /* returned: the log got no addition */
};

static int write_part(struct db *db, const struct addition *addition, uint64_t at, uint64_t size,
                      struct error **err)
{
    struct db_value id = db_text(addition->id);
    size_t length = strlen(addition->text);
    bool is_full = addition->full && at + size + length >= addition->limit;
    autofree char *text = xasprintf("%s%s", addition->text, is_full ? addition->full : "");
    if (size && size < PART_FULL)
        return db_exec(db, &append_statement, DB_ARGS(db_text(text), id, db_u64(at)), NULL, err);
    return db_exec(db, &insert_statement, DB_ARGS(id, db_u64(at + size), db_text(text)), NULL, err);
}

static int add_body(struct db *db, void *context, struct error **err)
{
    struct addition *addition = context;
    db_rows_auto *rows = NULL;
    uint64_t at = 0, size = 0;
    bool there;
    if (db_query_finds(db, &lock_statement, DB_ARGS(db_text(addition->id)), &there, err) < 0 ||
        db_query(db, &last_statement, DB_ARGS(db_text(addition->id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows)) {
        at = db_get_u64(rows, 0);
        size = db_get_u64(rows, 1);
    }
    addition->is_over = !there || at + size >= addition->limit;
    return addition->is_over ? 0 : write_part(db, addition, at, size, err);
}

static int add(struct db *db, struct addition *addition, struct error **err)
{
    return db_in_transaction(db) ? add_body(db, addition, err)
                                 : db_transaction(db, add_body, addition, err);
}

int template_row_log(struct db *db, const char *id, const char *line, struct error **err)
{
    char time[CLOCK_ISO8601_SIZE];
    autofree char *said = str_mend(line, LINE_SHOWN);
    autofree char *text = xasprintf("%s %s\n", clock_format_iso8601(clock_now_ms(), time), said);
    struct addition addition = {id, text, NULL, LOG_MAX, false};
    return add(db, &addition, err);
}

/* Append lines of *text to the buffer as long as it has room, and move *text behind them. */
static void take_lines(const char **text, const char *time, struct buffer *lines)
{
    for (const char *at = *text; *at; *text = at) {
        size_t length = strcspn(at, "\n");
        autofree char *shown = str_mend(at, length < LINE_SHOWN ? length : LINE_SHOWN);
        if (buffer_printf(lines, "%s | %s\n", time, shown) < 0)
            return;
        at += length + (at[length] == '\n');
    }
}

/* The times of short lines are longer than the lines, so the text may be several additions. */
int template_row_log_output(struct db *db, const char *id, const char *text, struct error **err)
{
    char time[CLOCK_ISO8601_SIZE];
    clock_format_iso8601(clock_now_ms(), time);
    autofree char *full =
        xasprintf("%s the log is full; further output of steps is not kept\n", time);
    for (bool is_over = false; *text && !is_over;) {
        buffer_auto lines = BUFFER_INIT(OUTPUT_MAX);
        take_lines(&text, time, &lines);
        struct addition addition = {id, buffer_string(&lines), full, OUTPUT_LIMIT, false};
        if (add(db, &addition, err) < 0)
            return -1;
        is_over = addition.is_over;
    }
    return 0;
}

int template_version_log(struct db *db, const char *id, char **log, struct error **err)
{
    db_rows_auto *rows = NULL;
    buffer_auto whole = BUFFER_INIT(2 * LOG_MAX);
    if (db_query(db, &read_statement, DB_ARGS(db_text(id), db_u64(PARTS_MAX)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        buffer_append_string(&whole, db_get_text(rows, 0));
    *log = buffer_steal(&whole);
    return 0;
}

int template_row_log_delete(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &delete_statement, DB_ARGS(db_text(id)), NULL, err);
}

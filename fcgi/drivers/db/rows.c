/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result rows in memory: one table of cells, one arena of bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "db/connection.h"

#define RESULT_MAX_BYTES (64u << 20)
#define RESULT_MAX_ROWS  1000000u

enum column_kind { COLUMN_SIGNED, COLUMN_UNSIGNED, COLUMN_DECIMAL, COLUMN_BYTES };

struct cell {
    bool is_null;
    union {
        uint64_t number; /* COLUMN_SIGNED: its two's complement */
        struct {
            size_t offset, size; /* in bytes; a NUL stands behind */
        };
    };
};

struct db_rows {
    const struct db_statement *statement;
    unsigned columns;
    enum column_kind *kinds;
    struct cell *cells; /* row by row */
    size_t count, capacity;
    size_t next; /* the row after the current one */
    struct buffer bytes;
};

/* --- fetching --- */

/* The buffers of one fetch: one for each column. */
struct landing {
    unsigned columns;
    MYSQL_BIND *binds;
    struct spot {
        uint64_t number;
        unsigned long length;
        db_flag is_null, cut;
        char *bytes;
        char *grown; /* NULL: bytes are in those of the landing */
    } * spots;
    char *bytes; /* of all buffers */
};

static void landing_deinit(struct landing *landing)
{
    free(landing->bytes);
    for (unsigned i = 0; i < landing->columns; i++)
        free(landing->spots[i].grown);
    free(landing->spots);
    free(landing->binds);
}

static enum column_kind kind_of(const MYSQL_FIELD *field)
{
    switch (field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
    case MYSQL_TYPE_YEAR:
        return field->flags & UNSIGNED_FLAG ? COLUMN_UNSIGNED : COLUMN_SIGNED;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
        return COLUMN_DECIMAL;
    default:
        return COLUMN_BYTES;
    }
}

static void landing_init(struct landing *landing, const MYSQL_FIELD *fields, unsigned columns,
                         enum column_kind *kinds)
{
    landing->columns = columns;
    landing->binds = xcalloc(columns, sizeof *landing->binds);
    landing->spots = xcalloc(columns, sizeof *landing->spots);
    size_t size = 0, used = 0;
    for (unsigned i = 0; i < columns; i++)
        size += fields[i].max_length + 1;
    landing->bytes = xmalloc(size);
    for (unsigned i = 0; i < columns; i++) {
        MYSQL_BIND *bind = &landing->binds[i];
        struct spot *spot = &landing->spots[i];
        kinds[i] = kind_of(&fields[i]);
        bind->is_null = &spot->is_null;
        bind->length = &spot->length;
        bind->error = &spot->cut;
        if (kinds[i] == COLUMN_SIGNED || kinds[i] == COLUMN_UNSIGNED) {
            bind->buffer_type = MYSQL_TYPE_LONGLONG;
            bind->buffer = &spot->number;
            bind->is_unsigned = kinds[i] == COLUMN_UNSIGNED;
            continue;
        }
        /* As long as the longest value of this result: nothing can be cut. */
        spot->bytes = landing->bytes + used;
        used += fields[i].max_length + 1;
        bind->buffer_type = MYSQL_TYPE_STRING;
        bind->buffer = spot->bytes;
        bind->buffer_length = fields[i].max_length + 1;
    }
}

static int keep_row(struct db_rows *rows, const struct landing *landing)
{
    if (rows->count == RESULT_MAX_ROWS)
        return -1;
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity ? rows->capacity * 2 : 1;
        rows->cells =
            xreallocarray(rows->cells, rows->capacity * rows->columns, sizeof *rows->cells);
    }
    struct cell *row = &rows->cells[rows->count++ * rows->columns];
    for (unsigned i = 0; i < rows->columns; i++) {
        const struct spot *spot = &landing->spots[i];
        row[i] = (struct cell){.is_null = spot->is_null != 0};
        if (row[i].is_null)
            continue;
        if (rows->kinds[i] == COLUMN_SIGNED || rows->kinds[i] == COLUMN_UNSIGNED) {
            row[i].number = spot->number;
            continue;
        }
        row[i].offset = rows->bytes.size;
        row[i].size = spot->length;
        if (buffer_append(&rows->bytes, spot->bytes, spot->length) < 0 ||
            buffer_append_char(&rows->bytes, '\0') < 0)
            return -1;
    }
    return 0;
}

/* Fetch the values that are longer than their buffers again. */
static int fetch_long(MYSQL_STMT *handle, struct landing *landing)
{
    for (unsigned i = 0; i < landing->columns; i++) {
        MYSQL_BIND *bind = &landing->binds[i];
        struct spot *spot = &landing->spots[i];
        if (!spot->bytes || spot->is_null || spot->length <= bind->buffer_length)
            continue;
        free(spot->grown);
        spot->bytes = spot->grown = xmalloc(spot->length);
        bind->buffer = spot->bytes;
        bind->buffer_length = spot->length;
        if (mysql_stmt_fetch_column(handle, bind, i, 0))
            return -1;
    }
    return mysql_stmt_bind_result(handle, landing->binds) ? -1 : 0;
}

static int fetch_into(MYSQL_STMT *handle, struct db_rows *rows, struct landing *landing,
                      size_t bytes_max, struct error **err)
{
    if (mysql_stmt_bind_result(handle, landing->binds))
        return -1;
    while (!bytes_max || rows->bytes.size < bytes_max) {
        int result = mysql_stmt_fetch(handle);
        if (result == MYSQL_NO_DATA)
            return 0;
        if (result == MYSQL_DATA_TRUNCATED && bytes_max)
            result = fetch_long(handle, landing);
        if (result == MYSQL_DATA_TRUNCATED)
            return error_set(err, ERR_INTERNAL,
                             "%s: a value of the result is larger than its buffer",
                             rows->statement->name);
        if (result)
            return -1;
        if (keep_row(rows, landing) < 0)
            return error_set(err, ERR_INTERNAL, "%s: the result is too large",
                             rows->statement->name);
    }
    return 0;
}

/* With bytes_max, the client library stores no result: the rest may be large. */
int db_rows_fetch(MYSQL_STMT *handle, const struct db_statement *statement, size_t bytes_max,
                  struct db_rows **out, struct error **err)
{
    if (!bytes_max && mysql_stmt_store_result(handle))
        return -1;
    MYSQL_RES *metadata = mysql_stmt_result_metadata(handle);
    if (!metadata)
        return -1;
    db_rows_auto *rows = xcalloc(1, sizeof *rows);
    rows->statement = statement;
    rows->columns = mysql_num_fields(metadata);
    rows->kinds = xcalloc(rows->columns, sizeof *rows->kinds);
    buffer_init(&rows->bytes, RESULT_MAX_BYTES);

    struct landing landing = {0};
    landing_init(&landing, mysql_fetch_fields(metadata), rows->columns, rows->kinds);
    int result = fetch_into(handle, rows, &landing, bytes_max, err);
    landing_deinit(&landing);
    mysql_free_result(metadata);
    if (result == 0)
        *out = steal_pointer(&rows);
    return result;
}

/* --- reading --- */

size_t db_rows_size(const struct db_rows *rows)
{
    return rows->bytes.size;
}

bool db_rows_next(struct db_rows *rows)
{
    if (rows->next >= rows->count) {
        rows->next = rows->count + 1;
        return false;
    }
    rows->next++;
    return true;
}

void *db_rows_array(const struct db_rows *rows, size_t element_size)
{
    return rows->count ? xcalloc(rows->count, element_size) : NULL;
}

void db_rows_free(struct db_rows *rows)
{
    if (!rows)
        return;
    buffer_deinit(&rows->bytes);
    free(rows->kinds);
    free(rows->cells);
    free(rows);
}

/* A statement and the code that reads it disagree: abort. */
static void __attribute__((noreturn))
defect(const struct db_rows *rows, unsigned column, const char *what)
{
    autofree char *why = xasprintf("%s: column %u: %s", rows->statement->name, column, what);
    panic(why);
}

static const struct cell *cell_at(const struct db_rows *rows, unsigned column)
{
    if (column >= rows->columns)
        defect(rows, column, "the result has no such column");
    if (rows->next == 0 || rows->next > rows->count)
        defect(rows, column, "no row of the result is current");
    return &rows->cells[(rows->next - 1) * rows->columns + column];
}

static const char *bytes_of(const struct db_rows *rows, const struct cell *cell)
{
    return rows->bytes.data + cell->offset;
}

/* The whole number that a DECIMAL spells (SUM() makes them); a fraction may only be zeros. */
static void read_decimal(const struct db_rows *rows, unsigned column, const struct cell *cell,
                         bool *negative, uint64_t *magnitude)
{
    const char *text = bytes_of(rows, cell);
    *negative = *text == '-';
    *magnitude = 0;
    text += *negative;
    for (; *text >= '0' && *text <= '9'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*magnitude > (UINT64_MAX - digit) / 10)
            defect(rows, column, "the number is too large");
        *magnitude = *magnitude * 10 + digit;
    }
    if (*text == '.')
        text += 1 + strspn(text + 1, "0");
    if (*text)
        defect(rows, column, "the number is not whole");
}

static void read_number(const struct db_rows *rows, unsigned column, bool *negative,
                        uint64_t *magnitude)
{
    const struct cell *cell = cell_at(rows, column);
    *negative = false;
    *magnitude = 0;
    if (cell->is_null)
        return;
    switch (rows->kinds[column]) {
    case COLUMN_UNSIGNED:
        *magnitude = cell->number;
        break;
    case COLUMN_SIGNED:
        *negative = (int64_t)cell->number < 0;
        *magnitude = *negative ? 0 - cell->number : cell->number;
        break;
    case COLUMN_DECIMAL:
        read_decimal(rows, column, cell, negative, magnitude);
        break;
    case COLUMN_BYTES:
        defect(rows, column, "the column is not a number");
    }
}

bool db_is_null(const struct db_rows *rows, unsigned column)
{
    return cell_at(rows, column)->is_null;
}

int64_t db_get_i64(const struct db_rows *rows, unsigned column)
{
    bool negative;
    uint64_t magnitude;
    read_number(rows, column, &negative, &magnitude);
    if (magnitude > (uint64_t)INT64_MAX + negative)
        defect(rows, column, "the number does not fit 64 bits with a sign");
    return (int64_t)(negative ? 0 - magnitude : magnitude);
}

uint64_t db_get_u64(const struct db_rows *rows, unsigned column)
{
    bool negative;
    uint64_t magnitude;
    read_number(rows, column, &negative, &magnitude);
    if (negative && magnitude)
        defect(rows, column, "the number is negative");
    return magnitude;
}

bool db_get_bool(const struct db_rows *rows, unsigned column)
{
    bool negative;
    uint64_t magnitude;
    read_number(rows, column, &negative, &magnitude);
    return magnitude != 0;
}

unsigned db_get_name(const struct db_rows *rows, unsigned column, const char *const names[],
                     unsigned count)
{
    const char *text = db_get_text(rows, column);
    for (unsigned i = 0; i < count; i++)
        if (str_equal(text, names[i]))
            return i;
    defect(rows, column, "the value is not a name of its table");
}

const void *db_get_blob(const struct db_rows *rows, unsigned column, size_t *size)
{
    const struct cell *cell = cell_at(rows, column);
    if (rows->kinds[column] == COLUMN_SIGNED || rows->kinds[column] == COLUMN_UNSIGNED)
        defect(rows, column, "the column is a number");
    *size = cell->is_null ? 0 : cell->size;
    return cell->is_null ? "" : bytes_of(rows, cell);
}

const char *db_get_text(const struct db_rows *rows, unsigned column)
{
    size_t size;
    return db_get_blob(rows, column, &size);
}

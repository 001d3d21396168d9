/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "front/ring_use.h"

#include <stdio.h>

#include "crypto/aead.h"
#include "front/ring_use_row.h"

#define KEY_BYTES       2
#define ASSOCIATED_SIZE 64
#define SEALED_MAX      (AEAD_DATA_MAX + 64)

static void key_bytes(uint16_t key_id, unsigned char bytes[KEY_BYTES])
{
    bytes[0] = (unsigned char)(key_id >> 8);
    bytes[1] = (unsigned char)key_id;
}

/* The value stays if it has changed meanwhile: then the newest key has sealed it. */
static int seal_again(struct db *db, const struct keyring *ring, const struct ring_column *column,
                      const struct db_rows *rows, struct error **err)
{
    char associated[ASSOCIATED_SIZE];
    size_t size;
    const char *id = db_get_text(rows, 0);
    const void *before = db_get_blob(rows, 1, &size);
    struct buffer plain = BUFFER_INIT(AEAD_DATA_MAX);
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    snprintf(associated, sizeof associated, "%s%s", column->prefix, id);
    int result = aead_open(ring, before, size, associated, &plain, err);
    if (result == 0)
        result = aead_seal(ring, plain.data, plain.size, associated, &sealed, err);
    buffer_wipe(&plain);
    if (result == 0)
        result =
            db_exec(db, column->put,
                    DB_ARGS(db_blob(sealed.data, sealed.size), db_text(id), db_blob(before, size)),
                    NULL, err);
    return result < 0 ? error_context(err, "%s: %s", column->what, id) : 0;
}

static int reseal_column(struct db *db, const struct keyring *ring,
                         const struct ring_column *column, uint64_t *count, struct error **err)
{
    unsigned char newest[KEY_BYTES];
    char after[ASSOCIATED_SIZE] = "";
    bool more = true;
    key_bytes(keyring_newest(ring), newest);
    while (more) {
        db_rows_auto *rows = NULL;
        if (db_query(db, column->list, DB_ARGS(db_text(after), db_blob(newest, sizeof newest)),
                     &rows, err) < 0)
            return -1;
        for (more = false; db_rows_next(rows); more = true, ++*count) {
            if (seal_again(db, ring, column, rows, err) < 0)
                return -1;
            snprintf(after, sizeof after, "%s", db_get_text(rows, 0));
        }
    }
    return 0;
}

int ring_reseal(struct db *db, const struct keyring *ring, uint64_t *count, struct error **err)
{
    *count = 0;
    for (unsigned i = 0; i < ring_column_count; i++)
        if (reseal_column(db, ring, &ring_columns[i], count, err) < 0)
            return -1;
    return 0;
}

static int add_use(struct db *db, const struct db_statement *statement, struct db_value key,
                   const char *what, struct ring_use uses[RING_USES_MAX], unsigned *count,
                   struct error **err)
{
    uint64_t found;
    if (DB_NUMBER(db, statement, DB_ARGS(key), &found, err) < 0)
        return -1;
    if (found)
        uses[(*count)++] = (struct ring_use){what, found};
    return 0;
}

int ring_uses(struct db *db, uint16_t key_id, struct ring_use uses[RING_USES_MAX], unsigned *count,
              struct error **err)
{
    unsigned char bytes[KEY_BYTES];
    key_bytes(key_id, bytes);
    *count = 0;
    for (unsigned i = 0; i < ring_column_count; i++)
        if (add_use(db, ring_columns[i].count, db_blob(bytes, sizeof bytes), ring_columns[i].what,
                    uses, count, err) < 0)
            return -1;
    for (unsigned i = 0; i < ring_reference_count; i++)
        if (add_use(db, ring_references[i].count, db_u64(key_id), ring_references[i].what, uses,
                    count, err) < 0)
            return -1;
    return 0;
}

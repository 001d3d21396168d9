/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "crypto/aead.h"
#include "crypto/authority.h"
#include "secret/egress_authority.h"

#define AUTHORITY_NAME "sandlot egress"
#define AUTHORITY_DAYS 7300
#define LEAF_DAYS      3650 /* a sandbox keeps its policy for years without a change */
#define ASSOCIATED     "egress_authority"
#define SEALED_MAX     4096

DB_STATEMENT(get_statement) = {
    "egress_authority.get", "SELECT certificate, sealed_key FROM egress_authority WHERE one = 1"};
DB_STATEMENT(insert_statement) = {
    "egress_authority.insert",
    "INSERT INTO egress_authority (one, certificate, sealed_key, created_at_ms) VALUES (1, ?, ?, ?)"
    " ON DUPLICATE KEY UPDATE one = one"};

static int make(struct db *db, const struct keyring *ring, struct error **err)
{
    certificate_pair_auto pair = {0};
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    if (authority_new(AUTHORITY_NAME, AUTHORITY_DAYS, &pair, err) < 0 ||
        aead_seal(ring, pair.key, strlen(pair.key), ASSOCIATED, &sealed, err) < 0)
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(pair.certificate), db_blob(sealed.data, sealed.size),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

static int find(struct db *db, struct db_rows **rows, bool *found, struct error **err)
{
    if (db_query(db, &get_statement, DB_NO_ARGS, rows, err) < 0)
        return -1;
    *found = db_rows_next(*rows);
    return 0;
}

/* Read the authority; the first process that needs it makes it. */
static int load(struct db *db, const struct keyring *ring, struct certificate_pair *pair,
                struct error **err)
{
    struct buffer key = BUFFER_INIT(SEALED_MAX);
    for (unsigned i = 0; i < 2; i++) {
        db_rows_auto *rows = NULL;
        bool found;
        size_t size;
        if (find(db, &rows, &found, err) < 0)
            return -1;
        if (!found) {
            db_rows_free(steal_pointer(&rows));
            if (make(db, ring, err) < 0)
                return -1;
            continue;
        }
        const void *sealed = db_get_blob(rows, 1, &size);
        int result = aead_open(ring, sealed, size, ASSOCIATED, &key, err);
        if (result == 0) {
            pair->certificate = xstrdup(db_get_text(rows, 0));
            pair->key = xstrndup(buffer_string(&key), key.size);
        }
        buffer_wipe(&key);
        return result;
    }
    return error_set(err, ERR_INTERNAL, "cannot store the certificate authority of egress rules");
}

int egress_authority(struct db *db, const struct keyring *ring, const char **certificate,
                     struct error **err)
{
    static char *known; /* for the life of the process */
    certificate_pair_auto pair = {0};
    if (!known && load(db, ring, &pair, err) < 0)
        return -1;
    if (!known)
        known = steal_pointer(&pair.certificate);
    *certificate = known;
    return 0;
}

int egress_authority_certify(struct db *db, const struct keyring *ring, const char *host,
                             json_t *certificates, struct error **err)
{
    certificate_pair_auto authority = {0}, leaf = {0};
    if (json_object_get(certificates, host))
        return 0;
    if (load(db, ring, &authority, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLED, host, LEAF_DAYS, &leaf, err) < 0)
        return -1;
    autowipe char *both = xasprintf("%s%s", leaf.certificate, leaf.key);
    json_object_set_new(certificates, host, json_string(both));
    return 0;
}

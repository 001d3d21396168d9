/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/backup_db.h"

#include "base/mem.h"
#include "template/warm.h"
#include "volume/volume.h"

/* An object that never changes has the stamp "fixed". A paused sandbox is unchanged as long as its
 * incarnation is. The state of a volume is unknown. No host has a sandbox that only the archive
 * has. Caches of builds are left out: the next builds fill new ones. A host imports no sandbox
 * without its volumes, so those of builds are left out too. */
DB_STATEMENT(objects_statement) = {
    "backup.objects",
    "SELECT 1 AS place, v.id, v.host_id, h.name, '' AS instance, '' AS stamp, '' AS state"
    " FROM volumes v JOIN hosts h ON h.id = v.host_id WHERE v.state = 'ready'"
    " AND v.name <> '" VOLUME_BUILD_CACHE "'"
    " UNION ALL SELECT 2, s.template_version_id, s.host_id, h.name, s.instance_name, 'fixed', ''"
    " FROM template_sources s JOIN hosts h ON h.id = s.host_id"
    " JOIN template_versions v ON v.id = s.template_version_id WHERE v.state = 'ready'"
    " UNION ALL SELECT 3, c.id, c.host_id, h.name, c.instance_name, 'fixed', ''"
    " FROM checkpoints c JOIN hosts h ON h.id = c.host_id WHERE c.state = 'ready'"
    " UNION ALL SELECT 4, s.id, s.host_id, h.name, s.instance_name, CAST(s.incarnation AS CHAR),"
    " CASE WHEN EXISTS (SELECT 1 FROM sandbox_volumes a JOIN volumes v ON v.id = a.volume_id"
    "   WHERE a.sandbox_id = s.id AND v.name = '" VOLUME_BUILD_CACHE
    "') THEN 'building' WHEN EXISTS (SELECT 1 FROM archives a WHERE a.current_of = s.id"
    "   AND a.state = 'whole' AND a.promised_host_id IS NOT NULL) THEN 'archived'"
    " ELSE s.state END"
    " FROM sandboxes s JOIN hosts h ON h.id = s.host_id WHERE s.visible = 1"
    " ORDER BY place, id"};

/* The row as it is now. 1: as it was listed; 0: otherwise; no row: deleted. */
DB_STATEMENT(volume_statement) = {
    "backup.volume", "SELECT host_id = ? FROM volumes WHERE id = ? AND state = 'ready'"};
DB_STATEMENT(source_statement) = {"backup.source",
                                  "SELECT host_id = ? FROM template_sources"
                                  " WHERE template_version_id = ? ORDER BY 1 DESC LIMIT 1"};
DB_STATEMENT(checkpoint_statement) = {
    "backup.checkpoint", "SELECT host_id = ? FROM checkpoints WHERE id = ? AND state = 'ready'"};
DB_STATEMENT(sandbox_statement) = {
    "backup.sandbox", "SELECT host_id = ? AND state = 'stopped' AND incarnation = ? FROM sandboxes"
                      " WHERE id = ? AND visible = 1"};

DB_STATEMENT(count_statement) = {"backup.count",
                                 "SELECT (SELECT COUNT(*) FROM sandboxes WHERE visible = 1)"
                                 " + (SELECT COUNT(*) FROM volumes WHERE visible = 1)"
                                 " + (SELECT COUNT(*) FROM checkpoints WHERE state = 'ready')"};

DB_STATEMENT(warm_statement) = {"backup.warm", "SELECT instance_name FROM warm_instances"};
/* A dispatcher deletes their data, if a host still has it. */
DB_STATEMENT(caches_statement) = {
    "backup.caches",
    "UPDATE volumes SET state = 'deleting', visible = 0, taken = NULL, lease_until_ms = 0"
    " WHERE name = '" VOLUME_BUILD_CACHE "' AND state IN ('creating', 'ready')"};

DB_STATEMENT(column_statement) = {
    "backup.column",
    "SELECT CONCAT('column ', a.table_name, '.', a.column_name) FROM information_schema.columns a"
    " LEFT JOIN information_schema.columns b ON b.table_schema = ? AND b.table_name = a.table_name"
    " AND b.column_name = a.column_name AND b.column_type = a.column_type"
    " AND b.is_nullable = a.is_nullable AND b.collation_name <=> a.collation_name"
    " WHERE a.table_schema = ? AND b.column_name IS NULL LIMIT 1"};

DB_STATEMENT(index_statement) = {
    "backup.index",
    "SELECT CONCAT('index ', a.table_name, '.', a.index_name) FROM information_schema.statistics a"
    " LEFT JOIN information_schema.statistics b ON b.table_schema = ?"
    " AND b.table_name = a.table_name AND b.index_name = a.index_name"
    " AND b.seq_in_index = a.seq_in_index AND b.column_name = a.column_name"
    " AND b.non_unique = a.non_unique WHERE a.table_schema = ? AND b.index_name IS NULL LIMIT 1"};

static void read_object(const struct db_rows *rows, struct backup_object *object)
{
    enum backup_place place = (enum backup_place)db_get_u64(rows, 0);
    *object = (struct backup_object){
        .place = place,
        .kind = place == BACKUP_OF_VOLUME ? BACKUP_VOLUME : BACKUP_INSTANCE,
        .host_id = (uint32_t)db_get_u64(rows, 2),
    };
    db_copy_text(object->id, rows, 1);
    db_copy_text(object->host, rows, 3);
    db_copy_text(object->name, rows, 4);
    db_copy_text(object->stamp, rows, 5);
    db_copy_text(object->state, rows, 6);
    if (object->kind == BACKUP_VOLUME)
        volume_instance_name(object->id, object->name);
}

int backup_db_objects(struct db *db, struct backup_object **objects, size_t *count,
                      struct error **err)
{
    return DB_LIST(db, &objects_statement, DB_NO_ARGS, read_object, objects, count, err);
}

static int ask_fate(struct db *db, const struct backup_object *object, struct db_rows **rows,
                    struct error **err)
{
    static const struct db_statement *const statements[] = {
        [BACKUP_OF_VOLUME] = &volume_statement,
        [BACKUP_OF_SOURCE] = &source_statement,
        [BACKUP_OF_CHECKPOINT] = &checkpoint_statement,
    };
    struct db_value host = db_u64(object->host_id), id = db_text(object->id);
    return object->place == BACKUP_OF_SANDBOX
               ? db_query(db, &sandbox_statement, DB_ARGS(host, db_text(object->stamp), id), rows,
                          err)
               : db_query(db, statements[object->place], DB_ARGS(host, id), rows, err);
}

int backup_db_fate(struct db *db, const struct backup_object *object, enum backup_fate *fate,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    if (ask_fate(db, object, &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        *fate = BACKUP_DELETED;
    else
        *fate = db_get_bool(rows, 0) ? BACKUP_UNCHANGED : BACKUP_CHANGED;
    return 0;
}

int backup_db_count(struct db *db, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &count_statement, DB_NO_ARGS, count, err);
}

int backup_db_dismiss(struct db *db, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &warm_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (warm_dismiss(db, db_get_text(rows, 0), err) < 0)
            return -1;
    return db_exec(db, &caches_statement, DB_NO_ARGS, NULL, err);
}

static int look(struct db *db, const struct db_statement *statement, const char *one,
                const char *other, char out[256], struct error **err)
{
    return db_query_text(db, statement, DB_ARGS(db_text(one), db_text(other)), out, 256, err);
}

int backup_db_difference(struct db *db, const char *one, const char *other, char out[256],
                         struct error **err)
{
    const struct db_statement *const looks[] = {&column_statement, &index_statement};
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
        if (look(db, looks[i], one, other, out, err) < 0)
            return -1;
        if (!*out && look(db, looks[i], other, one, out, err) < 0)
            return -1;
        if (*out)
            return 0;
    }
    return 0;
}

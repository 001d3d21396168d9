/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/restore_check.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "config/database.h"
#include "ctl/backup_database.h"
#include "ctl/backup_db.h"
#include "db/migrate.h"
#include "host/host.h"

/* --- the database --- */

static int compare(struct ctl *ctl, const char *scratch, const struct backup *backup, bool *older,
                   struct error **err)
{
    struct db *db;
    unsigned version = 0;
    char difference[256] = "";
    if (database_open_other(ctl->settings, scratch, &db, err) < 0)
        return -1;
    int result = db_schema_version(db, &version, err);
    *older = version < db_schema_needed;
    if (result == 0 && version == db_schema_needed)
        result = backup_db_difference(db, scratch, ctl->settings->database_name, difference, err);
    db_close(db);
    if (result == 0 && version != backup->schema_version)
        return error_set(err, ERR_CONFIG,
                         "the dump has schema version %u, but its manifest says %u", version,
                         backup->schema_version);
    if (result == 0 && *difference)
        return error_set(err, ERR_CONFIG,
                         "the table %s of the dump differs from that of this deployment",
                         difference);
    return result;
}

static int check_database(struct ctl *ctl, const struct backup *backup, bool *older,
                          struct error **err)
{
    autofree char *scratch = xasprintf("%s_check", ctl->settings->database_name);
    autofree char *dump = backup_path(backup, backup_find(backup, BACKUP_DATABASE, "", "")->path);
    error_auto ignored = NULL;
    if (backup_database_scratch(ctl->settings, scratch, true, err) < 0)
        return error_context(err,
                             "cannot use the temporary database %s; the user %s needs the rights "
                             "to create and drop it",
                             scratch,
                             *ctl->settings->database_admin_user
                                 ? ctl->settings->database_admin_user
                                 : ctl->settings->database_user);
    int result = backup_database_load(ctl->settings, dump, scratch, err);
    if (result == 0)
        result = compare(ctl, scratch, backup, older, err);
    backup_database_scratch(ctl->settings, scratch, false, &ignored);
    return result;
}

/* --- objects on hosts --- */

struct scratch {
    const struct backup *backup;
    const char *host;
    struct runtime *runtime;
};

static int open_scratch(struct ctl *ctl, struct scratch *scratch, struct error **err)
{
    struct host host;
    if (host_get_by_name(ctl->db, scratch->host, &host, err) < 0)
        return -1;
    autofree char *project = xasprintf("%s-check", host.project);
    struct runtime_host place = {
        .url = host.url,
        .server_cert = host.server_cert,
        .client_cert_file = ctl->settings->incus_client_cert_file,
        .client_key_file = ctl->settings->incus_client_key_file,
        .project = project,
        .pool = host.pool,
        .nic_prefix = host.nic_prefix,
    };
    int result = runtime_incus_open(&place, &scratch->runtime, err);
    host_deinit(&host);
    return result;
}

static int remove_instances(struct runtime *runtime, bool copies, struct error **err)
{
    struct runtime_listing *list = NULL;
    size_t count = 0;
    int result = copies ? runtime->ops->list_copies(runtime, &list, &count, err)
                        : runtime->ops->list(runtime, &list, &count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = runtime->ops->destroy(runtime, list[i].name, err);
    runtime_listing_free(list, count);
    return result;
}

/* Also the leftovers of a killed check. */
static int empty_scratch(struct runtime *runtime, struct error **err)
{
    autofree struct runtime_volume *volumes = NULL;
    size_t count = 0;
    if (remove_instances(runtime, false, err) < 0 || remove_instances(runtime, true, err) < 0 ||
        runtime->ops->volume->list(runtime, &volumes, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (runtime->ops->volume->delete (runtime, volumes[i].name, err) < 0)
            return -1;
    return 0;
}

static int take_in(struct scratch *scratch, const struct backup_file *file, struct error **err)
{
    struct runtime *runtime = scratch->runtime;
    bool volume = file->kind == BACKUP_VOLUME, made = false;
    autofree char *path = backup_path(scratch->backup, file->path);
    autofclose FILE *from = fopen(path, "re");
    if (!from)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    backup_show_work(scratch->backup, file, "trying the import of");
    if (runtime->ops->transfer->import_object(runtime, volume ? RUNTIME_VOLUME : RUNTIME_INSTANCE,
                                              file->name, from, &made, err) < 0)
        return error_context(err, "cannot check %s on host %s", path, scratch->host);
    if (!made)
        return error_set(err, ERR_CONFIG, "the backup has %s of host %s twice", file->name,
                         scratch->host);
    return volume ? runtime->ops->volume->delete (runtime, file->name, err)
                  : runtime->ops->destroy(runtime, file->name, err);
}

static int take_in_all(struct scratch *scratch, enum backup_kind kind, struct error **err)
{
    for (size_t i = 0; i < scratch->backup->count; i++) {
        const struct backup_file *file = &scratch->backup->files[i];
        if (file->kind == kind && str_equal(file->host, scratch->host) &&
            take_in(scratch, file, err) < 0)
            return -1;
    }
    return 0;
}

/* Instances need the volumes that they mount; the contents of these volumes were checked before. */
static int make_volumes(struct scratch *scratch, struct error **err)
{
    struct runtime *runtime = scratch->runtime;
    for (size_t i = 0; i < scratch->backup->count; i++) {
        const struct backup_file *file = &scratch->backup->files[i];
        if (file->kind == BACKUP_VOLUME && str_equal(file->host, scratch->host) &&
            runtime->ops->volume->create(runtime, file->name, 1, err) < 0)
            return -1;
    }
    return 0;
}

static int check_host(struct ctl *ctl, const struct backup *backup, const char *host,
                      struct error **err)
{
    struct scratch scratch = {.backup = backup, .host = host};
    error_auto failure = NULL;
    if (open_scratch(ctl, &scratch, err) < 0)
        return error_context(err, "host %s", host);
    struct runtime *runtime = scratch.runtime;
    int result = runtime->ops->prepare(runtime, err);
    if (result == 0)
        result = empty_scratch(runtime, err);
    if (result == 0)
        result = take_in_all(&scratch, BACKUP_VOLUME, err) < 0 || make_volumes(&scratch, err) < 0 ||
                         take_in_all(&scratch, BACKUP_INSTANCE, err) < 0
                     ? -1
                     : 0;
    int removed =
        empty_scratch(runtime, &failure) < 0 || runtime->ops->unprepare(runtime, &failure) < 0 ? -1
                                                                                               : 0;
    runtime_close(runtime);
    return result == 0 && removed < 0 ? error_move(err, &failure) : result;
}

/* Whether no file before this one is of its host. */
static bool is_first_of_host(const struct backup *backup, size_t index)
{
    if (!*backup->files[index].host)
        return false;
    for (size_t i = 0; i < index; i++)
        if (str_equal(backup->files[i].host, backup->files[index].host))
            return false;
    return true;
}

int restore_check(struct ctl *ctl, const struct backup *backup, bool *older, struct error **err)
{
    if (check_database(ctl, backup, older, err) < 0)
        return -1;
    for (size_t i = 0; i < backup->count; i++)
        if (is_first_of_host(backup, i) && check_host(ctl, backup, backup->files[i].host, err) < 0)
            return -1;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts first, the database last: a restore that ends before has left nothing but instances that a
 * second one finds there, and the database is still empty.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ctl/backup_database.h"
#include "ctl/backup_db.h"
#include "ctl/backup_keys.h"
#include "ctl/fastcgi_probe.h"
#include "ctl/output.h"
#include "ctl/restore_check.h"
#include "db/migrate.h"
#include "host/host.h"

#define PROBE_MS 1000

struct restoring {
    struct ctl *ctl;
    const struct ctl_arguments *arguments;
    const struct backup *backup;
    struct buffer keys; /* "": not opened */
    struct host *hosts; /* as the deployment has them before */
    unsigned host_count;
    unsigned made, there;
};

/* --- preconditions --- */

static int refuse_while_running(struct ctl *ctl, struct error **err)
{
    const struct settings *settings = ctl->settings;
    const char *const sockets[] = {
#define POOL(name, ...) settings->name##_socket,
#include "config/pools.def"
#undef POOL
    };
    bool watched;
    if (host_is_watched(ctl->db, &watched, err) < 0)
        return -1;
    if (watched)
        return error_set(err, ERR_CONFIG, "a dispatcher is running: stop all programs first");
    for (size_t i = 0; i < ARRAY_SIZE(sockets); i++) {
        error_auto nobody = NULL;
        if (fastcgi_probe(sockets[i], PROBE_MS, &nobody) == 0 || nobody->code != ERR_CONFIG)
            return error_set(err, ERR_CONFIG,
                             "workers are listening at %s: stop all programs first", sockets[i]);
    }
    return 0;
}

static int refuse_unless_empty(struct ctl *ctl, struct error **err)
{
    uint64_t count;
    if (backup_db_count(ctl->db, &count, err) < 0)
        return -1;
    return count ? error_set(err, ERR_CONFIG,
                             "the database %s has %llu sandboxes, volumes and checkpoints; a "
                             "restore needs an empty deployment",
                             ctl->settings->database_name, (unsigned long long)count)
                 : 0;
}

static int check_keys(const struct restoring *restoring, struct error **err)
{
    bool has = backup_find(restoring->backup, BACKUP_KEYRING, "", "");
    if (has && !restoring->keys.size && !ctl_flag(restoring->arguments, "without-keys"))
        return error_set_field(
            err, ERR_INVALID_REQUEST, "--passphrase-file",
            "The backup has the key ring. Give --passphrase-file or --identity-file to decrypt it, "
            "or --without-keys to leave %s unchanged.",
            restoring->ctl->settings->key_file);
    return 0;
}

/* --- hosts --- */

static int put_object(struct restoring *restoring, const struct backup_file *file,
                      struct error **err)
{
    struct ctl *ctl = restoring->ctl;
    struct host host;
    struct runtime *runtime;
    bool made;
    autofree char *path = backup_path(restoring->backup, file->path);
    autofclose FILE *from = fopen(path, "re");
    if (!from)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    backup_show_work(restoring->backup, file, "importing");
    if (host_get_by_name(ctl->db, file->host, &host, err) < 0)
        return error_context(err, "cannot find host %s; add it first", file->host);
    uint32_t host_id = host.id;
    host_deinit(&host);
    if (runtimes_get(ctl->runtimes, ctl->db, host_id, &runtime, err) < 0 ||
        runtime->ops->prepare(runtime, err) < 0 ||
        runtime->ops->transfer->import_object(
            runtime, file->kind == BACKUP_VOLUME ? RUNTIME_VOLUME : RUNTIME_INSTANCE, file->name,
            from, &made, err) < 0)
        return error_context(err, "cannot import %s on host %s", path, file->host);
    restoring->made += made;
    restoring->there += !made;
    return 0;
}

static int put_all(struct restoring *restoring, enum backup_kind kind, struct error **err)
{
    for (size_t i = 0; i < restoring->backup->count; i++)
        if (restoring->backup->files[i].kind == kind &&
            put_object(restoring, &restoring->backup->files[i], err) < 0)
            return -1;
    return 0;
}

/* --- key ring and database --- */

static int put_keys(struct restoring *restoring, bool *replaced, struct error **err)
{
    *replaced = false;
    return restoring->keys.size ? keyring_put_text(restoring->ctl->settings->key_file,
                                                   &restoring->keys, replaced, err)
                                : 0;
}

/* A host is reached as it is from this deployment, wherever it was in the other one. */
static int put_ways(struct restoring *restoring, struct error **err)
{
    for (unsigned i = 0; i < restoring->host_count; i++) {
        const struct host *now = &restoring->hosts[i];
        struct host host;
        error_auto failure = NULL;
        if (host_get_by_name(restoring->ctl->db, now->name, &host, &failure) < 0) {
            if (failure->code != ERR_NOT_FOUND)
                return error_move(err, &failure);
            continue;
        }
        struct host merged = *now;
        merged.id = host.id;
        memcpy(merged.address_range, host.address_range, sizeof merged.address_range);
        int result = host_put(restoring->ctl->db, &merged, err);
        host_deinit(&host);
        if (result < 0)
            return error_context(err, "host %s", now->name);
    }
    return 0;
}

static int load(struct restoring *restoring, struct error **err)
{
    struct ctl *ctl = restoring->ctl;
    unsigned applied;
    autofree char *dump = backup_path(
        restoring->backup, backup_find(restoring->backup, BACKUP_DATABASE, "", "")->path);
    fprintf(stderr, "loading the database\n");
    if (backup_database_load(ctl->settings, dump, ctl->settings->database_name, err) < 0)
        return error_context(
            err, "drop the database %s and create it again before you repeat the restore",
            ctl->settings->database_name);
    return ctl_migrate_schema(ctl, &applied, err) < 0 || put_ways(restoring, err) < 0
               ? -1
               : backup_db_dismiss(ctl->db, err);
}

/* --- the command --- */

static void report(const struct restoring *restoring, bool keys_replaced)
{
    const struct backup *backup = restoring->backup;
    const char *key_file = restoring->ctl->settings->key_file;
    size_t index;
    json_t *left_out;
    ctl_print(restoring->ctl,
              json_pack("{s:s, s:i, s:i, s:b, s:O}", "made_at", backup->made_at, "restored",
                        (int)restoring->made, "already_there", (int)restoring->there,
                        "keys_replaced", keys_replaced, "left_out", backup->left_out),
              "The deployment is restored to its state at %s: %u volumes and instances were "
              "created, %u existed already. Later objects no longer exist. Start all programs now.",
              backup->made_at, restoring->made, restoring->there);
    if (restoring->ctl->json)
        return;
    if (keys_replaced)
        printf("The key ring is that of the backup; the previous one is %s.before.\n", key_file);
    json_array_foreach (backup->left_out, index, left_out)
        printf("The backup has no disk of %s: %s\n",
               json_string_value(json_object_get(left_out, "id")),
               json_string_value(json_object_get(left_out, "reason")));
}

static int restore(struct restoring *restoring, struct error **err)
{
    struct ctl *ctl = restoring->ctl;
    bool replaced;
    if (check_keys(restoring, err) < 0 || refuse_while_running(ctl, err) < 0 ||
        refuse_unless_empty(ctl, err) < 0 ||
        host_list(ctl->db, &restoring->hosts, &restoring->host_count, err) < 0 ||
        put_all(restoring, BACKUP_VOLUME, err) < 0 ||
        put_all(restoring, BACKUP_INSTANCE, err) < 0 || put_keys(restoring, &replaced, err) < 0 ||
        load(restoring, err) < 0)
        return -1;
    report(restoring, replaced);
    return 0;
}

static int check(struct restoring *restoring, struct error **err)
{
    const struct backup *backup = restoring->backup;
    const char *keys = !backup_find(backup, BACKUP_KEYRING, "", "") ? "not in it"
                       : restoring->keys.size                       ? "opened"
                                                                    : "not opened";
    bool older;
    if (restore_check(restoring->ctl, backup, &older, err) < 0)
        return -1;
    ctl_print(restoring->ctl,
              json_pack("{s:s, s:I, s:i, s:b, s:s}", "made_at", backup->made_at, "files",
                        (json_int_t)backup->count, "schema_version", (int)backup->schema_version,
                        "needs_migration", older, "keys", keys),
              "The backup of %s is complete. %zu files have the right hashes, the dump loads%s, "
              "and the hosts can import everything. The key ring is %s.",
              backup->made_at, backup->count,
              older ? " and will be migrated" : " and has the tables of this version", keys);
    return 0;
}

static int open_keys(struct restoring *restoring, struct error **err)
{
    const struct backup_file *file = backup_find(restoring->backup, BACKUP_KEYRING, "", "");
    if (!file)
        return 0;
    autofree char *path = backup_path(restoring->backup, file->path);
    return backup_keys_read(restoring->arguments, path, &restoring->keys, err);
}

static int run(struct restoring *restoring, struct error **err)
{
    const struct backup *backup = restoring->backup;
    if (backup->schema_version > db_schema_needed)
        return error_set(err, ERR_CONFIG,
                         "the backup has schema version %u, which is newer than %u of this "
                         "version; install the newer version",
                         backup->schema_version, db_schema_needed);
    if (backup_verify(backup, err) < 0 || open_keys(restoring, err) < 0)
        return -1;
    return ctl_flag(restoring->arguments, "check") ? check(restoring, err)
                                                   : restore(restoring, err);
}

int ctl_restore(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    backup_auto backup = {0};
    struct restoring restoring = {
        .ctl = ctl,
        .arguments = arguments,
        .backup = &backup,
        .keys = BUFFER_INIT(BACKUP_KEYRING_MAX),
    };
    int result = backup_load(&backup, arguments->operands[0], err);
    if (result == 0)
        result = run(&restoring, err);
    buffer_wipe(&restoring.keys);
    hosts_free(restoring.hosts, restoring.host_count);
    return result;
}

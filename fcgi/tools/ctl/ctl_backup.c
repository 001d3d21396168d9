/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects are listed before the dump of the database and copied from the hosts after it, and an
 * object that has changed meanwhile is left out. A row in the dump therefore never meets a disk of
 * another time or host. Volumes are copied in use, as after a loss of power.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/backup_database.h"
#include "ctl/backup_db.h"
#include "ctl/backup_keys.h"
#include "ctl/output.h"
#include "db/migrate.h"

/* Of a monitor: there is a backup, and something that should be in it is not. */
#define EXIT_INCOMPLETE 2

struct backing {
    struct ctl *ctl;
    const struct ctl_arguments *arguments;
    struct backup backup;
    struct backup base; /* the previous backup; no files: there is no previous one */
    unsigned failures;
    size_t position, count; /* of the object at work, among all objects */
};

static const char *folder_of(enum backup_kind kind)
{
    return kind == BACKUP_VOLUME ? "volumes" : "instances";
}

/* --- one object --- */

static struct backup_file file_of(const struct backup_object *object)
{
    return (struct backup_file){
        .kind = object->kind,
        .path =
            xasprintf("hosts/%s/%s/%s.tar", object->host, folder_of(object->kind), object->name),
        .host = xstrdup(object->host),
        .name = xstrdup(object->name),
        .of = xstrdup(object->id),
        .stamp = xstrdup(object->stamp),
    };
}

static int make_directories(const struct backup *backup, const struct backup_object *object,
                            struct error **err)
{
    autofree char *hosts = backup_path(backup, "hosts");
    autofree char *host = xasprintf("%s/%s", hosts, object->host);
    autofree char *kind = xasprintf("%s/%s", host, folder_of(object->kind));
    const char *const paths[] = {hosts, host, kind};
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        if (mkdir(paths[i], 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, ERR_CONFIG, errno, "cannot create %s", paths[i]);
    return 0;
}

/* Whether the file of the backup before is this one too. */
static bool reuse(struct backing *backing, struct backup_file *file)
{
    const struct backup_file *before =
        backup_find(&backing->base, file->kind, file->host, file->name);
    if (!before || !*file->stamp || !str_equal(before->stamp, file->stamp))
        return false;
    autofree char *from = backup_path(&backing->base, before->path);
    autofree char *to = backup_path(&backing->backup, file->path);
    struct stat info;
    if (stat(from, &info) < 0 || (uint64_t)info.st_size != before->size || link(from, to) < 0)
        return false;
    file->reused = true;
    file->size = before->size;
    memcpy(file->sha256, before->sha256, sizeof file->sha256);
    return true;
}

static int export_to(struct backing *backing, const struct backup_object *object, const char *path,
                     struct error **err)
{
    struct ctl *ctl = backing->ctl;
    struct runtime *runtime;
    autofclose FILE *to = fopen(path, "wxe");
    if (!to || chmod(path, 0600) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    if (runtimes_get(ctl->runtimes, ctl->db, object->host_id, &runtime, err) < 0)
        return -1;
    return runtime->ops->transfer->export_object(
        runtime, object->kind == BACKUP_VOLUME ? RUNTIME_VOLUME : RUNTIME_INSTANCE, object->name,
        to, err);
}

static int save(struct backing *backing, const struct backup_object *object,
                struct backup_file *file, struct error **err)
{
    autofree char *path = backup_path(&backing->backup, file->path);
    int64_t started_ms = clock_monotonic_ms();
    fprintf(stderr, "%zu of %zu: writing %s\n", backing->position, backing->count, object->id);
    if (export_to(backing, object, path, err) < 0 ||
        backup_seal_file(&backing->backup, file, err) < 0)
        return -1;
    fprintf(stderr, "%zu of %zu: %.1f MiB in %.1f s\n", backing->position, backing->count,
            (double)file->size / (1 << 20), (double)(clock_monotonic_ms() - started_ms) / 1000);
    return 0;
}

/* Return whether the backup should have an object that it leaves out: not a sandbox that a user
 * resumed, a deleted object, or one of a host that you gave up. */
static bool is_missed(const struct backup_object *object, enum backup_fate fate,
                      const struct error *failure)
{
    switch (fate) {
    case BACKUP_UNCHANGED:
        return failure->code != ERR_HOST_LOST;
    case BACKUP_CHANGED:
        return object->place != BACKUP_OF_SANDBOX;
    default:
        return false;
    }
}

/* Leave out an object that has changed since the list, so that its row of the dump meets no disk of
 * another time or host. failure: of its host; NULL: there is a file. *in: the backup has it. */
static int settle(struct backing *backing, const struct backup_object *object,
                  const struct error *failure, bool *in, struct error **err)
{
    enum backup_fate fate;
    const char *reason = NULL;
    if (backup_db_fate(backing->ctl->db, object, &fate, err) < 0)
        return -1;
    if (fate == BACKUP_DELETED)
        reason = "it was deleted during the backup";
    else if (fate == BACKUP_CHANGED)
        reason = object->place == BACKUP_OF_SANDBOX ? "it was resumed or moved during the backup"
                                                    : "it moved to another host during the backup";
    else if (failure)
        reason = failure->message;
    *in = !reason;
    if (*in)
        return 0;
    backup_leave_out(&backing->backup, object->id, reason);
    backing->failures += is_missed(object, fate, failure);
    return 0;
}

static bool is_chosen(const struct backing *backing, const struct backup_object *object)
{
    unsigned count;
    const char *const *chosen = ctl_list(backing->arguments, "sandbox", &count);
    if (ctl_flag(backing->arguments, "no-sandboxes"))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (str_equal(chosen[i], object->id))
            return true;
    return !count;
}

/* Why a sandbox is not even tried; NULL: it is. */
static const char *refusal(const struct backing *backing, const struct backup_object *object)
{
    if (!*object->state)
        return NULL;
    if (!is_chosen(backing, object))
        return "you did not choose it";
    if (str_equal(object->state, "building"))
        return "a template build created it";
    if (str_equal(object->state, "archived"))
        return "only the archive has its disk";
    return str_equal(object->state, "stopped") ? NULL
                                               : "it is not paused, so the backup has its row only";
}

/* A refusal of the host leaves one object out of the backup; a full disk here, or a lost database,
 * ends it. */
static int back_up_object(struct backing *backing, const struct backup_object *object,
                          struct error **err)
{
    const char *reason = refusal(backing, object);
    if (reason) {
        backup_leave_out(&backing->backup, object->id, reason);
        return 0;
    }
    struct backup_file file = file_of(object);
    autofree char *path = backup_path(&backing->backup, file.path);
    error_auto failure = NULL;
    bool in;
    if (make_directories(&backing->backup, object, err) < 0)
        return -1;
    if (!reuse(backing, &file) && save(backing, object, &file, &failure) < 0 &&
        (failure->code == ERR_CONFIG || failure->code == ERR_DB_UNAVAILABLE)) {
        error_move(err, &failure);
        return error_context(err, "backup of %s", object->id);
    }
    if (settle(backing, object, failure, &in, err) < 0)
        return error_context(err, "backup of %s", object->id);
    if (in)
        backup_add(&backing->backup, &file);
    else
        unlink(path);
    return 0;
}

/* --- the whole backup --- */

static int add_file(struct backing *backing, enum backup_kind kind, const char *path,
                    struct error **err)
{
    struct backup_file file = {
        .kind = kind,
        .path = xstrdup(path),
        .host = xstrdup(""),
        .name = xstrdup(""),
        .of = xstrdup(""),
        .stamp = xstrdup(""),
    };
    int result = backup_seal_file(&backing->backup, &file, err);
    backup_add(&backing->backup, &file);
    return result;
}

static int back_up_database(struct backing *backing, struct error **err)
{
    autofree char *path = backup_path(&backing->backup, "database.sql");
    fprintf(stderr, "writing the database\n");
    if (backup_database_dump(backing->ctl->settings, path, err) < 0)
        return -1;
    return add_file(backing, BACKUP_DATABASE, "database.sql", err);
}

static int back_up_keys(struct backing *backing, struct error **err)
{
    autofree char *path = backup_path(&backing->backup, BACKUP_KEYRING_FILE);
    if (ctl_flag(backing->arguments, "without-keys"))
        return 0;
    if (backup_keys_write(backing->ctl, backing->arguments, path, err) < 0)
        return -1;
    return add_file(backing, BACKUP_KEYRING, BACKUP_KEYRING_FILE, err);
}

static int check_chosen(const struct backing *backing, const struct backup_object *objects,
                        size_t count, struct error **err)
{
    unsigned chosen_count;
    const char *const *chosen = ctl_list(backing->arguments, "sandbox", &chosen_count);
    for (unsigned i = 0; i < chosen_count; i++) {
        bool found = false;
        for (size_t j = 0; j < count; j++)
            found |= *objects[j].state && str_equal(objects[j].id, chosen[i]);
        if (!found)
            return error_set_field(err, ERR_NOT_FOUND, "--sandbox", "There is no sandbox %s.",
                                   chosen[i]);
    }
    return 0;
}

static int back_up(struct backing *backing, const struct backup_object *objects, size_t count,
                   struct error **err)
{
    if (back_up_keys(backing, err) < 0 || back_up_database(backing, err) < 0)
        return -1;
    backing->count = count;
    for (size_t i = 0; i < count; i++) {
        backing->position = i + 1;
        if (back_up_object(backing, &objects[i], err) < 0)
            return -1;
    }
    return 0;
}

/* --- the command --- */

static int check_arguments(const struct ctl_arguments *arguments, struct error **err)
{
    const char *directory = arguments->operands[0];
    unsigned ways = !!ctl_text(arguments, "passphrase-file") + !!ctl_text(arguments, "recipient") +
                    ctl_flag(arguments, "without-keys");
    unsigned chosen;
    ctl_list(arguments, "sandbox", &chosen);
    if (strstr(directory, "://"))
        return error_set_field(err, ERR_INVALID_REQUEST, "DIR",
                               "%s is not a folder of this machine. Write the backup to a folder "
                               "here, and copy it to other machines.",
                               directory);
    if (ways != 1)
        return error_set_field(err, ERR_INVALID_REQUEST, "--passphrase-file",
                               "Choose one option for the key ring: --passphrase-file, --recipient "
                               "or --without-keys.");
    if (chosen && ctl_flag(arguments, "no-sandboxes"))
        return error_set_field(err, ERR_INVALID_REQUEST, "--sandbox",
                               "Give --no-sandboxes or --sandbox, not both.");
    return 0;
}

static int make_partial(const char *directory, char **partial, struct error **err)
{
    struct stat info;
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    *partial = xasprintf("%.*s.partial", (int)length, directory);
    if (stat(directory, &info) == 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "DIR", "%s exists already.", directory);
    if (mkdir(*partial, 0700) == 0)
        return 0;
    return errno == EEXIST ? error_set_field(err, ERR_INVALID_REQUEST, "DIR",
                                             "%s exists: another backup is running, or one did not "
                                             "end. Remove the folder if no backup is running.",
                                             *partial)
                           : error_set_errno(err, ERR_CONFIG, errno, "cannot create %s", *partial);
}

static void report(struct backing *backing, const char *directory)
{
    const struct backup *backup = &backing->backup;
    uint64_t bytes = 0;
    size_t reused = 0, index;
    json_t *left_out;
    for (size_t i = 0; i < backup->count; i++) {
        bytes += backup->files[i].reused ? 0 : backup->files[i].size;
        reused += backup->files[i].reused;
    }
    ctl_print(backing->ctl,
              json_pack("{s:s, s:I, s:I, s:I, s:O}", "directory", directory, "files",
                        (json_int_t)backup->count, "reused", (json_int_t)reused, "written_bytes",
                        (json_int_t)bytes, "left_out", backup->left_out),
              "%s holds %zu files: %zu are shared with the previous backup, and %.1f MiB are new.",
              directory, backup->count, reused, (double)bytes / (1 << 20));
    if (!backing->ctl->json)
        json_array_foreach (backup->left_out, index, left_out)
            printf("Not in it: %s: %s\n", json_string_value(json_object_get(left_out, "id")),
                   json_string_value(json_object_get(left_out, "reason")));
    if (backing->failures)
        backing->ctl->exit_status = EXIT_INCOMPLETE;
}

static int run(struct backing *backing, const char *directory, struct error **err)
{
    autofree struct backup_object *objects = NULL;
    autofree char *partial = NULL;
    size_t count;
    if (backup_db_objects(backing->ctl->db, &objects, &count, err) < 0 ||
        check_chosen(backing, objects, count, err) < 0 ||
        make_partial(directory, &partial, err) < 0)
        return -1;
    backup_begin(&backing->backup, partial, db_schema_needed);
    if (back_up(backing, objects, count, err) < 0 ||
        backup_finish(&backing->backup, directory, err) < 0)
        /* One in which nothing has been written yet goes. */
        return rmdir(partial) == 0 ? -1
                                   : error_context(err, "%s is not a complete backup", partial);
    report(backing, directory);
    return 0;
}

int ctl_backup(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct backing backing = {.ctl = ctl, .arguments = arguments};
    const char *base = ctl_text(arguments, "base");
    if (check_arguments(arguments, err) < 0)
        return -1;
    int result = base ? backup_load(&backing.base, base, err) : 0;
    if (result == 0)
        result = run(&backing, arguments->operands[0], err);
    backup_deinit(&backing.backup);
    backup_deinit(&backing.base);
    return result;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "objects/objects_internal.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./"

static bool is_plain_path(const char *path)
{
    return path[strspn(path, PLAIN)] == '\0' && !strstr(path, "//") && !strstr(path, "..");
}

/* Of "https://server/bucket/prefix" the part behind the server. */
static const char *path_of(const char *url)
{
    const char *server = strstr(url, "://");
    return server ? strchr(server + strlen("://"), '/') : NULL;
}

int objects_check_url(const char *url, struct error **err)
{
    bool is_server = str_starts_with(url, "https://") || str_starts_with(url, "http://");
    const char *path = is_server ? path_of(url) : url;
    if (path && path[0] == '/' && path[1] && is_plain_path(path) && !str_ends_with(path, "/") &&
        !strpbrk(url, "@?#"))
        return 0;
    return error_set(err, ERR_CONFIG,
                     "%s is not an archive: write https://server/bucket, with a prefix after it if "
                     "you like, or the path of a folder, with letters, digits, '-', '_', '.'",
                     url);
}

int objects_open(const struct objects_place *place, struct objects **objects, struct error **err)
{
    if (objects_check_url(place->url, err) < 0)
        return -1;
    return place->url[0] == '/' ? objects_open_folder(place, objects, err)
                                : objects_open_s3(place, objects, err);
}

void objects_close(struct objects *objects)
{
    if (!objects)
        return;
    free(objects->url);
    objects->ops->close(objects);
}

void objects_tick_by(struct objects *objects, int (*tick)(void *context, struct error **err),
                     void *context)
{
    objects->tick = tick;
    objects->tick_context = context;
}

int objects_tick_now(struct objects *objects, struct error **err)
{
    return objects->tick ? objects->tick(objects->tick_context, err) : 0;
}

/* Add the object and its storage to an error, except to an error of tick(). */
static int in_archive(const struct objects *objects, const char *act, const char *key,
                      struct error **err)
{
    if ((*err)->code == ERR_LEASE_LOST)
        return -1;
    return error_context(err, "the archive at %s: cannot %s %s", objects->url, act, key);
}

int objects_put(struct objects *objects, const char *key, const void *data, size_t size,
                struct error **err)
{
    return objects->ops->put(objects, key, data, size, err) < 0
               ? in_archive(objects, "write", key, err)
               : 0;
}

int objects_read(struct objects *objects, const char *key, uint64_t offset, void *data, size_t size,
                 size_t *got, struct error **err)
{
    *got = 0;
    return objects->ops->read(objects, key, offset, data, size, got, err) < 0
               ? in_archive(objects, "read", key, err)
               : 0;
}

int objects_delete(struct objects *objects, const char *key, struct error **err)
{
    if (objects->ops->remove(objects, key, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return in_archive(objects, "delete", key, err);
    return 0;
}

int objects_each(struct objects *objects, const char *folder,
                 int (*act)(void *context, const struct objects_listed *one, struct error **err),
                 void *context, struct error **err)
{
    return objects->ops->each(objects, folder, act, context, err) < 0
               ? in_archive(objects, "list", folder, err)
               : 0;
}

/* --- objects in parts --- */

int objects_upload_begin(struct objects *objects, const char *key, char *name,
                         struct objects_upload **out, struct error **err)
{
    struct objects_upload *upload = xcalloc(1, sizeof *upload);
    upload->objects = objects;
    upload->key = xstrdup(key);
    upload->fd = -1;
    if (objects->ops->upload_begin(upload, err) < 0) {
        objects_upload_free(upload);
        return in_archive(objects, "start writing", key, err);
    }
    snprintf(name, OBJECTS_UPLOAD_SIZE, "%s", upload->name);
    *out = upload;
    return 0;
}

int objects_upload_part(struct objects_upload *upload, const void *data, size_t size,
                        struct error **err)
{
    struct objects *objects = upload->objects;
    if (upload->parts == OBJECTS_PARTS_MAX)
        return error_set(err, ERR_CONFIG, "%s is larger than the %llu MiB that an object may have",
                         upload->key,
                         (unsigned long long)OBJECTS_PARTS_MAX * (OBJECTS_PART_BYTES >> 20));
    if (objects->ops->upload_part(upload, data, size, err) < 0)
        return in_archive(objects, "write", upload->key, err);
    upload->parts++;
    return 0;
}

int objects_upload_finish(struct objects_upload *upload, struct error **err)
{
    struct objects *objects = upload->objects;
    return objects->ops->upload_finish(upload, err) < 0
               ? in_archive(objects, "finish writing", upload->key, err)
               : 0;
}

void objects_upload_free(struct objects_upload *upload)
{
    if (!upload)
        return;
    for (unsigned i = 0; upload->tags && i < upload->parts; i++)
        free(upload->tags[i]);
    if (upload->fd >= 0)
        cleanup_close_(&upload->fd);
    free(upload->tags);
    free(upload->key);
    free(upload->name);
    free(upload);
}

int objects_upload_abandon(struct objects *objects, const char *key, const char *name,
                           struct error **err)
{
    if (objects->ops->upload_abandon(objects, key, name, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return in_archive(objects, "discard the parts of", key, err);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operations of a kind of storage. For objects_*.c only. */
#pragma once

#include "objects/objects.h"

struct objects_upload {
    struct objects *objects;
    char *key, *name;
    char **tags; /* of S3: the ETags of the parts */
    unsigned parts;
    int fd; /* of the folder */
};

struct objects_ops {
    void (*close)(struct objects *objects);
    int (*put)(struct objects *objects, const char *key, const void *data, size_t size,
               struct error **err);
    int (*read)(struct objects *objects, const char *key, uint64_t offset, void *data, size_t size,
                size_t *got, struct error **err);
    int (*remove)(struct objects *objects, const char *key, struct error **err);
    int (*each)(struct objects *objects, const char *folder,
                int (*act)(void *context, const struct objects_listed *one, struct error **err),
                void *context, struct error **err);
    int (*upload_begin)(struct objects_upload *upload, struct error **err);
    int (*upload_part)(struct objects_upload *upload, const void *data, size_t size,
                       struct error **err);
    int (*upload_finish)(struct objects_upload *upload, struct error **err);
    int (*upload_abandon)(struct objects *objects, const char *key, const char *name,
                          struct error **err);
};

struct objects {
    const struct objects_ops *ops;
    char *url; /* as given, for messages */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
};

int objects_open_folder(const struct objects_place *place, struct objects **objects,
                        struct error **err);
int objects_open_s3(const struct objects_place *place, struct objects **objects,
                    struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Store objects: bytes under a key, in a bucket of a server with the interface of S3, or in a
 * folder. Large objects are written in parts and read in ranges, so that the caller's buffer limits
 * the memory. After temporary failures, requests are repeated for about half a minute.
 *
 * Keys are ours: letters, digits, '-', '_', '.' and '/'. Errors of all calls: ERR_NOT_FOUND (the
 * object does not exist), ERR_RUNTIME_UNAVAILABLE (the storage does not answer in time),
 * ERR_INSUFFICIENT_STORAGE (it is full), and the errors of tick(). ERR_CONFIG (the storage refuses
 * the call, with its own message: wrong credentials, missing rights, or no such bucket).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The size of all parts but the last one. S3 takes at most 10,000 parts, each of at least 5 MiB. */
#define OBJECTS_PART_BYTES  ((size_t)16 << 20)
#define OBJECTS_PARTS_MAX   10000
#define OBJECTS_UPLOAD_SIZE 1025 /* of the name of an upload */

struct objects_place {
    const char *url;              /* https://server/bucket[/prefix], or the path of a folder */
    const char *region;           /* of the bucket */
    const char *credentials_file; /* two lines: the access key's id, and its secret */
    unsigned tries;               /* of a server that does not answer; 0: for half a minute */
};

struct objects;

/* Check the form of a url; nothing is opened. Errors: ERR_CONFIG. */
int objects_check_url(const char *url, struct error **err);

/* Prepare a storage; nothing is sent yet. Errors: ERR_CONFIG (the url has another form, or the file
 * of credentials cannot be read, has another form, or can be read by every user). */
int objects_open(const struct objects_place *place, struct objects **objects, struct error **err);
void objects_close(struct objects *objects); /* NULL is allowed */

/* Set the function that is called at least every second while a call waits for the storage. If it
 * returns -1, the call ends with its error. NULL: none. */
void objects_tick_by(struct objects *objects, int (*tick)(void *context, struct error **err),
                     void *context);

/* Call the function of objects_tick_by() now, for a caller that works between two calls. Errors:
 * those of the function. */
int objects_tick_now(struct objects *objects, struct error **err);

/* Write a small object as a whole. */
int objects_put(struct objects *objects, const char *key, const void *data, size_t size,
                struct error **err);

/* Read at most size bytes from offset. *got is less than size at the object's end. */
int objects_read(struct objects *objects, const char *key, uint64_t offset, void *data, size_t size,
                 size_t *got, struct error **err);

/* Delete an object. Success if it does not exist. */
int objects_delete(struct objects *objects, const char *key, struct error **err);

struct objects_listed {
    const char *key;
    uint64_t size;
    int64_t modified_at_ms;
};
/* Call act() for each object below "folder/", until it returns -1. act() may delete this object.
 * Errors: also those of act(). */
int objects_each(struct objects *objects, const char *folder,
                 int (*act)(void *context, const struct objects_listed *one, struct error **err),
                 void *context, struct error **err);

/* --- objects in parts --- */

struct objects_upload;

/* Start an upload. name: for objects_upload_abandon(), OBJECTS_UPLOAD_SIZE bytes. The caller calls
 * objects_upload_free(). Before the first part, nothing needs to be abandoned. */
int objects_upload_begin(struct objects *objects, const char *key, char *name,
                         struct objects_upload **upload, struct error **err);

/* Send the next part: OBJECTS_PART_BYTES, or the rest. Errors: ERR_CONFIG also after
 * OBJECTS_PARTS_MAX parts. */
int objects_upload_part(struct objects_upload *upload, const void *data, size_t size,
                        struct error **err);

/* Complete the object after its last part. Before, the object does not exist. */
int objects_upload_finish(struct objects_upload *upload, struct error **err);
void objects_upload_free(struct objects_upload *upload); /* NULL is allowed; the parts stay */

/* Delete the parts of an unfinished upload. Success if no part exists. */
int objects_upload_abandon(struct objects *objects, const char *key, const char *name,
                           struct error **err);

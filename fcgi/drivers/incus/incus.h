/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The REST interface of Incus over a unix socket or over HTTPS with a client certificate. One
 * struct incus is one connection, kept between calls; calls block.
 *
 * Errors of every call to the server:
 *   ERR_RUNTIME_UNAVAILABLE  cannot connect to the server, or the server is not ready: nothing
 *                            happened. Also a read without an answer.
 *   ERR_OUTCOME_UNKNOWN      an order was sent and its result is unknown
 *   ERR_NOT_FOUND            the object of the path does not exist
 *   ERR_RUNTIME_FAILED       an instance did not start; it exists
 *   ERR_RUNTIME_STUCK        likewise: its start did not end and was killed
 *   ERR_MOUNT_POINT          likewise: the place of a mount is not suitable; it is the field
 *   ERR_RUNTIME_REFUSED      the server's own message; incus_last_error() returns its kind
 *
 * and the errors of tick(). After these, an order that was sent may still be carried out.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory_loss.h"
#include "incus/incus_answer.h"

struct incus_options {
    const char *url;              /* unix:///path/unix.socket or https://host[:port] */
    const char *project;          /* every object lives in it */
    const char *server_cert;      /* PEM: the only certificate that an https server may present;
                                     NULL: any certificate for its name by an authority of the
                                     system */
    const char *client_cert_file; /* https only */
    const char *client_key_file;
    /* Called at least once in two seconds while a call waits; -1 with *err set ends the call with
     * that error. May be NULL. It must not use this connection. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
};

struct incus;

/* Prepare a connection; nothing is sent yet. Strings are copied. Errors: ERR_CONFIG. */
int incus_open(const struct incus_options *options, struct incus **incus, struct error **err);
void incus_close(struct incus *incus); /* NULL is allowed */

/* Return how many orders have been sent over this connection. If the number has grown during a
 * series of calls, the failure of a later read does not mean that nothing happened. */
unsigned incus_orders_sent(const struct incus *incus);

/* Return the kind of refusal of the last failed call. */
enum incus_error incus_last_error(const struct incus *incus);

/* Sleep, calling tick(). Errors: those of tick(). */
int incus_idle(struct incus *incus, unsigned wait_ms, struct error **err);

/* Read a path of the API, such as "/1.0/operations?recursion=1". *metadata: the answer, owned by
 * the caller; NULL without metadata. */
int incus_get(struct incus *incus, const char *path, json_t **metadata, struct error **err);

/* Read the processor architecture of the server's kernel, as `uname -m` prints it. The caller frees
 * *architecture. */
int incus_architecture(struct incus *incus, char **architecture, struct error **err);

/* Do the same as incus_get(), for answers that grow with the number of instances. */
int incus_get_large(struct incus *incus, const char *path, json_t **metadata, struct error **err);

/* Send an order, and wait until it is carried out, at most 15 minutes. Incus answers at once, or
 * starts an operation. body: borrowed; may be NULL. */
int incus_order(struct incus *incus, const char *method, const char *path, json_t *body,
                struct error **err);

/* --- instances --- */

enum incus_status {
    INCUS_STOPPED,
    INCUS_RUNNING,
    INCUS_FROZEN,
    INCUS_IN_BETWEEN, /* starting, stopping, freezing, or broken */
};

struct incus_instance {
    char name[64];
    enum incus_status status;
    bool stateful; /* stopped with a memory image */
    bool virtual_machine;
    bool ever_started;
    int64_t created_at_ms;
    json_t *config;  /* of the instance itself, without its profiles */
    json_t *devices; /* likewise */
};

/* Free the contents. A struct is zero-initialised before its first use; each read of an instance
 * replaces the contents. */
void incus_instance_deinit(struct incus_instance *instance);
#define incus_instance_auto __attribute__((cleanup(incus_instance_deinit))) struct incus_instance

/* Return a value of the configuration, or of a device. "": the instance itself does not have it. */
const char *incus_instance_config(const struct incus_instance *instance, const char *key);
const char *incus_instance_device(const struct incus_instance *instance, const char *device,
                                  const char *key);

int incus_instance_get(struct incus *incus, const char *name, struct incus_instance *instance,
                       struct error **err);

/* Read why a container that was resumed ended, if its memory could not be completed
 * (base/memory_loss.h); otherwise cause is "", also for an instance that does not exist. */
int incus_instance_memory_loss(struct incus *incus, const char *name, char cause[MEMORY_LOSS_SIZE],
                               struct error **err);

/* List all instances of the project. The caller calls incus_instance_list_free(). */
int incus_instance_list(struct incus *incus, struct incus_instance **list, size_t *count,
                        struct error **err);
void incus_instance_list_free(struct incus_instance *list, size_t count);

/* Read the text that a running instance has written to its console, as far as incusd keeps it.
 * *text is valid until the next call. */
int incus_instance_console(struct incus *incus, const char *name, const char **text,
                           struct error **err);

/* Check whether an operation on an instance is running. */
int incus_instance_busy(struct incus *incus, const char *name, bool *busy, struct error **err);

/* Create an instance. body: its definition; borrowed. */
int incus_instance_create(struct incus *incus, json_t *body, struct error **err);

enum incus_action { INCUS_START, INCUS_STOP, INCUS_UNFREEZE };

/* stateful: stop with a memory image, or start from one. force: no clean shutdown. timeout_s: the
 * time for a clean shutdown; 0: 30 s. */
struct incus_state_change {
    enum incus_action action;
    bool stateful;
    bool force;
    unsigned timeout_s;
};
/* Change the state of an instance. A start without a memory image may take 90 s, other changes 15
 * minutes. */
int incus_instance_change(struct incus *incus, const char *name,
                          const struct incus_state_change *change, struct error **err);

/* Change some keys of the configuration, and whole devices. Both are borrowed, and may be NULL. A
 * key with "" is removed. */
int incus_instance_patch(struct incus *incus, const char *name, json_t *config, json_t *devices,
                         struct error **err);

/* Create a snapshot. stateful: with the memory of a running or frozen instance. */
int incus_instance_snapshot(struct incus *incus, const char *name, const char *snapshot,
                            bool stateful, struct error **err);
int incus_instance_snapshot_delete(struct incus *incus, const char *name, const char *snapshot,
                                   struct error **err);

/* Restore a snapshot, and let the instance continue with the snapshot's memory. */
int incus_instance_restore(struct incus *incus, const char *name, const char *snapshot,
                           struct error **err);

/* Remove a device. Success if the instance does not have the device. No other caller may change the
 * instance meanwhile. */
int incus_instance_remove_device(struct incus *incus, const char *name, const char *device,
                                 struct error **err);

/* A file or directory in an instance's root file system, owned by its root. */
struct incus_file {
    const char *path;
    bool is_directory;
    unsigned mode;
    const void *data; /* of a file; borrowed; NULL: empty */
    size_t size;
};

/* Write a file into an instance, in place of an existing one, or create a directory. */
int incus_instance_push(struct incus *incus, const char *name, const struct incus_file *file,
                        struct error **err);

int incus_instance_delete(struct incus *incus, const char *name, struct error **err);

/* Read the whole definition of an instance, as for a new one; owned by the caller. */
int incus_instance_describe(struct incus *incus, const char *name, json_t **instance,
                            struct error **err);
/* Read a definition from incus_instance_describe() into a struct, as incus_instance_get() does.
 * json: borrowed. Errors: ERR_RUNTIME_REFUSED (the definition has no name). */
int incus_instance_read(json_t *json, struct incus_instance *instance, struct error **err);

/* Copy a stopped instance to another server, with the memory image if it has one and without its
 * snapshots. body: its definition there, without a source; it is changed. One of the two servers
 * must reach the other at its https address; else ERR_RUNTIME_REFUSED. */
int incus_instance_send(struct incus *from, struct incus *to, const char *name, json_t *body,
                        struct error **err);

/* --- custom volumes of a storage pool --- */

struct incus_volume {
    char name[64];
    int64_t created_at_ms;
};

/* Create a volume. config: borrowed. INCUS_ERROR_EXISTS when the name is taken. */
int incus_volume_create(struct incus *incus, const char *pool, const char *name, json_t *config,
                        struct error **err);

/* Delete a volume. INCUS_ERROR_IN_USE while an instance has it, stopped ones included. */
int incus_volume_delete(struct incus *incus, const char *pool, const char *name,
                        struct error **err);

/* Copy a volume, without snapshots, to another server's storage pool, where the name must be free.
 * Otherwise as incus_instance_send(). */
struct incus_volume_place {
    struct incus *incus;
    const char *pool;
};
int incus_volume_send(const struct incus_volume_place *from, const struct incus_volume_place *to,
                      const char *name, struct error **err);

/* List the custom volumes of the project in a storage pool. The caller frees the array. */
int incus_volume_list(struct incus *incus, const char *pool, struct incus_volume **list,
                      size_t *count, struct error **err);

/* --- whole objects in a file --- */

enum incus_object { INCUS_INSTANCE, INCUS_VOLUME };

/* One instance, with its snapshots and its memory image, or one custom volume of a storage pool.
 * optimized: in streams of the storage driver (btrfs), which only a storage pool of this driver can
 * import; else in an archive of files. An instance needs no pool. */
struct incus_archive {
    enum incus_object object;
    const char *pool;
    const char *name;
    bool optimized;
};

/* Write an object to a file. Incus creates the whole file on its host first, which needs room
 * there. A download that breaks off is ERR_RUNTIME_UNAVAILABLE. Other errors: ERR_CONFIG (cannot
 * write the file). */
int incus_export(struct incus *incus, const struct incus_archive *archive, FILE *to,
                 struct error **err);

/* Import the next size bytes of a file into this connection's project, under the original name.
 * INCUS_ERROR_EXISTS when the name is taken. */
int incus_import(struct incus *incus, const struct incus_archive *archive, FILE *from,
                 uint64_t size, struct error **err);

/* Read the driver of a storage pool: "btrfs", "dir". The caller frees *driver. */
int incus_pool_driver(struct incus *incus, const char *pool, char **driver, struct error **err);

/* --- prerequisites of instances --- */

/* Create the project of this connection. An existing project is left as it is. config: borrowed.
 * Errors: ERR_CONFIG (the server is a member of a cluster, and the project may belong to another
 * member). */
int incus_project_ensure(struct incus *incus, json_t *config, struct error **err);

/* Remove these profiles, and then the project of this connection, which must be empty. Success if
 * they do not exist. */
int incus_project_remove(struct incus *incus, const char *const *profiles, unsigned count,
                         struct error **err);

/* Create a profile, or change it to exactly this content. config and devices: borrowed. */
int incus_profile_ensure(struct incus *incus, const char *name, json_t *config, json_t *devices,
                         struct error **err);

/* Find the image with an alias or a fingerprint. The caller frees *fingerprint. */
int incus_image_resolve(struct incus *incus, const char *reference, char **fingerprint,
                        bool *virtual_machine, struct error **err);

/* Read the size of an image's files; 0 if the image does not exist. */
int incus_image_size(struct incus *incus, const char *fingerprint, uint64_t *bytes,
                     struct error **err);

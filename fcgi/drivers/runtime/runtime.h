/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface to a runtime daemon, so that another daemon than Incus can be added. One struct
 * runtime is one connection to one host. Every call can be repeated: success if its effect exists
 * already. Calls block. While they wait for the daemon, they call tick() at least every two
 * seconds. A worker then renews its lease, and notices its loss.
 *
 * Errors of all calls: the errors of tick(), and
 *   ERR_RUNTIME_UNAVAILABLE   cannot connect to the daemon; nothing happened
 *   ERR_OUTCOME_UNKNOWN       an order was sent, and its result is unknown: call inspect()
 *   ERR_NOT_FOUND             no such instance
 *   ERR_RUNTIME_REFUSED       the daemon's own message
 *   ERR_RUNTIME_FAILED        an instance did not start; another attempt may succeed
 *   ERR_RUNTIME_STUCK         its start did not end, and was killed
 *   ERR_MOUNT_POINT           a mount point is not suitable; it is the error's field
 *   ERR_INSUFFICIENT_STORAGE  a disk is full
 *
 * After ERR_OUTCOME_UNKNOWN and after an error of tick(), the daemon may still be at work. A
 * repeated call waits for this, and then completes the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory_loss.h"
#include "http/pool.h"

#define INSTANCE_NAME_SIZE 64

/* Write the name of the source of a template version: "tpl-" and the ULID of its id. */
void runtime_source_name(const char *version_id, char name[INSTANCE_NAME_SIZE]);

/* A host as the database describes it. Strings are borrowed for the time of a call. */
struct runtime_host {
    const char *url;         /* unix:///path/unix.socket or https://host:port */
    const char *server_cert; /* PEM that an https server must present, or NULL */
    const char *client_cert_file;
    const char *client_key_file;
    const char *project;
    const char *pool;
    const char *nic_prefix; /* of host-side interface names; at most 2 characters */
};

struct runtime_resources {
    unsigned cpu;
    unsigned memory_mb;
    unsigned disk_gb;
};

/* A volume of the host and where an instance has it. Strings are borrowed. */
struct runtime_mount {
    const char *volume;
    const char *path;
};

struct runtime_instance {
    const char *name;       /* of the instance on the host: letters, digits, '-' */
    const char *address;    /* IPv4, dotted */
    const char *source;     /* the template's source instance */
    const char *sandbox_id; /* stored with the instance, so that a sweep can find the row */
    bool virtual_machine;
    bool net_admin; /* its root may change its interfaces and routes */
    struct runtime_resources resources;
    const struct runtime_mount *mounts;
    unsigned mount_count;
    /* The source is of memory->copy(), or "instance/snapshot" of memory->snapshot(): it continues
     * there. A host of an older version, or without btrfs, starts it from its disk. If it is
     * created step by step, a snapshot stays instead, for snapshot_drop(). */
    bool with_memory, step_by_step;
};

enum runtime_status {
    RUNTIME_ABSENT,
    RUNTIME_STOPPED, /* disk only */
    RUNTIME_PAUSED,  /* stopped, with a memory image to continue from */
    RUNTIME_RUNNING,
    RUNTIME_FROZEN,
    RUNTIME_OTHER, /* starting, stopping, broken: ask again */
};

/* Return whether no process of the instance runs. */
static inline bool runtime_is_down(enum runtime_status status)
{
    return status == RUNTIME_ABSENT || status == RUNTIME_STOPPED || status == RUNTIME_PAUSED;
}

enum runtime_origin { RUNTIME_FROM_MEMORY, RUNTIME_FROM_DISK };

struct runtime_listing {
    char *name;
    char *sandbox_id; /* "" when the instance carries none */
    enum runtime_status status;
    int64_t created_at_ms;
};

/* The instance through which the files of a host's volumes are reached. Strings are borrowed. */
struct runtime_keeper {
    const char *name;
    const char *address; /* IPv4, dotted */
    const void *program; /* a static program, all that runs in it */
    size_t program_size;
    const char *secret; /* the arguments of the program */
};

struct runtime_volume {
    char name[64];
    int64_t created_at_ms;
};

/* The usage of a running instance, as the daemon sees it from outside. */
struct runtime_usage {
    char *name;
    bool virtual_machine;
    uint64_t cpu_ms;       /* since it was started or resumed */
    uint64_t memory_bytes; /* without the kernel's caches */
    uint64_t cache_bytes;
    uint64_t memory_kills; /* by the kernel for want of memory, since then */
};

/* Copy the last lines of a console's text, with " / " between them, for a message. Leave out escape
 * sequences and all characters that are not printable ASCII. */
#define RUNTIME_CONSOLE_SIZE 512
void runtime_console_tail(const char *text, char tail[RUNTIME_CONSOLE_SIZE]);

/* Events of the daemon about its instances. */
enum runtime_event_kind {
    RUNTIME_EVENT_NONE,
    RUNTIME_EVENT_BEGIN,     /* from now on all events arrive; list the instances for the earlier
                              * state */
    RUNTIME_EVENT_ENDED,     /* stopped, by itself or by order, or removed */
    RUNTIME_EVENT_RESTARTED, /* stopped and started again, not by this service */
};

struct runtime_event {
    enum runtime_event_kind kind;
    char instance[INSTANCE_NAME_SIZE];
};

struct runtime;

/* The identity of a copy from another host. */
struct runtime_receipt {
    const char *token; /* of this copy; borrowed */
    unsigned attempt;  /* its number: no attempt can mark the copy of another one as complete */
};

enum runtime_pause {
    RUNTIME_PAUSE_MEMORY,
    RUNTIME_PAUSE_MEMORY_OR_DISK,
    RUNTIME_PAUSE_DISK,         /* its programs are asked to end, and killed after some seconds */
    RUNTIME_PAUSE_DISK_AT_ONCE, /* its programs are killed, except in a virtual machine; their
                                 * written data is kept */
};

/* Why a pause kept the disk only: the memory did not fit into the storage pool of the host. */
#define RUNTIME_POOL_SHORT "The storage pool has too little space for the memory."

/* The purpose of a stopped copy of a disk. */
enum runtime_copy { RUNTIME_CHECKPOINT, RUNTIME_SOURCE };

/* The leftovers of an instance that was created step by step. */
#define RUNTIME_MEMORY_SNAPSHOT "memory"

/* The kinds of objects for export_object(). */
enum runtime_object { RUNTIME_INSTANCE, RUNTIME_VOLUME };

/* Copy instances that run or are paused, with their memory. */
struct runtime_memory_ops {
    /* Do the same as runtime_ops.copy(), for a checkpoint with the memory at that moment. size_mb
     * is not NULL. A running instance is frozen meanwhile, and then continues. A paused one stays
     * paused. Instances that are created from the copy with_memory continue from this moment, under
     * an address of their own and without its connections. Other errors: ERR_RUNTIME_SHORT,
     * ERR_HOST_KEEPS_NO_MEMORY, ERR_MEMORY_NOT_KEPT (also when the instance is stopped without
     * memory). After any error, call undo_copy(). */
    int (*copy)(struct runtime *runtime, const char *name, const char *copy, const char *owner,
                uint32_t *size_mb, struct error **err);
    /* Let the original continue after a failed copy() or snapshot(), and delete the remains in it.
     * Success if it does not exist. Errors: ERR_RUNTIME_UNAVAILABLE, also while the daemon still
     * copies it. */
    int (*undo_copy)(struct runtime *runtime, const char *name, const char *copy,
                     struct error **err);

    /* Do the same as copy() in less time: the copy is a snapshot of the instance, and is deleted
     * with it. After any error, call undo_copy() with the name of the snapshot. */
    int (*snapshot)(struct runtime *runtime, const char *name, const char *snapshot,
                    struct error **err);

    /* Remove a snapshot. No such instance, or no such snapshot: success. */
    int (*snapshot_drop)(struct runtime *runtime, const char *name, const char *snapshot,
                         struct error **err);
};

/* Keep disks that instances mount, and the instance through which their files are reached. */
struct runtime_volume_ops {
    /* Create an empty volume of this size, owned by the user of a sandbox (user and group id
     * 1000). */
    int (*create)(struct runtime *runtime, const char *name, unsigned size_gb, struct error **err);

    /* Delete a volume with its contents. Success if it does not exist. Errors: ERR_VOLUME_ATTACHED
     * (an instance has it). */
    int (*delete)(struct runtime *runtime, const char *name, struct error **err);

    /* List the volumes of the project in the storage pool. The caller frees the array. */
    int (*list)(struct runtime *runtime, struct runtime_volume **list, size_t *count,
                struct error **err);

    /* Create an instance that has only this program, and start it. The name must be free: this call
     * cannot be repeated. list_copies() lists it, list() does not; inspect() and destroy() accept
     * it. */
    int (*keeper_start)(struct runtime *runtime, const struct runtime_keeper *keeper,
                        struct error **err);

    /* Mount a volume at /volumes/<volume_id> of a volume server, or unmount it. Success if this was
     * done before. Only one caller at a time. Errors: ERR_NOT_FOUND (no such volume server, or no
     * such volume). */
    int (*keeper_mount)(struct runtime *runtime, const char *name, const char *volume,
                        const char *volume_id, struct error **err);
    int (*keeper_unmount)(struct runtime *runtime, const char *name, const char *volume,
                          struct error **err);
};

/* Copy from other hosts, and to and from files of a backup or an archive. */
struct runtime_transfer_ops {
    /* Copy an instance that is stopped or paused on another host, with its memory, under its name.
     * An existing copy is replaced. The original stays unchanged. source: the template's source of
     * build_source(); data that both hosts have in it is not sent. Both hosts' ticks are called. */
    int (*receive)(struct runtime *runtime, struct runtime *from, const char *name,
                   const char *source, struct error **err);

    /* Do the same for a checkpoint of either copy(), with its memory. A complete copy with the same
     * token stays. */
    int (*receive_checkpoint)(struct runtime *runtime, struct runtime *from, const char *name,
                              const char *source, const struct runtime_receipt *receipt,
                              struct error **err);

    /* Copy a volume without writers from another host, under its name. An existing copy is
     * replaced. Errors: ERR_VOLUME_ATTACHED when an instance here has a volume with this name. */
    int (*receive_volume)(struct runtime *runtime, struct runtime *from, const char *name,
                          struct error **err);

    /* Do the same as receive() for a source of build_source(). An existing complete copy stays,
     * because a source never changes. */
    int (*receive_source)(struct runtime *runtime, struct runtime *from, const char *source,
                          struct error **err);

    /* Write an instance with its memory image, or a volume, to a file. The contents are of one
     * moment. The host needs room for a second copy. From a btrfs pool, the file has btrfs streams,
     * which only another btrfs pool can import. Other errors: ERR_CONFIG (cannot write the
     * file). */
    int (*export_object)(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *to, struct error **err);

    /* Import such a file, from its present position to its end. name: the original name. The
     * volumes that an instance mounts must exist. *made false: the object exists already, and stays
     * unchanged. Other errors: ERR_CONFIG (cannot read the file). */
    int (*import_object)(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *from, bool *made, struct error **err);

    /* Import an instance, of a sandbox or a checkpoint, from a file of export_object(), perhaps of
     * another host: size bytes. An existing instance from another token, or an incomplete one, is
     * replaced. A complete one from this token stays, and the file is not read. */
    int (*take_in)(struct runtime *runtime, const char *name, const char *token, FILE *from,
                   uint64_t size, struct error **err);
};

/* Measure a host and its instances from outside. */
struct runtime_measure_ops {
    /* Read the usage of the running instances, in the order of their names. Instances without
     * numbers are left out. Calls within ten seconds may get the same numbers. The caller calls
     * runtime_usage_free(). */
    int (*instances)(struct runtime *runtime, struct runtime_usage **list, size_t *count,
                     struct error **err);

    /* Measure an instance's own disk, without the part that it shares with its template. */
    int (*disk)(struct runtime *runtime, const char *name, bool virtual_machine,
                uint64_t *used_bytes, struct error **err);

    /* Measure the size and the used part of the host's storage pool. */
    int (*pool)(struct runtime *runtime, uint64_t *total_bytes, uint64_t *used_bytes,
                struct error **err);

    /* Read the last lines of a running instance's console, as runtime_console_tail() leaves them.
     */
    int (*console)(struct runtime *runtime, const char *name, char tail[RUNTIME_CONSOLE_SIZE],
                   struct error **err);

    /* Read why the host ended a resumed instance whose memory could not be completed; "" if it did
     * not. */
    int (*memory_loss)(struct runtime *runtime, const char *name, char cause[MEMORY_LOSS_SIZE],
                       struct error **err);
};

/* Report events of instances. */
struct runtime_event_ops {
    /* Wait at most wait_ms for the next event, over a separate connection, which is opened when
     * needed. RUNTIME_EVENT_NONE: the time is over, or a signal interrupted the wait. Does not call
     * tick(). Opening the connection may take 1.5 s longer. Errors: ERR_RUNTIME_UNAVAILABLE: the
     * connection ended, and events are lost until the next RUNTIME_EVENT_BEGIN. */
    int (*listen)(struct runtime *runtime, unsigned wait_ms, struct runtime_event *event,
                  struct error **err);
};

/* The groups of a daemon that does not support them. Calls that create or read something fail with
 * ERR_RUNTIME_REFUSED, those for memory with ERR_HOST_KEEPS_NO_MEMORY. Calls that remove or list
 * something find nothing. Each wait for an event ends with RUNTIME_EVENT_BEGIN, so that the caller
 * lists the instances. */
extern const struct runtime_memory_ops runtime_no_memory;
extern const struct runtime_volume_ops runtime_no_volumes;
extern const struct runtime_transfer_ops runtime_no_transfers;
extern const struct runtime_measure_ops runtime_no_measures;
extern const struct runtime_event_ops runtime_no_events;

struct runtime_ops {
    const struct runtime_memory_ops *memory;
    const struct runtime_volume_ops *volume;
    const struct runtime_transfer_ops *transfer;
    const struct runtime_measure_ops *measure;
    const struct runtime_event_ops *event;

    /* The calls about instances, which every driver has. */

    /* Create the project, the hardened profile and the other prerequisites of instances. Other
     * errors: ERR_CONFIG (the daemon is in a cluster, and the project may belong to another
     * member). */
    int (*prepare)(struct runtime *runtime, struct error **err);

    /* Create a stopped instance `source` from the image with an alias or fingerprint. Copies of it
     * start without further preparation. *fingerprint: of the image that was used; the caller frees
     * it. *virtual_machine: the kind of the image. Only one caller at a time may build a source.
     * Errors: ERR_NOT_FOUND (no such image). */
    int (*build_source)(struct runtime *runtime, const char *source, const char *image,
                        char **fingerprint, bool *virtual_machine, struct error **err);

    /* Measure the disk space of a source of build_source(): the stored image with the fingerprint,
     * and the changes after unpacking. */
    int (*measure_source)(struct runtime *runtime, const char *source, const char *fingerprint,
                          bool virtual_machine, uint32_t *size_mb, struct error **err);

    /* Create an instance as a copy-on-write copy of the source, and start it. An existing instance
     * with the name is started, or created again if it is incomplete. Other errors: ERR_INTERNAL
     * (the address is wrong). A missing source is ERR_RUNTIME_REFUSED. */
    int (*create)(struct runtime *runtime, const struct runtime_instance *instance,
                  struct error **err);

    /* Set the size of an instance (resources NULL: unchanged), and add these volumes. A running
     * instance gets both at once, and keeps its other volumes. */
    int (*adapt)(struct runtime *runtime, const char *name,
                 const struct runtime_resources *resources, const struct runtime_mount *mounts,
                 unsigned mount_count, struct error **err);

    /* Copy the disk of an instance, running or stopped, into a stopped instance `copy`. The copy
     * has all writes before one moment. It is made by copy-on-write if the storage pool supports
     * it. It has neither network nor volumes nor memory. Instances can be created from it as from a
     * source. owner: an identifier that is stored with the copy. *size_mb (may be NULL): the space
     * of the original in the storage pool, without the space that it shares with its own source. */
    int (*copy)(struct runtime *runtime, const char *name, const char *copy, enum runtime_copy kind,
                const char *owner, uint32_t *size_mb, struct error **err);

    /* Read the status of an instance. A missing instance is a status, not an error. RUNTIME_OTHER
     * while the daemon works on a stopped one. */
    int (*inspect)(struct runtime *runtime, const char *name, enum runtime_status *status,
                   struct error **err);

    /* Stop an instance. With RUNTIME_PAUSE_MEMORY and RUNTIME_PAUSE_MEMORY_OR_DISK, try to keep the
     * memory, more than once if the host was short of something. When this fails, the second stops
     * the instance with its disk only. With the first, the instance continues to run. Errors then:
     * ERR_RUNTIME_SHORT (the host was short of something), ERR_MEMORY_NOT_KEPT (a process in the
     * instance is the cause), ERR_HOST_KEEPS_NO_MEMORY (the host cannot keep any memory). *origin:
     * the starting point of a resume. Success if the instance is stopped or paused already. */
    int (*pause)(struct runtime *runtime, const char *name,
                 const struct runtime_resources *resources, enum runtime_pause how,
                 enum runtime_origin *origin, struct error **err);

    /* Continue a paused instance, or start a stopped one from its disk. If the memory image cannot
     * be restored, the instance starts from its disk. with_memory false: do not use the memory
     * image. *origin: the real starting point. If the instance runs already, this succeeds, and
     * *origin is unchanged. */
    int (*resume)(struct runtime *runtime, const char *name,
                  const struct runtime_resources *resources, bool with_memory,
                  enum runtime_origin *origin, struct error **err);

    /* Stop an instance by force and delete all its data. Success if it does not exist. */
    int (*destroy)(struct runtime *runtime, const char *name, struct error **err);

    /* List the instances of the project that are sandboxes or warm instances, or will be after a
     * receive(). The caller calls runtime_listing_free(). */
    int (*list)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                struct error **err);

    /* List the other instances of this service in the project: sources and checkpoints, including
     * unfinished ones, and volume servers. sandbox_id: the identifier of the owner, or "". The
     * caller calls runtime_listing_free(). */
    int (*list_copies)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                       struct error **err);

    /* Undo prepare(), when all other objects of the project are deleted. */
    int (*unprepare)(struct runtime *runtime, struct error **err);

    void (*close)(struct runtime *runtime);
};

struct runtime {
    const struct runtime_ops *ops;
    /* Called while a call waits; may be NULL. -1 with *err ends the call with this error, while the
     * daemon continues its work. It must not use this runtime. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
    int64_t limit_ms; /* monotonic; of runtime_limit() */
    /* The pool of this worker: while a call waits for another one's end, or for the host, its
     * request counts as no start (http/pool.h). Borrowed; NULL: none. */
    struct pool *pool;
    /* Why the last pause() or resume() could not keep the memory, in the daemon's words. "": it
     * kept the memory, or had none to keep. */
    char memory_lost[256];
};

/* Limit the time of all calls from now on together; 0: no limit. Calls then fail with
 * ERR_RUNTIME_UNAVAILABLE, and an order that was sent may still be carried out. Replaces tick. */
void runtime_limit(struct runtime *runtime, unsigned ms);

/* Open a connection to an Incus host; nothing is sent yet. Errors: ERR_CONFIG. */
int runtime_incus_open(const struct runtime_host *host, struct runtime **runtime,
                       struct error **err);

void runtime_close(struct runtime *runtime); /* NULL is allowed */
void runtime_usage_free(struct runtime_usage *list, size_t count);
void runtime_listing_free(struct runtime_listing *list, size_t count);
/* Return the instance with a name, borrowed from the list. NULL: it is not in the list. */
const struct runtime_listing *runtime_listing_find(const struct runtime_listing *list, size_t count,
                                                   const char *name);

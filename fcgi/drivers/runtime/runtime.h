/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface to a runtime daemon, so that another daemon than Incus can be added. One struct
 * runtime is one connection to one host. Every call can be repeated: success if its effect exists
 * already. Calls block. While they wait for the daemon, they call tick() at least every two
 * seconds. A worker then renews its lease, and notices its loss.
 *
 * Errors of all calls: the errors of tick(), and ERR_RUNTIME_UNAVAILABLE (the daemon could not be
 * reached; nothing happened). ERR_OUTCOME_UNKNOWN (the order was sent, and its answer never came:
 * call inspect()). ERR_NOT_FOUND (no such instance). ERR_RUNTIME_REFUSED (the daemon's own words).
 * ERR_RUNTIME_FAILED (an instance did not start; another try may succeed). ERR_RUNTIME_STUCK (its
 * start did not end and was killed). ERR_MOUNT_POINT (a mount point is not suitable; it is the
 * error's field). ERR_INSUFFICIENT_STORAGE (a disk is full).
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

/* Name of the source of a template version: "tpl-" and the ULID of its id. */
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

/* Take the last lines of a console's text, with " / " between them, for a message. Other characters
 * than printable ones of ASCII are left out, and the sequences that move a terminal's cursor. */
#define RUNTIME_CONSOLE_SIZE 512
void runtime_console_tail(const char *text, char tail[RUNTIME_CONSOLE_SIZE]);

/* Events of the daemon about its instances. */
enum runtime_event_kind {
    RUNTIME_EVENT_NONE,
    RUNTIME_EVENT_BEGIN,     /* from now on all events arrive; list the instances for the earlier
                              * state */
    RUNTIME_EVENT_ENDED,     /* stopped, by itself or by order, or removed */
    RUNTIME_EVENT_RESTARTED, /* stopped and started again without our doing */
};

struct runtime_event {
    enum runtime_event_kind kind;
    char instance[INSTANCE_NAME_SIZE];
};

struct runtime;

/* The identity of a copy from another host. */
struct runtime_receipt {
    const char *token; /* of this copy; borrowed */
    unsigned attempt;  /* each attempt has its own, so that none declares another's copy complete */
};

enum runtime_pause {
    RUNTIME_PAUSE_MEMORY,
    RUNTIME_PAUSE_MEMORY_OR_DISK,
    RUNTIME_PAUSE_DISK,         /* its programs are asked to end, and killed after some seconds */
    RUNTIME_PAUSE_DISK_AT_ONCE, /* its programs are killed; their written data is kept */
};

/* The purpose of a stopped copy of a disk. */
enum runtime_copy { RUNTIME_CHECKPOINT, RUNTIME_SOURCE };

/* The leftovers of an instance that was created step by step. */
#define RUNTIME_MEMORY_SNAPSHOT "memory"

/* The kinds of objects for export_object(). */
enum runtime_object { RUNTIME_INSTANCE, RUNTIME_VOLUME };

/* Copy instances that run or are paused, with their memory. */
struct runtime_memory_ops {
    /* As runtime_ops.copy(), for a checkpoint with the memory at that moment. A running instance
     * stands still meanwhile, and then continues. A paused one stays paused. Instances that are
     * created from the copy with_memory continue from this moment, under an address of their own
     * and without its connections. Other errors: ERR_RUNTIME_SHORT, ERR_HOST_KEEPS_NO_MEMORY,
     * ERR_MEMORY_NOT_KEPT (also without memory). After any error call undo_copy(), which lets the
     * original continue. */
    int (*copy)(struct runtime *runtime, const char *name, const char *copy, const char *owner,
                uint32_t *size_mb, struct error **err);
    int (*undo_copy)(struct runtime *runtime, const char *name, const char *copy,
                     struct error **err);

    /* As copy(), sooner: the copy is a snapshot of the instance and goes when that goes. After any
     * error undo_copy() does as there. */
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

    /* Remove it with all that is in it. Absent: success. ERR_VOLUME_ATTACHED while an instance has
     * it. */
    int (*delete)(struct runtime *runtime, const char *name, struct error **err);

    /* Every volume of the project. The caller frees the array. */
    int (*list)(struct runtime *runtime, struct runtime_volume **list, size_t *count,
                struct error **err);

    /* Create an instance with this program alone, and start it. The name must be free. list()
     * leaves it out; inspect() and destroy() accept it. */
    int (*keeper_start)(struct runtime *runtime, const struct runtime_keeper *keeper,
                        struct error **err);

    /* Mount a volume at /volumes/<volume_id> of a keeper, or take it away again; done already:
     * success. One caller at a time. ERR_NOT_FOUND: no such keeper, or no such volume. */
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

    /* The same for a checkpoint, of either copy(), with its memory. A complete copy with
     * the same token stays. */
    int (*receive_checkpoint)(struct runtime *runtime, struct runtime *from, const char *name,
                              const char *source, const struct runtime_receipt *receipt,
                              struct error **err);

    /* Copy a volume without writers from another host, under its name. An existing copy is
     * replaced. Errors: ERR_VOLUME_ATTACHED when an instance here has a volume with this name. */
    int (*receive_volume)(struct runtime *runtime, struct runtime *from, const char *name,
                          struct error **err);

    /* The same as receive() for a source of build_source(), which is unique: a complete copy
     * stays. */
    int (*receive_source)(struct runtime *runtime, struct runtime *from, const char *source,
                          struct error **err);

    /* Write an instance, with its memory image, or a volume to a file, at one moment; the host
     * needs room for a second copy. From a btrfs pool the file has btrfs streams, which only
     * another btrfs pool can import. */
    int (*export_object)(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *to, struct error **err);

    /* Import such a file, under its original name, which the caller gives again. The volumes that
     * an instance mounts must exist. *made false: it exists already, and stays unchanged. */
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
    /* Read the usage of the running instances, by name; instances without numbers are left out.
     * Within ten seconds the answer may be the same. The caller frees with runtime_usage_free(). */
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
    /* Wait at most wait_ms for the next event, over a connection of their own, which is made when
     * needed. RUNTIME_EVENT_NONE: the time is over, or a signal came. Does not call tick(); making
     * the connection may take 1.5 s longer. Errors: ERR_RUNTIME_UNAVAILABLE: the connection is
     * over, and events are lost until the next RUNTIME_EVENT_BEGIN. */
    int (*listen)(struct runtime *runtime, unsigned wait_ms, struct runtime_event *event,
                  struct error **err);
};

/* The groups of a daemon that lacks them. Calls that make or find something are refused. Calls that
 * remove or list something find nothing. Without memory the refusal is ERR_HOST_KEEPS_NO_MEMORY.
 * Without events each wait ends with RUNTIME_EVENT_BEGIN, so that the caller lists the instances.
 */
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

    /* Create the project, the hardened profile and the other prerequisites of instances. */
    int (*prepare)(struct runtime *runtime, struct error **err);

    /* Make a stopped instance `source` from an image alias or fingerprint, ready so that copies of
     * it start without any further preparation (uid shift done). fingerprint: the image that was
     * used; owned by the caller. virtual_machine: the kind of the image. */
    int (*build_source)(struct runtime *runtime, const char *source, const char *image,
                        char **fingerprint, bool *virtual_machine, struct error **err);

    /* Measure the disk space of a source of build_source(): the stored image with the fingerprint,
     * and the changes after unpacking. */
    int (*measure_source)(struct runtime *runtime, const char *source, const char *fingerprint,
                          bool virtual_machine, uint32_t *size_mb, struct error **err);

    /* Copy-on-write copy of the source, started. An existing instance with the name is started. */
    int (*create)(struct runtime *runtime, const struct runtime_instance *instance,
                  struct error **err);

    /* Give a running instance another size (resources NULL: not), and mount volumes in it. */
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

    /* Stop it. With memory: try to keep memory and processes, more than once if the host was short
     * of something. If the runtime cannot, `how` decides whether the instance keeps running, or is
     * stopped with its disk. Errors then: ERR_RUNTIME_SHORT when the host was short of something,
     * ERR_MEMORY_NOT_KEPT when a process in it is the cause, ERR_HOST_KEEPS_NO_MEMORY when the host
     * cannot keep any memory. *origin: the starting point of a resume. Stopped or paused already:
     * success. */
    int (*pause)(struct runtime *runtime, const char *name,
                 const struct runtime_resources *resources, enum runtime_pause how,
                 enum runtime_origin *origin, struct error **err);

    /* Continue a paused instance, or start a stopped one from its disk. A memory image that does
     * not restore costs one attempt, then the disk is used. with_memory false: from disk at once.
     * *origin: the real starting point. Running already: success, *origin unchanged. */
    int (*resume)(struct runtime *runtime, const char *name,
                  const struct runtime_resources *resources, bool with_memory,
                  enum runtime_origin *origin, struct error **err);

    /* Stop an instance by force and delete all its data. Success if it does not exist. */
    int (*destroy)(struct runtime *runtime, const char *name, struct error **err);

    /* Every instance of the project that is a sandbox, or is becoming one by receive() (sources are
     * left out). The caller frees with runtime_listing_free(). */
    int (*list)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                struct error **err);

    /* List the other instances: sources and checkpoints, unfinished ones included; sandbox_id is
     * the identifier of their owner, if known. */
    int (*list_copies)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                       struct error **err);

    /* Undo prepare(), when nothing that was made since is left. */
    int (*unprepare)(struct runtime *runtime, struct error **err);

    void (*close)(struct runtime *runtime);
};

struct runtime {
    const struct runtime_ops *ops;
    /* Called while waiting; -1 (with *err set) makes the call return at once with that error,
     * while the daemon continues its work. It must not use this runtime. May be NULL. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
    int64_t limit_ms; /* monotonic; of runtime_limit() */
    /* The pool of this worker: while a call waits for another one's end, or for the host, its
     * request counts as no start (http/pool.h). Borrowed; NULL: none. */
    struct pool *pool;
    /* Why the last pause() or resume() that was to keep memory did not, in the daemon's words; ""
     * when it did, or was not to. */
    char memory_lost[256];
};

/* Bound the time of calls: from now on they end within about this time, with
 * ERR_RUNTIME_UNAVAILABLE; 0: they take as long as it takes. It uses tick. */
void runtime_limit(struct runtime *runtime, unsigned ms);

/* Open a connection to an Incus host; nothing is sent yet. Errors: ERR_CONFIG. */
int runtime_incus_open(const struct runtime_host *host, struct runtime **runtime,
                       struct error **err);

void runtime_close(struct runtime *runtime); /* NULL is allowed */
void runtime_usage_free(struct runtime_usage *list, size_t count);
void runtime_listing_free(struct runtime_listing *list, size_t count);
/* Find an instance by its name, borrowed; NULL when it is not listed. */
const struct runtime_listing *runtime_listing_find(const struct runtime_listing *list, size_t count,
                                                   const char *name);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sandlot needs of a VM runtime daemon, so that another daemon can be put beside Incus. One
 * struct runtime is one connection to one host. Every call can be repeated: doing what is already
 * done is success. Calls block; while they wait for the daemon they call tick() at least every two
 * seconds, through which a worker keeps its lease and learns that it lost it.
 *
 * Errors of all calls: ERR_RUNTIME_UNAVAILABLE (the daemon could not be reached, nothing
 * happened), ERR_OUTCOME_UNKNOWN (the order was sent, its answer never came: inspect() tells),
 * ERR_NOT_FOUND (no such instance), ERR_RUNTIME_REFUSED (the daemon's own words),
 * ERR_RUNTIME_FAILED (an instance did not start, and might another time), ERR_RUNTIME_STUCK (its
 * start did not end and was ended), ERR_MOUNT_POINT (a place that something is mounted on is none
 * for that; the place is the error's field), ERR_INSUFFICIENT_STORAGE (it failed because a disk is
 * full), and whatever tick() returned. After ERR_OUTCOME_UNKNOWN and after an error of tick() the
 * daemon may still be at work: repeating the call waits for that and then completes what is
 * missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define INSTANCE_NAME_SIZE 64

/* Name of the source of a template version: "tpl-" and the ULID of its id. */
void runtime_source_name(const char *version_id, char name[INSTANCE_NAME_SIZE]);

/* A runtime host as the database describes it. Strings are borrowed for the time of a call. */
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
    const char *sandbox_id; /* kept beside the instance so that a sweep can match both sides */
    bool virtual_machine;
    bool net_admin; /* its root may change its interfaces and routes */
    struct runtime_resources resources;
    const struct runtime_mount *mounts;
    unsigned mount_count;
    /* The source is of copy_memory(), or "instance/snapshot" of snapshot_memory(): it goes on where
     * that was. A host of an older version, or without btrfs, starts it from its disk all the same,
     * unless it is made step by step: then a snapshot of it is left behind, for snapshot_drop(). */
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

/* Whether nothing of it runs. */
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
    const char *secret; /* what the program is to ask for */
};

struct runtime_volume {
    char name[64];
    int64_t created_at_ms;
};

/* What a running instance uses, as the daemon sees it from outside. */
struct runtime_usage {
    char *name;
    bool virtual_machine;
    uint64_t cpu_ms;       /* since it was started or resumed */
    uint64_t memory_bytes; /* without what the kernel merely caches */
    uint64_t cache_bytes;
    uint64_t memory_kills; /* by the kernel for want of memory, since then */
};

/* What the daemon says by itself about its instances. */
enum runtime_event_kind {
    RUNTIME_EVENT_NONE,
    RUNTIME_EVENT_BEGIN, /* from now on it says everything; what was before has to be looked up */
    RUNTIME_EVENT_ENDED, /* stopped, by itself or by order, or removed */
    RUNTIME_EVENT_RESTARTED, /* stopped and started again without our doing */
};

struct runtime_event {
    enum runtime_event_kind kind;
    char instance[INSTANCE_NAME_SIZE];
};

struct runtime;

/* What a copy from another host is known by. */
struct runtime_receipt {
    const char *token; /* of what is copied, this once; borrowed */
    unsigned attempt;  /* each has its own, so that none calls whole what another has begun */
};

enum runtime_pause {
    RUNTIME_PAUSE_MEMORY,
    RUNTIME_PAUSE_MEMORY_OR_DISK,
    RUNTIME_PAUSE_DISK,         /* its programs are asked to end, and killed after some seconds */
    RUNTIME_PAUSE_DISK_AT_ONCE, /* its programs are killed; what they have written is kept */
};

/* What a stopped copy of a disk is for. */
enum runtime_copy { RUNTIME_CHECKPOINT, RUNTIME_SOURCE };

/* What an instance that was created step by step still has. */
#define RUNTIME_MEMORY_SNAPSHOT "memory"

/* What export_object() writes. */
enum runtime_object { RUNTIME_INSTANCE, RUNTIME_VOLUME };

struct runtime_ops {
    /* Make the project, the hardened profile and whatever else every instance relies on. */
    int (*prepare)(struct runtime *runtime, struct error **err);

    /* Make a stopped instance `source` from an image alias or fingerprint, ready so that copies of
     * it start without any further preparation (uid shift done). fingerprint: the image that was
     * used; owned by the caller. virtual_machine says which kind the image turned out to be. */
    int (*build_source)(struct runtime *runtime, const char *source, const char *image,
                        char **fingerprint, bool *virtual_machine, struct error **err);

    /* What the host's disks keep for a source of build_source(): the image of that fingerprint as
     * it is stored, and what the source holds beyond what it was unpacked to. */
    int (*measure_source)(struct runtime *runtime, const char *source, const char *fingerprint,
                          bool virtual_machine, uint32_t *size_mb, struct error **err);

    /* Copy-on-write copy of the source, started. An instance of that name which is already there
     * is brought to running. */
    int (*create)(struct runtime *runtime, const struct runtime_instance *instance,
                  struct error **err);

    /* Give a running instance another size (resources NULL: not), and mount volumes in it. */
    int (*adapt)(struct runtime *runtime, const char *name,
                 const struct runtime_resources *resources, const struct runtime_mount *mounts,
                 unsigned mount_count, struct error **err);

    /* Copy the disk of an instance, running or stopped, as it is at one moment (what was written
     * before is in it), into a stopped instance `copy`, by copy-on-write where the pool can. The
     * copy has neither network nor volumes nor memory, and instances can be created from it as
     * from a source. owner: the identifier that is kept beside it. *size_mb (may be NULL): what
     * the original holds in the pool beside what it was itself copied from. */
    int (*copy)(struct runtime *runtime, const char *name, const char *copy, enum runtime_copy kind,
                const char *owner, uint32_t *size_mb, struct error **err);

    /* As copy(), for a checkpoint with the memory that it has at that moment: an instance that runs
     * stands still meanwhile and then goes on, a paused one stays paused. Instances that are
     * created from the copy with_memory go on where it was, under an address of their own and
     * without its connections. Other errors: ERR_RUNTIME_SHORT, ERR_HOST_KEEPS_NO_MEMORY,
     * ERR_MEMORY_NOT_KEPT (also: it has none). After any error undo_copy_memory() makes sure that
     * the original goes on. */
    int (*copy_memory)(struct runtime *runtime, const char *name, const char *copy,
                       const char *owner, uint32_t *size_mb, struct error **err);
    int (*undo_copy_memory)(struct runtime *runtime, const char *name, const char *copy,
                            struct error **err);

    /* As copy_memory(), sooner: the copy is a snapshot of the instance and goes when that goes.
     * After any error undo_copy_memory() does as there. */
    int (*snapshot_memory)(struct runtime *runtime, const char *name, const char *snapshot,
                           struct error **err);

    /* Remove a snapshot. No such instance, or no such snapshot: success. */
    int (*snapshot_drop)(struct runtime *runtime, const char *name, const char *snapshot,
                         struct error **err);

    /* What is there now. An absent instance is a status, not an error. RUNTIME_OTHER while the
     * daemon is at work on a stopped one. */
    int (*inspect)(struct runtime *runtime, const char *name, enum runtime_status *status,
                   struct error **err);

    /* Stop it. With memory: try to keep memory and processes, more than once where the host was
     * short of something; when the runtime cannot, the instance keeps running, or is stopped with
     * its disk, as `how` says. Errors then: ERR_RUNTIME_SHORT when the host was short of something,
     * ERR_MEMORY_NOT_KEPT when what runs in it is the cause, ERR_HOST_KEEPS_NO_MEMORY when the host
     * cannot keep any memory. *origin: what a resume will find. Stopped or paused already:
     * success. */
    int (*pause)(struct runtime *runtime, const char *name,
                 const struct runtime_resources *resources, enum runtime_pause how,
                 enum runtime_origin *origin, struct error **err);

    /* Continue a paused instance, or start a stopped one from its disk. A memory image that does
     * not restore costs one attempt, then the disk is used. with_memory false: from disk at once.
     * *origin: what really happened. Running already: success, *origin unchanged. */
    int (*resume)(struct runtime *runtime, const char *name,
                  const struct runtime_resources *resources, bool with_memory,
                  enum runtime_origin *origin, struct error **err);

    /* Stop it by force and remove everything of it. Absent: success. */
    int (*destroy)(struct runtime *runtime, const char *name, struct error **err);

    /* Copy an instance that is stopped or paused on another host, with its memory, under its name.
     * What is there of it is replaced. The original stays as it is. source: of its template, by
     * build_source(); what both hosts have in that is not sent. Both hosts' ticks are called. */
    int (*receive)(struct runtime *runtime, struct runtime *from, const char *name,
                   const char *source, struct error **err);

    /* The same for what copy() or copy_memory() has made as a checkpoint; one with memory has it
     * there as well. What is there of the same token, and whole, stays. */
    int (*receive_checkpoint)(struct runtime *runtime, struct runtime *from, const char *name,
                              const char *source, const struct runtime_receipt *receipt,
                              struct error **err);

    /* Copy a volume that nobody writes to from another host, under its name. What is there of it is
     * replaced. Errors: ERR_VOLUME_ATTACHED where an instance here has one of that name. */
    int (*receive_volume)(struct runtime *runtime, struct runtime *from, const char *name,
                          struct error **err);

    /* The same as receive() for a source of build_source(), of which there is only the one: what is
     * there of it and whole stays. */
    int (*receive_source)(struct runtime *runtime, struct runtime *from, const char *source,
                          struct error **err);

    /* Every instance of the project that is a sandbox, or is becoming one by receive() (sources are
     * left out). The caller frees with runtime_listing_free(). */
    int (*list)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                struct error **err);

    /* Wait at most wait_ms for the next event, which come over a connection of their own; it is
     * made when there is none. RUNTIME_EVENT_NONE: the time is over, or a signal came. Does not
     * call tick(); making the connection may take 1.5 s longer. Errors: ERR_RUNTIME_UNAVAILABLE:
     * the connection is over, and events are lost until the next RUNTIME_EVENT_BEGIN. */
    int (*listen)(struct runtime *runtime, unsigned wait_ms, struct runtime_event *event,
                  struct error **err);

    /* Make a volume of that size, empty, which the user of a sandbox (user and group id 1000)
     * owns. */
    int (*volume_create)(struct runtime *runtime, const char *name, unsigned size_gb,
                         struct error **err);

    /* Remove it with all that is in it. Absent: success. ERR_VOLUME_ATTACHED while an instance has
     * it. */
    int (*volume_delete)(struct runtime *runtime, const char *name, struct error **err);

    /* Every volume of the project. The caller frees the array. */
    int (*volume_list)(struct runtime *runtime, struct runtime_volume **list, size_t *count,
                       struct error **err);

    /* What the running instances use, by name; those that the daemon has no numbers of are left
     * out. Asked again within ten seconds, it may give the same. The caller frees with
     * runtime_usage_free(). */
    int (*measure)(struct runtime *runtime, struct runtime_usage **list, size_t *count,
                   struct error **err);

    /* What an instance's own disk holds beyond what it shares with its template. */
    int (*measure_disk)(struct runtime *runtime, const char *name, bool virtual_machine,
                        uint64_t *used_bytes, struct error **err);

    /* How large the storage pool of the host is, and what is used of it. */
    int (*measure_pool)(struct runtime *runtime, uint64_t *total_bytes, uint64_t *used_bytes,
                        struct error **err);

    /* The rest of them: sources and checkpoints, unfinished ones included; sandbox_id is the
     * identifier of what they belong to, as far as it is known. */
    int (*list_copies)(struct runtime *runtime, struct runtime_listing **list, size_t *count,
                       struct error **err);

    /* Make an instance with nothing but this program in it, and start it. One of that name must not
     * be there. list() leaves it out; inspect() and destroy() know it. */
    int (*keeper_start)(struct runtime *runtime, const struct runtime_keeper *keeper,
                        struct error **err);

    /* Mount a volume at /volumes/<volume_id> of a keeper, or take it away again; done already:
     * success. One caller at a time. ERR_NOT_FOUND: no such keeper, or no such volume. */
    int (*keeper_mount)(struct runtime *runtime, const char *name, const char *volume,
                        const char *volume_id, struct error **err);
    int (*keeper_unmount)(struct runtime *runtime, const char *name, const char *volume,
                          struct error **err);

    /* Write an instance, with its memory image, or a volume to a file, as it is at one moment; the
     * host needs room for all of it once more. What a btrfs pool has is written as streams of
     * btrfs, which only such a pool takes in again. */
    int (*export_object)(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *to, struct error **err);

    /* Make what such a file holds, under the name that it had there, which is given again here. Of
     * an instance the volumes that it mounts must be there. *made false: it is there already, and
     * stays as it is. */
    int (*import_object)(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *from, bool *made, struct error **err);

    /* Make an instance, a sandbox's or a checkpoint, of what export_object() wrote of it, perhaps
     * on another host: size bytes of a file. What is there of that name and was not made under this
     * token, or not as a whole, is replaced; what was is left as it is, and nothing is read. */
    int (*take_in)(struct runtime *runtime, const char *name, const char *token, FILE *from,
                   uint64_t size, struct error **err);

    /* Undo prepare(), when nothing that was made since is left. */
    int (*unprepare)(struct runtime *runtime, struct error **err);

    void (*close)(struct runtime *runtime);
};

struct runtime {
    const struct runtime_ops *ops;
    /* Called while waiting; -1 (with *err set) makes the call return at once with that error,
     * leaving the daemon at what it does. It must not use this runtime. May be NULL. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
    int64_t limit_ms; /* monotonic; of runtime_limit() */
    /* Why the last pause() or resume() that was to keep memory did not, in the daemon's words; ""
     * when it did, or was not to. */
    char memory_lost[256];
};

/* From now on calls end within about this time, with ERR_RUNTIME_UNAVAILABLE; 0: they take as long
 * as it takes. It uses tick. */
void runtime_limit(struct runtime *runtime, unsigned ms);

/* Open a connection to an Incus host; nothing is sent yet. Errors: ERR_CONFIG. */
int runtime_incus_open(const struct runtime_host *host, struct runtime **runtime,
                       struct error **err);

void runtime_close(struct runtime *runtime); /* NULL is allowed */
void runtime_usage_free(struct runtime_usage *list, size_t count);
void runtime_listing_free(struct runtime_listing *list, size_t count);
/* The instance of that name, borrowed; NULL when it is not listed. */
const struct runtime_listing *runtime_listing_find(const struct runtime_listing *list, size_t count,
                                                   const char *name);

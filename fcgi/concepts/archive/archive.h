/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of paused sandboxes and of checkpoints in an object storage outside the hosts. A copy is
 * one object, sealed with the key ring: the operator of the storage cannot read it, nor change it
 * unnoticed.
 *
 * A row of `archives` describes each copy. archive_sweep() deletes objects that have no row.
 */
#pragma once

#include "base/ulid.h"
#include "objects/objects.h"
#include "worker/worker.h"

#define ARCHIVE_KEY_SIZE 64
#define ARCHIVE_AT       "the archive at "           /* begins the errors of the storage */
#define ARCHIVE_COPY     "The archived copy of the " /* begins the message about a damaged copy */

/* Each kind has its own folder in the storage, which holds nothing else. */
enum archive_kind { ARCHIVE_SANDBOX, ARCHIVE_CHECKPOINT, ARCHIVE_KINDS };
extern const char *const archive_kind_names[ARCHIVE_KINDS], *const archive_folders[ARCHIVE_KINDS];

enum archive_state {
    ARCHIVE_NONE,
    ARCHIVE_STORING,  /* it is being written, or waits for its next attempt */
    ARCHIVE_WHOLE,    /* it was written, read back and found equal */
    ARCHIVE_REMOVING, /* the sandbox was resumed or the object deleted */
};

struct archive {
    char id[ID_SIZE];
    enum archive_kind kind;
    enum archive_state state;
    char object_id[ID_SIZE]; /* the sandbox or checkpoint that it copies */
    char team_id[ID_SIZE];
    uint32_t incarnation;
    uint32_t promised_host_id;  /* the host that gets, or got, the sandbox from the archive; 0: no
                                 * host */
    bool evicted;               /* the host has no data of the sandbox */
    char key[ARCHIVE_KEY_SIZE]; /* of the last attempt's object; "": none was started */
    char *upload;               /* the upload's name in the storage until it is complete; owned */
    uint64_t plain_bytes, stored_bytes;
    unsigned attempts;
};
void archive_deinit(struct archive *archive);
#define archive_auto __attribute__((cleanup(archive_deinit))) struct archive

/* Return whether the deployment has an archive. */
bool archive_is_on(const struct settings *settings);

/* Open its storage; this sends nothing yet. hurry: a client waits, so failed requests are repeated
 * less often. Errors: those of objects_open(). */
int archive_open(const struct settings *settings, bool hurry, struct objects **objects,
                 struct error **err);

/* Read the copy, or the copy in progress, of a sandbox or checkpoint. State ARCHIVE_NONE: there is
 * no such row. */
int archive_current(struct db *db, const char *object_id, struct archive *archive,
                    struct error **err);

/* Check whether a complete copy of the object exists. */
int archive_has(struct db *db, const char *object_id, bool *has, struct error **err);

/* Note that this host will get the sandbox from the archive. Call it in a transaction that holds
 * the sandbox's row. evicted: that host has no data of the sandbox. */
int archive_promise(struct db *db, const char *id, uint32_t host_id, bool evicted,
                    struct error **err);

/* In a transaction that holds the row of a paused sandbox: keep its copy, after an operation of
 * this incarnation that has not changed the sandbox. */
int archive_follow(struct db *db, const char *sandbox_id, uint32_t incarnation, struct error **err);

/* Give up the copy of an object that was resumed or deleted, and let it be removed. Call it in a
 * transaction that holds the object's row. */
int archive_outdate(struct db *db, enum archive_kind kind, const char *object_id,
                    struct error **err);

/* Remove one outdated copy from the storage. *worked: there was one. */
int archive_remove_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the storage with the rows. Delete old objects that have no row; give up copies whose
 * object has disappeared, where the host can make another copy. */
int archive_sweep(struct worker *worker, struct error **err);

/* The figures of the archive for its operators. */
struct archive_report {
    uint64_t whole[ARCHIVE_KINDS];
    uint64_t whole_bytes;      /* their size in the storage */
    uint64_t evicted;          /* copies of sandboxes that have no data on their host */
    uint64_t storing, failing; /* unfinished copies; copies and removals that failed last */
    uint64_t removing;
    uint64_t behind;         /* sandboxes and checkpoints whose copy is overdue */
    int64_t newest_at_ms;    /* of the newest complete copy; 0: none */
    int64_t behind_since_ms; /* when the first overdue copy became due; 0: none is overdue */
    char failure[512];       /* the last error of an unfinished copy or removal; "": none */
};
int archive_report(struct db *db, uint64_t after_s, struct archive_report *report,
                   struct error **err);

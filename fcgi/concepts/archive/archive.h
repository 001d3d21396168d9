/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of paused sandboxes and of checkpoints, in storage of objects off the hosts. A copy is one
 * object, sealed with the key ring, so that who keeps the storage reads nothing of it and changes
 * nothing unnoticed.
 * Its row says whether it is there; objects that no row knows are removed.
 */
#pragma once

#include "base/ulid.h"
#include "objects/objects.h"
#include "worker/worker.h"

#define ARCHIVE_KEY_SIZE 64
#define ARCHIVE_AT       "the archive at "           /* how what the storage says begins */
#define ARCHIVE_COPY     "The archived copy of the " /* what is said of a damaged one */

/* Each has a folder of the storage, in which nothing else is. */
enum archive_kind { ARCHIVE_SANDBOX, ARCHIVE_CHECKPOINT, ARCHIVE_KINDS };
extern const char *const archive_kind_names[ARCHIVE_KINDS], *const archive_folders[ARCHIVE_KINDS];

enum archive_state {
    ARCHIVE_NONE,
    ARCHIVE_STORING,  /* it is being written, or is to be again */
    ARCHIVE_WHOLE,    /* it was read back as what was written */
    ARCHIVE_REMOVING, /* of what has gone on or is deleted */
};

struct archive {
    char id[ID_SIZE];
    enum archive_kind kind;
    enum archive_state state;
    char object_id[ID_SIZE]; /* what it is of */
    char team_id[ID_SIZE];
    uint32_t incarnation;
    uint32_t promised_host_id;  /* that has the sandbox from the archive, or is to; 0: none */
    bool evicted;               /* that host has nothing of it */
    char key[ARCHIVE_KEY_SIZE]; /* of the object, of the last who began it; "": nobody yet */
    char *upload;               /* its name in the storage until it is whole; owned */
    uint64_t plain_bytes, stored_bytes;
    unsigned attempts;
};
void archive_deinit(struct archive *archive);
#define archive_auto __attribute__((cleanup(archive_deinit))) struct archive

/* Whether the deployment has an archive. */
bool archive_is_on(const struct settings *settings);

/* Its storage; nothing is sent yet. hurry: somebody waits, and is rather told that it does not
 * answer. Errors: those of objects_open(). */
int archive_open(const struct settings *settings, bool hurry, struct objects **objects,
                 struct error **err);

/* What there is of a sandbox or checkpoint in the archive, or is to be; state ARCHIVE_NONE:
 * nothing. */
int archive_current(struct db *db, const char *object_id, struct archive *archive,
                    struct error **err);

/* Whether it could be taken from there. */
int archive_has(struct db *db, const char *object_id, bool *has, struct error **err);

/* Inside a transaction that holds the sandbox's row: this host is to have it from the archive.
 * evicted: there is nothing of it on that host. */
int archive_promise(struct db *db, const char *id, uint32_t host_id, bool evicted,
                    struct error **err);

/* Inside a transaction that holds its row: it has gone on, or is gone. */
int archive_outdate(struct db *db, enum archive_kind kind, const char *object_id,
                    struct error **err);

/* Remove one object that nothing is restored from any more. *worked: there was one. */
int archive_remove_next(struct worker *worker, bool *worked, struct error **err);

/* Compare the storage with the rows: old objects that no row knows are removed, and rows whose
 * object is gone are no copies any more. */
int archive_sweep(struct worker *worker, struct error **err);

/* The archive as its operators see it. */
struct archive_report {
    uint64_t whole[ARCHIVE_KINDS];
    uint64_t whole_bytes;      /* what they take in the storage */
    uint64_t evicted;          /* of sandboxes that their hosts have nothing of */
    uint64_t storing, failing; /* in hand or waiting for their turn, and of these failed before */
    uint64_t removing;
    uint64_t behind;         /* sandboxes and checkpoints that should have a copy and have none */
    int64_t newest_at_ms;    /* 0: none */
    int64_t behind_since_ms; /* since when the first of them should be; 0: none is */
    char failure[512];       /* the last one that still matters; "": none */
};
int archive_report(struct db *db, uint64_t after_s, struct archive_report *report,
                   struct error **err);

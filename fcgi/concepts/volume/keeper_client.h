/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Send requests to a volume server (keeper/serve.h has its interface). */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "crypto/mac.h"
#include "volume/keeper_row.h"
#include "worker/worker.h"

/* The body of an upload. read() returns the next bytes; 0 at the end, -1 when the upload broke off,
 * which undoes the request. */
struct keeper_upload {
    long (*read)(void *context, char *data, size_t size);
    void *context;
    int64_t size; /* -1: not known in advance */
};

/* The body of a download, for an answer 200. begin() gets its head; -1 ends the request. */
struct keeper_download {
    int (*begin)(void *context, uint64_t size, const char *mode, const char *modified_at);
    int (*data)(void *context, const char *data, size_t size);
    void *context;
};

struct keeper_request {
    const char *method;
    const char *path;                 /* "/v/<id>/…", with its query */
    unsigned timeout_ms;              /* for the whole request; 0: no limit while bytes move */
    struct keeper_upload *upload;     /* NULL: none */
    struct keeper_download *download; /* NULL: the answer is JSON */
};

struct keeper_answer {
    int status;          /* 0: no answer came */
    bool body_begun;     /* of the upload, or the download */
    bool broken;         /* ended by a callback of the upload or the download */
    const char *failure; /* why no answer came; static */
    struct buffer text;  /* of an answer without a download */
};

/* Zero-initialise; after use keeper_answer_deinit(). */
void keeper_answer_deinit(struct keeper_answer *answer);
#define keeper_answer_auto __attribute__((cleanup(keeper_answer_deinit))) struct keeper_answer

/* Send a request. Any answer of the volume server is in *answer, and also that none came. Errors:
 * those of the key ring, and of runtimes_link(). */
int keeper_ask(struct worker *worker, const struct keeper *keeper,
               const struct keeper_request *request, struct keeper_answer *answer,
               struct error **err);

/* Derive the volume server's secret, which its instance gets when it is created. The caller wipes
 * it. */
#define KEEPER_SECRET_SIZE MAC_HEX_SIZE
int keeper_secret(const struct keyring *ring, const struct keeper *keeper,
                  char secret[KEEPER_SECRET_SIZE], struct error **err);

/* Raise the fence of a volume (keeper/fence.h). *reached: whether the volume server did it; it may
 * be gone. */
int keeper_fence(struct worker *worker, const struct keeper *keeper, const char *volume_id,
                 uint64_t generation, bool *reached, struct error **err);

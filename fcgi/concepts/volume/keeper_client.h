/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to a keeper (keeper/serve.h has its interface). */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "crypto/mac.h"
#include "volume/keeper_row.h"
#include "worker/worker.h"

/* A body that goes up: called for the next piece; 0 at its end, -1 when it cannot be had as a
 * whole, which undoes the request. */
struct keeper_upload {
    long (*read)(void *context, char *data, size_t size);
    void *context;
    int64_t size; /* -1: not known before */
};

/* A body that comes down, of an answer 200. begin: its head; -1 ends the request. */
struct keeper_download {
    int (*begin)(void *context, uint64_t size, const char *mode, const char *modified_at);
    int (*data)(void *context, const char *data, size_t size);
    void *context;
};

struct keeper_request {
    const char *method;
    const char *path;                 /* "/v/<id>/…", with its query */
    unsigned timeout_ms;              /* for all of it; 0: as long as something moves */
    struct keeper_upload *upload;     /* NULL: none */
    struct keeper_download *download; /* NULL: the answer is JSON */
};

struct keeper_answer {
    int status;          /* 0: none came */
    bool body_begun;     /* of the upload, or the download */
    bool broken;         /* ended by a callback of the upload or the download */
    const char *failure; /* why no answer came; static */
    struct buffer text;  /* of an answer that is not handed to a download */
};

/* Zero-initialise; after use keeper_answer_deinit(). */
void keeper_answer_deinit(struct keeper_answer *answer);
#define keeper_answer_auto __attribute__((cleanup(keeper_answer_deinit))) struct keeper_answer

/* Ask. Whatever the keeper answers, or that nothing came, is in *answer. Errors: those of the key
 * ring, and of runtimes_link(). */
int keeper_ask(struct worker *worker, const struct keeper *keeper,
               const struct keeper_request *request, struct keeper_answer *answer,
               struct error **err);

/* Its secret, which its instance is made with. The caller wipes it. */
#define KEEPER_SECRET_SIZE MAC_HEX_SIZE
int keeper_secret(const struct keyring *ring, const struct keeper *keeper,
                  char secret[KEEPER_SECRET_SIZE], struct error **err);

/* Raise the fence of a volume (keeper/fence.h). *reached: whether the keeper did it; it may be
 * gone. */
int keeper_fence(struct worker *worker, const struct keeper *keeper, const char *volume_id,
                 uint64_t generation, bool *reached, struct error **err);

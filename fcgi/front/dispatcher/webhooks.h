/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The delivery of webhooks: one process of all dispatchers does it, with many transfers at a time.
 * Each webhook has its own few, so one whose receiver is slow delays nobody else.
 */
#pragma once

#include <curl/curl.h>
#include <sys/queue.h>

#include "base/deadline.h"
#include "dispatcher/webhook_names.h"
#include "network/protected.h"
#include "webhook/webhook.h"
#include "worker/worker.h"

struct hook;

/* One attempt to deliver. */
struct sending {
    struct hook *hook;
    struct webhook_message message; /* of an event: made for it; owned */
    bool is_event;
    unsigned index;             /* of the event */
    TAILQ_ENTRY(sending) entry; /* of those whose name is looked up */
    char *host;                 /* that name; NULL: the address is known */
    char *port;
    struct deadline named_by;
    struct curl_slist *resolved;
    const struct protected_networks *networks;
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    const char *refused; /* why the address was; static */
    size_t received;
};

/* Begin it: sign. sending_connect() is to follow. Errors: ERR_INTERNAL. */
int sending_begin(struct sending *sending, const struct webhook_secrets *secrets,
                  const struct webhook *webhook, struct error **err);

/* Hand it to multi when the address of its receiver is known. *begun false: not yet; call it again.
 * Returns CURLE_OK, or why it has failed. */
CURLcode sending_connect(struct sending *sending, struct webhook_names *names, const char *team_id,
                         CURLM *multi, bool *begun);

/* After its end: fill in state, attempts, next_at_ms and what became of it. */
void sending_judge(struct sending *sending, CURLcode result);

void sending_free(struct sending *sending, CURLM *multi);

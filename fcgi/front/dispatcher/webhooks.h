/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deliver webhooks: one process of all dispatchers does it, with many transfers at a time. Each
 * webhook has a few transfers, so a slow receiver does not delay other webhooks.
 */
#pragma once

#include <arpa/inet.h>
#include <curl/curl.h>
#include <sys/queue.h>

#include "base/deadline.h"
#include "dispatcher/webhook_names.h"
#include "network/protected.h"
#include "webhook/webhook.h"

struct hook;

/* One attempt to deliver a message. */
struct sending {
    struct hook *hook;
    struct webhook_message message; /* owned; of an event: made for it */
    bool is_event;
    unsigned index;             /* of the event */
    TAILQ_ENTRY(sending) entry; /* in the list of sendings whose name is looked up */
    char *host;                 /* the name to look up; NULL: the address is known */
    char *port;
    struct deadline named_by;
    struct curl_slist *resolved;
    const struct protected_networks *networks;
    CURL *easy;
    struct curl_slist *headers;
    const char *refused; /* why the address was refused; static */
    size_t received;
};

/* Read an IPv4 or IPv6 address, also as text. An IPv4 address that is mapped into IPv6 counts as
 * IPv4. Returns whether it is an address. */
bool sending_read_address(const struct sockaddr *from, char text[INET6_ADDRSTRLEN],
                          struct policy_address *address);

/* Prepare and sign a sending; sending_connect() must follow. Errors: ERR_INTERNAL. */
int sending_begin(struct sending *sending, const struct webhook_secrets *secrets,
                  const struct webhook *webhook, struct error **err);

/* Pass the sending to multi when the address of its receiver is known. *begun false: not known yet;
 * call again. Returns CURLE_OK, or the reason of a failure. */
CURLcode sending_connect(struct sending *sending, struct webhook_names *names, const char *team_id,
                         CURLM *multi, bool *begun);

/* Fill in state, attempts, next_at_ms and last_error after the end of a sending. */
void sending_judge(struct sending *sending, CURLcode result);

void sending_free(struct sending *sending, CURLM *multi);

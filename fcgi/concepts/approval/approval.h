/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Approvals: destinations that a sandbox tried to reach and that its owner is asked about. The
 * policy of such a sandbox asks (SANDBOX_POLICY_ASK).
 *
 * A row is a request without an answer, or an answer that holds for some time. Answers that hold
 * always are entries of the policy itself, and have no row. A sandbox decides how often it tries,
 * so rows and events are few for each sandbox, user and team. Further requests are dropped until
 * there is room. They come again with the next try. A forgotten approval leaves a hidden row, which
 * counts like a request without an answer.
 */
#pragma once

#include <jansson.h>

#include "base/ulid.h"
#include "db/db.h"
#include "network/policy.h"

#define APPROVALS_PER_SANDBOX  32
#define APPROVAL_EVENT_MS      60000 /* the least time between two events of one destination */
#define APPROVALS_SANDBOX_RATE 10    /* events in APPROVAL_EVENT_MS */
#define APPROVALS_USER_RATE    30
#define APPROVALS_TEAM_RATE    60
#define APPROVAL_KEPT_H        24 /* a request without an answer, after its last event */
#define APPROVAL_ONCE_S        60
#define APPROVAL_MINUTES_MAX   10080

/* An answer of the owner. */
enum approval_answer { APPROVAL_ONCE, APPROVAL_MINUTES, APPROVAL_ALWAYS, APPROVAL_NEVER };
extern const char *const approval_answer_names[]; /* ends with NULL */
/* Return the answer of a name. The caller has checked the name: any other text means never. */
enum approval_answer approval_answer_parse(const char *name);

struct approval {
    char id[ID_SIZE];
    char target[POLICY_ENTRY_MAX + 1]; /* an entry of a policy */
    int64_t asked_at_ms;
    int64_t until_ms; /* it is allowed until then; 0: without an answer */
};

/* A sandbox that asks, as its row has it. */
struct approval_asker {
    const char *sandbox_id, *team_id, *user_id;
};

/* Store the destinations that a host reports, an array of entries, and write the event
 * network.approval_requested about each, at most once in APPROVAL_EVENT_MS. Texts that are no
 * entries are left out. */
int approvals_ask(struct db *db, const struct approval_asker *asker, const json_t *entries,
                  struct error **err);

/* List the approvals of a sandbox, the latest first; the caller frees. */
int approval_list(struct db *db, const char *sandbox_id, struct approval **list, unsigned *count,
                  struct error **err);

/* Add the destinations to a policy that are allowed at present. */
int approvals_compile(struct db *db, const char *sandbox_id, struct policy *policy,
                      struct error **err);

/* --- inside a transaction that holds the sandbox's row --- */

/* Lock and read an approval. Errors: ERR_NOT_FOUND. */
int approval_lock(struct db *db, const char *sandbox_id, const char *id, struct approval *approval,
                  struct error **err);
/* Allow the destination until until_ms. */
int approval_grant(struct db *db, const char *id, int64_t until_ms, struct error **err);
int approval_forget(struct db *db, const char *id, struct error **err);
/* Forget all approvals of a sandbox: its policy has been replaced. */
int approvals_forget(struct db *db, const char *sandbox_id, struct error **err);

/* --- for the dispatcher --- */

/* End the answers whose time is over: the policies of their sandboxes are due then. Delete old
 * requests without an answer. */
int approvals_expire(struct db *db, struct error **err);

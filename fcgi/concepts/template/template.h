/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates and their immutable versions. A version is runnable on the hosts that hold its source
 * instance. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/ulid.h"
#include "db/db.h"

enum template_state {
#define STATE(symbol, name) symbol,
#include "template/template_state.def"
#undef STATE
    TEMPLATE_STATE_COUNT
};
extern const char *const template_state_names[TEMPLATE_STATE_COUNT];

struct template_version {
    char id[ID_SIZE];
    char template_id[ID_SIZE];
    char owner[ID_SIZE]; /* team id */
    char team_slug[SLUG_MAX + 1];
    char slug[SLUG_MAX + 1];
    uint32_t version;
    enum template_state state;
    bool virtual_machine;
    bool net_admin;          /* root of its instances may change their interfaces and routes */
    uint32_t cpu, memory_mb; /* runtime baseline */
    char image[256];
    char fingerprint[65];        /* of the image; "" when built from a checkpoint */
    char checkpoint_id[ID_SIZE]; /* what it is built from instead of an image, or "" */
    int64_t created_at_ms, finished_at_ms;
    int64_t template_created_at_ms;
    bool is_public;        /* other teams may use its template */
    uint32_t size_mb;      /* what a host's disk keeps for it; 0: not measured */
    char base_id[ID_SIZE]; /* the version whose sandbox steps have changed, or "" */
    /* While it is built: the instance whose disk it becomes, and its host; "": none. */
    char copied_instance[64];
    uint32_t copied_host_id;
};

/* Resolve what a create request names, as team_id sees it. A template is `<slug>` (an own template
 * hides that of the deployment with the same slug), or `<team>/<slug>`: the team's own, one of the
 * deployment, or a public one. Of it: alone → newest ready version; `:tpv_…` → that one;
 * `:<tag>` → the one that the tag points to, where `latest` and `default` are the newest as long as
 * they are not assigned; `:<number>` → that one, unless it is an assigned tag. `tpl_…` → newest
 * ready version of that template; `tpv_…` → that version. Errors: ERR_TEMPLATE_NOT_FOUND with the
 * given field. */
int template_resolve(struct db *db, const char *team_id, const char *reference, const char *field,
                     struct template_version *version, struct error **err);

/* Whether every team may use it. */
bool template_is_deployments(const struct template_version *version);

/* Errors: ERR_NOT_FOUND. */
int template_version_get(struct db *db, const char *id, struct template_version *version,
                         struct error **err);

/* Add the next version of a template (made when there is none) in state building.
 * owner: team id. team_slug is not filled in. Errors: ERR_INVALID_REQUEST with the field. */
int template_version_add(struct db *db, const char *owner, const char *slug, const char *image,
                         uint32_t cpu, uint32_t memory_mb, bool net_admin,
                         struct template_version *version, struct error **err);

/* Versions of a team's templates that are not deleted, in all of its templates together. */
#define TEMPLATE_VERSIONS_MAX 1000

/* What the API asks to be built; the first dispatcher builds it. Strings are borrowed. */
struct template_request {
    const char *owner; /* team id */
    const char *slug;
    bool new_template;         /* or the next version of one that is there */
    bool by_steps;             /* who says its steps says when it is built */
    const char *image;         /* one of both, or of none with by_steps */
    const char *checkpoint_id; /* of the owner */
    uint32_t cpu, memory_mb;   /* the baseline, checked against the owner's plan */
    /* Called inside the transaction that inserts the version; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *version_id, void *context, struct error **err);
    void *claim_context;
};

/* Errors: ERR_NAME_TAKEN (a new template of a slug that has versions), ERR_NOT_FOUND (no template
 * of this slug), ERR_INVALID_REQUEST (the checkpoint is gone), ERR_BUILD_QUOTA_EXCEEDED (the team
 * has TEMPLATE_VERSIONS_MAX). */
int template_request_build(struct db *db, const struct template_request *request,
                           struct template_version *version, struct error **err);

/* Of one that is built by steps, while it is: what it is based on; then, that it is to be copied
 * from an instance: the first dispatcher does. Errors: ERR_NOT_FOUND (it is not being built). */
int template_version_set_base(struct db *db, const char *id, const struct template_version *base,
                              struct error **err);
int template_version_copy_from(struct db *db, const char *id, uint32_t host_id,
                               const char *instance_name, struct error **err);
/* Inside a transaction: building → failed. Errors: ERR_NOT_FOUND. */
int template_version_fail(struct db *db, const struct template_version *version,
                          struct error **err);

/* What the build of a version had to say, "" for nothing; owned by the caller. */
int template_version_log(struct db *db, const char *id, char **log, struct error **err);

/* Delete a version, or a template with all of them. What is left of it on its hosts goes in the
 * background. Errors: ERR_TEMPLATE_IN_USE with the names of those who use it, ERR_NOT_FOUND. */
int template_version_delete(struct db *db, const char *version_id, struct error **err);
int template_delete(struct db *db, const char *template_id, struct error **err);

/* Whether other teams see it and make sandboxes of it, by its name with the team. */
int template_set_public(struct db *db, const char *template_id, bool is_public, struct error **err);

/* Inside the transaction that makes something from a version, after the row that refers to it is
 * written (its foreign key then keeps a deletion waiting): it is still there. Errors:
 * ERR_TEMPLATE_NOT_FOUND. */
int template_version_hold(struct db *db, const char *id, struct error **err);

/* The source stands ready on a host. */
int template_source_add(struct db *db, const char *version_id, uint32_t host_id,
                        const char *instance_name, struct error **err);

/* Ready versions of images that have no source on a host, oldest first. Owned by the caller. */
int template_missing_sources(struct db *db, uint32_t host_id, struct template_version **versions,
                             unsigned *count, struct error **err);

/* building → ready or failed. Errors: ERR_NOT_FOUND when no such version is being built. */
int template_version_finish(struct db *db, const char *id, bool ready, bool virtual_machine,
                            const char *fingerprint, struct error **err);

/* All versions that a team sees (NULL: all), by slug, newest first; public ones of other teams are
 * not among them. Owned by the caller. */
int template_version_list(struct db *db, const char *team_id, struct template_version **versions,
                          unsigned *count, struct error **err);

/* The same of the one template that is named `<team>/<slug>`, public ones of other teams included;
 * none is no error. */
int template_version_list_named(struct db *db, const char *team_id, const char *team_slug,
                                const char *slug, struct template_version **versions,
                                unsigned *count, struct error **err);

/* 1 to 63 lower-case letters, digits, hyphens and underscores, with no hyphen at either end, and
 * nothing that begins like an id. */
bool template_slug_is_valid(const char *slug);

/* Take a name apart: `<slug>` or `<team>/<slug>`; team is "" for the first. Returns 0, or -1 when
 * it is neither. */
int template_name_parse(const char *name, char team[SLUG_MAX + 1], char slug[SLUG_MAX + 1]);

/* Images that teams may build templates from: the operator's choice. */
struct template_image {
    char name[256];
    int64_t created_at_ms;
};
/* name: 1 to 255 printable ASCII characters without blanks. Allowed already: success. Errors:
 * ERR_INVALID_REQUEST. */
int template_image_allow(struct db *db, const char *name, struct error **err);
/* Errors: ERR_NOT_FOUND. */
int template_image_disallow(struct db *db, const char *name, struct error **err);
int template_image_is_allowed(struct db *db, const char *name, bool *allowed, struct error **err);
/* By name. Owned by the caller. */
int template_image_list(struct db *db, struct template_image **images, unsigned *count,
                        struct error **err);

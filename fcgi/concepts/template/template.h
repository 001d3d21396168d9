/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates and their immutable versions. Hosts that hold the source instance of a version can run
 * it. */
#pragma once

#include <jansson.h>
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

/* How the start command of a version comes to run in a sandbox. */
enum template_start {
    TEMPLATE_NO_START,
    TEMPLATE_START_PENDING, /* during the build: the memory is still to be kept */
    TEMPLATE_START_COMMAND, /* the agent runs it */
    TEMPLATE_START_MEMORY,  /* it runs already in the memory of a checkpoint */
    TEMPLATE_START_COUNT
};
extern const char *const template_start_names[TEMPLATE_START_COUNT];

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
    char checkpoint_id[ID_SIZE]; /* the checkpoint of a version without an image, or "" */
    int64_t created_at_ms, finished_at_ms;
    int64_t template_created_at_ms;
    bool is_public;        /* other teams may use its template */
    uint32_t size_mb;      /* its size on a host's disk; 0: not measured */
    char base_id[ID_SIZE]; /* the version from which its steps started, or "" */
    char from_image[513];  /* OCI image that was unpacked in a sandbox of the base, or "" */
    /* During its build: the instance whose disk it becomes, and its host; "": none. */
    char copied_instance[64];
    uint32_t copied_host_id;
    enum template_start start;
    char memory_id[ID_SIZE]; /* the checkpoint with the memory, or "" */
};

/* Find the version that a create request names, as team_id sees it. Errors: ERR_TEMPLATE_NOT_FOUND
 * with the given field.
 *
 *   <slug>         the team's own template, else the deployment's with that slug
 *   <team>/<slug>  a template of the team, of the deployment, or a public one of another team
 *   tpl_…          the template with this id
 *   tpv_…          the version with this id
 *
 * The first three forms mean the version of the tag `default`, or the newest ready one while no
 * version has this tag. The first two can be followed by a version:
 *
 *   :tpv_…         the version with this id
 *   :<tag>         the version of the tag; `latest` and `default` are the newest until assigned
 *   :<number>      the tag with this name, else the version with this number */
int template_resolve(struct db *db, const char *team_id, const char *reference, const char *field,
                     struct template_version *version, struct error **err);

/* Check whether the template is the deployment's, which every team may use. */
bool template_is_deployments(const struct template_version *version);

/* Read a version. Errors: ERR_NOT_FOUND. */
int template_version_get(struct db *db, const char *id, struct template_version *version,
                         struct error **err);

/* Add the next version of a template in state building; a missing template is created. owner: team
 * id. team_slug is not filled in. Errors: ERR_INVALID_REQUEST with the field. */
int template_version_add(struct db *db, const char *owner, const char *slug, const char *image,
                         uint32_t cpu, uint32_t memory_mb, bool net_admin,
                         struct template_version *version, struct error **err);

/* Versions of a team that are not deleted, over all its templates. */
#define TEMPLATE_VERSIONS_MAX 1000

/* A build that the API requests; the first dispatcher does it. Strings are borrowed. */
struct template_request {
    const char *owner; /* team id */
    const char *slug;
    bool new_template;         /* else: the next version of an existing template */
    bool by_steps;             /* recipe_begin() gives its steps later */
    const char *image;         /* an image or a checkpoint; neither with by_steps */
    const char *checkpoint_id; /* of the owner */
    uint32_t cpu, memory_mb;   /* the baseline, checked against the owner's plan */
    /* Called inside the transaction that inserts the version; may refuse. May be NULL. */
    int (*claim)(struct db *db, const char *version_id, void *context, struct error **err);
    void *claim_context;
};

/* Insert the version of a build. Errors: ERR_NAME_TAKEN (a new template of a slug that has
 * versions), ERR_NOT_FOUND (no template of this slug), ERR_INVALID_REQUEST (the checkpoint was
 * deleted), ERR_BUILD_QUOTA_EXCEEDED (the team has TEMPLATE_VERSIONS_MAX). */
int template_request_build(struct db *db, const struct template_request *request,
                           struct template_version *version, struct error **err);

/* For a version that is built by steps: record its base, and the OCI image whose files replace
 * those of the base (NULL: none). Then record the instance from which the first dispatcher copies
 * it, and whether to keep its memory afterwards. Errors: ERR_NOT_FOUND (it is not being built). */
int template_version_set_base(struct db *db, const char *id, const struct template_version *base,
                              const char *from_image, struct error **err);
int template_version_copy_from(struct db *db, const char *id, uint32_t host_id,
                               const char *instance_name, enum template_start start,
                               struct error **err);
/* Inside the transaction that inserts the checkpoint with the memory of a version that is being
 * built: record it. Errors: ERR_NOT_FOUND. */
int template_version_set_memory(struct db *db, const char *id, const char *checkpoint_id,
                                struct error **err);
/* Inside a transaction: change a version with TEMPLATE_START_PENDING from building to ready.
 * Without TEMPLATE_START_MEMORY, its checkpoint is deleted. Errors: ERR_NOT_FOUND. */
int template_version_started(struct db *db, const struct template_version *version,
                             enum template_start start, struct error **err);
/* Inside a transaction: change a version that is being built by steps to ready. It has the
 * files and the memory of another ready version. Errors: ERR_NOT_FOUND (one of the two versions is
 * in another state). */
int template_version_same(struct db *db, const struct template_version *version,
                          const char *same_id, uint32_t host_id, struct error **err);
/* Inside a transaction: change a version from building to failed. Errors: ERR_NOT_FOUND. */
int template_version_fail(struct db *db, const struct template_version *version,
                          struct error **err);

/* Record the configuration of the OCI image from which a version, or its base, is built. */
int template_version_set_image(struct db *db, const char *id, const json_t *config,
                               struct error **err);
/* Return it. *config: owned by the caller; NULL: there is no image. */
int template_version_image(struct db *db, const char *id, json_t **config, struct error **err);

/* Return the build log of a version, "" if it is empty; owned by the caller. */
int template_version_log(struct db *db, const char *id, char **log, struct error **err);

/* Delete a version, or a template with all its versions. A dispatcher deletes the sources on the
 * hosts in the background. Errors: ERR_TEMPLATE_IN_USE with the names of the users,
 * ERR_NOT_FOUND. */
int template_version_delete(struct db *db, const char *version_id, struct error **err);
int template_delete(struct db *db, const char *template_id, struct error **err);

/* Set whether other teams see the template and make sandboxes from it, as `<team>/<slug>`. */
int template_set_public(struct db *db, const char *template_id, bool is_public, struct error **err);

/* Check that the version still exists. Call this inside the transaction that makes something from
 * it, after writing the row that refers to it. The foreign key of this row then delays a deletion.
 * Errors: ERR_TEMPLATE_NOT_FOUND. */
int template_version_hold(struct db *db, const char *id, struct error **err);

/* Record that the source is ready on a host. */
int template_source_add(struct db *db, const char *version_id, uint32_t host_id,
                        const char *instance_name, struct error **err);

/* List ready versions of images that have no source on a host, oldest first. Owned by the
 * caller. */
int template_missing_sources(struct db *db, uint32_t host_id, struct template_version **versions,
                             unsigned *count, struct error **err);

/* Return the isolation of a version in the words of the API. */
static inline const char *template_isolation(bool virtual_machine)
{
    return virtual_machine ? "vm" : "container";
}

/* Change a version from building to ready or failed. Errors: ERR_NOT_FOUND when no such version is
 * being built. */
int template_version_finish(struct db *db, const char *id, bool ready, bool virtual_machine,
                            const char *fingerprint, struct error **err);

/* List all versions that a team sees (NULL: all), by slug, newest first; without public ones of
 * other teams. Only the owner of a template sees its failed versions. Owned by the caller. */
int template_version_list(struct db *db, const char *team_id, struct template_version **versions,
                          unsigned *count, struct error **err);

/* List the versions of the template `<team>/<slug>` that a team sees. The template may be a public
 * one of another team. An empty list is not an error. */
int template_version_list_named(struct db *db, const char *team_id, const char *team_slug,
                                const char *slug, struct template_version **versions,
                                unsigned *count, struct error **err);

/* Check for 1 to 63 lower-case letters, digits, hyphens and underscores, without a hyphen at either
 * end, and not beginning like an id. */
bool template_slug_is_valid(const char *slug);

/* Split a name: `<slug>` or `<team>/<slug>`; team is "" for the first. Returns 0, or -1 for other
 * text. */
int template_name_parse(const char *name, char team[SLUG_MAX + 1], char slug[SLUG_MAX + 1]);

/* Images from which teams may build templates, as the operator decides. */
struct template_image {
    char name[256];
    int64_t created_at_ms;
};
/* Allow an image. name: 1 to 255 printable ASCII characters without blanks. Success also when it is
 * allowed already. Errors: ERR_INVALID_REQUEST. */
int template_image_allow(struct db *db, const char *name, struct error **err);
/* Disallow an image. Errors: ERR_NOT_FOUND. */
int template_image_disallow(struct db *db, const char *name, struct error **err);
int template_image_is_allowed(struct db *db, const char *name, bool *allowed, struct error **err);
/* List the images by name. Owned by the caller. */
int template_image_list(struct db *db, struct template_image **images, unsigned *count,
                        struct error **err);

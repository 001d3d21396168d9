/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control plane for clients of E2B: E2B's paths, names and answers over the same concepts as
 * /v1, in the same workers. The file input.c translates requests into those of /v1. The files
 * view.c and error.c translate the answers back. No decision is made here.
 *
 * E2B's `sandboxID` is sandlot's route token, because hosts of the form <port>-<sandboxID>.<domain>
 * need it. The names follow the API description that E2B publishes (spec/openapi.yml of its
 * repository).
 */
#pragma once

#include "api/api.h"
#include "api/page_list.h"
#include "api/template_view.h"
#include "http/router.h"
#include "template/template_use.h"

/* Return the router for E2B's paths; context: struct api. */
struct router e2b_router(struct api *api);

/* Serve one request; context: that router. */
void e2b_serve(void *context, struct http_request *request, struct http_response *response);

/* --- input.c: from E2B's bodies and queries to those of /v1 --- */

extern const struct schema_member e2b_create_schema[];
extern const struct schema_member e2b_network_schema[];

/* Make the body of POST /v1/sandboxes from the body of a create, with this time-out; a new
 * reference. password: returns that of the egress proxy, not stored yet; it borrows from
 * body. Errors: ERR_INVALID_REQUEST, and ERR_NOT_SERVED for features that this deployment does not
 * have. */
int e2b_create_body(struct api *api, const json_t *body, uint64_t timeout_s,
                    struct proxy_password *password, json_t **out, struct error **err);

/* Make the body of PUT /v1/sandboxes/:id/network; a new reference. The rest as above. */
int e2b_network_body(const json_t *body, struct proxy_password *password, json_t **out,
                     struct error **err);

/* --- names.c --- */

/* Change capitals to small letters: names of templates and volumes, and tags, have no capitals. */
void e2b_lower(char *text);

/* Find the reference of /v1 for a name, which the caller frees. The name `base` means the
 * deployment's default template, unless the team has a ready template with this name. */
int e2b_template_of(struct api *api, const char *name, char **reference, struct error **err);

/* Change a template's name to that of /v1, in small letters. The name `base` is replaced as above,
 * but a template of the team that is not ready counts too. */
int e2b_read_template_name(struct api *api, char **name, struct error **err);

/* Call template_view_find() with such a name. */
int e2b_template_find(struct api *api, const char *name, struct template_view *view, unsigned *at,
                      struct error **err);

/* Change the tags of a body to small letters, check them, and remove repeated ones. field: the
 * field in errors. Errors: ERR_INVALID_REQUEST. */
int e2b_read_tags(json_t *tags, const char *field, struct error **err);

/* The text before the name of a secret in a header's value: in E2B's API, and in /v1. */
#define E2B_SECRET_THEIRS "${e2b.secrets."
#define E2B_SECRET_OURS   "${secrets."

/* Return a header's value with `to` in place of each `from`: E2B_SECRET_THEIRS and E2B_SECRET_OURS,
 * or the reverse. The caller owns the reference. */
json_t *e2b_rename_secrets(const char *text, const char *from, const char *to);

/* --- lists.c --- */

/* Answer with a page of a list in E2B's form: the parameters limit, nextToken, state, metadata and
 * sandboxID, a bare array, the header X-Next-Token; a page has 100 rows by default. Errors: those
 * of page_list(); ERR_NOT_SERVED for filters that this deployment does not have. */
int e2b_list(struct api *api, const struct page_kind *kind, struct http_request *request,
             struct http_response *response, struct error **err);

/* Add the parameter `limit` to a request without it. Errors: ERR_INVALID_REQUEST. */
int e2b_default_limit(struct http_request *request, unsigned limit, struct error **err);

/* Translate E2B's parameters of a list into those of /v1. api is used only for sandboxID. Errors:
 * ERR_INVALID_REQUEST, and those of the database for sandboxID. */
int e2b_list_query(struct api *api, struct http_request *request, struct error **err);

/* Append a parameter to the query; takes name and value over. Errors: ERR_INVALID_REQUEST. */
int e2b_add_parameter(struct http_request *request, char *name, char *value, struct error **err);

/* Read a query parameter in seconds since 1970. Without the parameter *at_ms does not change.
 * Errors: ERR_INVALID_REQUEST. */
int e2b_read_second(const struct http_request *request, const char *name, int64_t *at_ms,
                    struct error **err);

/* --- templates.c --- */

/* A template in a list. */
struct e2b_template {
    char id[ID_SIZE];
    struct template_version version; /* the newest ready version, or else the newest version */
    unsigned builds;
    struct template_use use;
    uint32_t disk_gb; /* of the sandboxes that the team makes from it */
    bool is_hidden;   /* its slug alone names another template */
};

/* --- snapshots.c --- */

/* Delete the snapshots with an id, a name, or a name with a tag. *found: at least one was
 * deleted. */
int e2b_snapshots_delete(struct api *api, const char *name, bool *found, struct error **err);

/* Append the tags of the snapshots with an id or a name. Without such a snapshot it appends
 * nothing. */
int e2b_snapshots_tags(struct api *api, const char *name, json_t *tags, struct error **err);

/* --- view.c: from records to E2B's answers; new references --- */

/* Return the answer of a create, a connect and a resume, with the tokens of the sandbox. */
int e2b_sandbox_to_json(struct api *api, const struct sandbox *sandbox, json_t **json,
                        struct error **err);
/* Return whether E2B's state `running` includes a state. In E2B's API a sandbox that is pausing is
 * `paused`. */
bool e2b_is_running(enum sandbox_state state);
/* Return a sandbox as a row of a list. */
json_t *e2b_listed_to_json(const struct sandbox *sandbox);
/* Return the answer of a GET. Only keys that may write get the token. */
int e2b_detail_to_json(struct api *api, const struct sandbox *sandbox, json_t **json,
                       struct error **err);
json_t *e2b_template_to_json(const struct e2b_template *template);
/* Return the time when the team last made a sandbox from the template, or null. */
json_t *e2b_last_use_to_json(const struct template_use *use);
/* Return the buildID of a version: its id as a UUID, because E2B's packages for Python and Go
 * accept no other form. */
json_t *e2b_build_id(const char *version_id);
/* Return one tag of a template or a snapshot. id: of the version or the checkpoint. */
json_t *e2b_tag_to_json(const char *tag, const char *id, int64_t at_ms);
/* Return "building", "ready" or "error", for a version without unfinished steps. */
const char *e2b_build_status(enum template_state state);

/* --- error.c --- */

/* Return the HTTP status that E2B's clients expect for an error. */
int e2b_status_of(const struct error *error);

/* Turn an error in the form of /v1 into E2B's form, with the status that E2B's clients expect. */
void e2b_answer_error(struct http_response *response);

/* --- handlers --- */

route_handler e2b_health_show;
route_handler e2b_sandboxes_create, e2b_sandboxes_create_v2;
route_handler e2b_sandboxes_list, e2b_sandboxes_list_v2;
route_handler e2b_sandboxes_show, e2b_sandboxes_pause;
route_handler e2b_sandboxes_connect, e2b_sandboxes_resume, e2b_sandboxes_timeout;
route_handler e2b_sandboxes_refresh, e2b_sandboxes_network, e2b_sandboxes_metrics;
route_handler e2b_logs_list, e2b_logs_list_v2;
route_handler e2b_sandboxes_fork, e2b_sandboxes_fork_v2;
route_handler e2b_snapshots_create, e2b_snapshots_list;
route_handler e2b_volumes_create, e2b_volumes_list, e2b_volumes_show;
route_handler e2b_volume_files_pass, e2b_volume_files_put, e2b_volume_directories_put,
    e2b_volume_directories_list;
route_handler e2b_volume_paths_show, e2b_volume_paths_update, e2b_volume_paths_delete;
route_handler e2b_teams_list;
route_handler e2b_team_metrics, e2b_team_metrics_max;
route_handler e2b_templates_list, e2b_templates_list_v2, e2b_templates_alias;
route_handler e2b_templates_update, e2b_templates_delete;
route_handler e2b_tags_list, e2b_tags_assign, e2b_tags_remove;
route_handler e2b_metrics_list;
route_handler e2b_templates_show, e2b_builds_create, e2b_builds_start;
route_handler e2b_builds_status, e2b_builds_logs;
route_handler e2b_template_files_link, e2b_template_files_put;
route_handler e2b_events_list, e2b_webhooks_create, e2b_webhooks_list, e2b_webhooks_show;
route_handler e2b_webhooks_update, e2b_webhooks_delete;
route_handler e2b_secrets_create, e2b_secrets_list, e2b_secrets_show, e2b_secrets_update;
route_handler e2b_secrets_delete;
extern const struct schema_member e2b_secret_schema[], e2b_secret_update_schema[];
extern const struct schema_member e2b_webhook_schema[], e2b_webhook_update_schema[];
extern const struct schema_member e2b_build_schema[], e2b_build_start_schema[];

/* Return the token of a link for template files, which its query carries, or NULL. The caller wipes
 * and frees it. */
char *e2b_template_files_token(const struct http_request *request);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of an API worker, and all handlers. Handlers are thin: they turn a checked request into
 * a call of a concept and its result into JSON. */
#pragma once

#include "account/api_key.h"
#include "audit/audit.h"
#include "db/named_lease.h"
#include "http/router.h"
#include "idempotency/idempotency.h"
#include "login/login.h"
#include "login/oidc_provider.h"
#include "sandbox/lifecycle.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox_list.h"
#include "template/template.h"
#include "volume/volume.h"
#include "webhook/webhook.h"

/* The object of the current request, loaded before its handler runs. The route's subject names it.
 * With an Idempotency-Key it can also be the object that an earlier attempt made. */
struct access {
    const struct team *team; /* borrowed from the principal; NULL: every team of the key */
    struct sandbox sandbox;
    const struct shown *shown; /* a kept answer, or NULL; with it sandbox has only id, team_id and
                                * state */
    struct volume volume;
    struct checkpoint checkpoint;
    struct webhook webhook;
    struct template_version version;
    bool made; /* an earlier attempt has made the object of this request */
};

/* The rows that the look_ahead of a route has read. */
struct ahead {
    enum { AHEAD_NOTHING, AHEAD_KEY, AHEAD_QUOTA, AHEAD_LIST } what;
    char team_id[ID_SIZE];
    int64_t last_used_at_ms;       /* AHEAD_KEY */
    struct quota_seen quota;       /* AHEAD_QUOTA */
    struct sandbox_listed *listed; /* AHEAD_LIST: the newest rows, limit at most; owned */
    unsigned count, limit;
};

struct api {
    const struct settings *settings;
    struct worker worker;
    struct oidc_provider *oidc;            /* NULL: no provider is configured */
    struct pool *pool;                     /* the worker pool of this process */
    struct principal_cache *keys;          /* keys that this worker has seen lately */
    struct principal principal;            /* of the current request; empty on public routes */
    struct login login;                    /* of the current request, if it came with a sign-in */
    struct access access;                  /* of the current request */
    struct audit audit;                    /* of the current request; see act.h */
    struct ahead ahead;                    /* of the current request */
    const struct idempotency *idempotency; /* the claimed Idempotency-Key, or NULL */
    const char *hand_on_to; /* the location in nginx that serves the request if it has to wait for a
                             * host (ERR_COPY_FIRST); NULL: this worker waits */
    bool has_share;         /* the current request has entered the pool */
    bool is_presumed;       /* the principal comes from the cache and is not confirmed */
    char etag_lease[NAMED_LEASE_SIZE]; /* held for a change with If-Match (etag.h); "": no lease */
};

/* Make a route from a row of a table of endpoints (endpoint/). */
#define ENDPOINT_ROUTE(method_, pattern_, pool_, subject_, operation_, ...) \
    {.method = method_,                                                     \
     .pattern = pattern_,                                                   \
     .pool = pool_,                                                         \
     .subject = subject_,                                                   \
     .operation = operation_,                                               \
     __VA_ARGS__},

/* All routes of /v1. */
extern const struct route api_routes[];
extern const size_t api_route_count;

/* Return the router for these routes. It settles access and Idempotency-Key before each handler. */
struct router api_router(struct api *api);

/* Reset the state for a new request. The previous request may still wait for room; nothing is
 * settled for it. */
void api_begin(struct api *api);

/* Serve one request; context: the router. */
void api_serve(void *context, struct http_request *request, struct http_response *response);

/* Enter the pool for the team of the request. Call it before anything is changed and before the
 * body is read. body_is_read: false leaves a request whose body names the team to the second call.
 * Errors: ERR_SHARE_USED_UP; the request then waits for room. */
int api_take_share(struct api *api, struct http_request *request, bool body_is_read,
                   struct error **err);

/* Enter the pool again when the body shows that the request waits for a hook. Call it before
 * anything is changed. Errors: ERR_SHARE_USED_UP. */
int api_take_hook_share(struct api *api, struct http_request *request, struct error **err);

/* Enter the pool before a password is hashed, because this takes memory and time. All clients
 * together may use half of the pool's workers; other requests wait without a worker. Call it before
 * anything is changed. Errors: ERR_SHARE_USED_UP. */
int api_take_password_share(struct api *api, struct http_request *request, struct error **err);

/* Enter the pool before the identity provider is asked, in the same way: its answer may take
 * long. */
int api_take_oidc_share(struct api *api, struct http_request *request, struct error **err);

void ahead_deinit(struct ahead *ahead);

struct proxy_password;

/* Create a sandbox from a body of POST /v1/sandboxes that has passed its schema, for the team of
 * the request. password: that of its egress proxy (network_input.h), or NULL. Errors: those of
 * sandbox_input_read(), network_input_read() and sandbox_create(). */
int sandboxes_create_from(struct api *api, const json_t *body,
                          const struct proxy_password *password, struct sandbox *sandbox,
                          struct error **err);

#define LIFETIME_SANDBOX "sandbox" /* lifetime of a session: until the sandbox ends */
#define PURPOSE_PREVIEWS "previews"

/* Issue a session for a sandbox, and return it as JSON (a new reference). The object wish has the
 * members lifetime, purpose and port of a request or answer of POST …/sessions. Without them, or
 * with NULL, the session lasts session_ttl_s and opens everything. */
int api_new_session(struct api *api, const struct sandbox *sandbox, const json_t *wish,
                    json_t **json, struct error **err);

/* Attach the id of the new object to the audit entry and to the claimed Idempotency-Key. Call it in
 * the transaction that makes the object. For the claim members of the lifecycle's requests;
 * context: struct api. */
int api_claim(struct db *db, const char *id, void *context, struct error **err);

/* Record that the act is done, in the transaction that finishes it. */
int api_made(struct api *api, struct error **err);

/* The handlers; each resource has a file. */
route_handler sandboxes_create, sandboxes_list, sandboxes_show, sandboxes_delete;
route_handler sandboxes_pause, sandboxes_resume, sandboxes_rollback;
route_handler sandboxes_update, sandboxes_hold, sandboxes_release;
route_handler sessions_create, sessions_delete;
route_handler logs_list;
route_handler services_list, services_restart;
route_handler ports_list, ports_show, ports_put, ports_delete;
route_handler network_show, network_put, network_check, network_denials;
route_handler events_list;
route_handler secrets_list, secrets_show, secrets_put, secrets_delete;
route_handler team_proxy_show, team_proxy_replace;
route_handler approvals_list, approvals_answer;
route_handler webhooks_create, webhooks_list, webhooks_show, webhooks_update, webhooks_delete;
route_handler webhooks_rotate, webhooks_test;
route_handler webhook_messages_list, webhook_messages_show, webhook_messages_resend;
route_handler webhook_messages_resend_all;
route_handler limits_show;
route_handler usage_show;
route_handler metrics_show, metrics_list;
route_handler keys_list, keys_create, keys_delete, keys_created;
route_handler ssh_keys_list, ssh_keys_create, ssh_keys_delete, ssh_keys_created;
route_handler me_show, teams_list;
route_look_ahead me_look, limits_look, sandboxes_look;
route_handler audit_log_list;
route_handler members_list, members_update, members_remove;
route_handler team_invitations_list, team_invitations_create, team_invitations_delete;
route_handler team_links_list, team_links_create, team_links_delete, links_show, links_accept;
route_handler invitations_list, invitations_accept, invitations_decline;
route_handler team_keys_list, team_keys_delete;
route_handler operator_status, operator_doctor, operator_teams, operator_sandboxes;
route_handler operator_team_update, operator_host_update, operator_plan_update;
route_handler operator_team_create, operator_users, operator_user_create, operator_metrics;
route_handler login_show, login_create, invites_show, invites_accept, sign_up;
route_handler logout, logins_list, logins_delete;
route_handler header_login, oidc_login, oidc_callback;
route_handler device_authorize, device_token, device_show, device_answer;
route_handler host_joins_take;
route_handler password_put, totp_begin, totp_confirm, totp_end;
route_handler passkey_login_begin, passkey_login;
route_handler passkeys_list, passkeys_begin, passkeys_add, passkeys_rename, passkeys_delete;
route_handler volumes_create, volumes_list, volumes_show, volumes_delete;
route_handler sandboxes_fork;
route_handler checkpoints_create, checkpoints_list, checkpoints_show, checkpoints_delete;
route_handler volume_files_get, volume_files_put;
route_handler volume_files_pass; /* a file as octets, for every value of Accept */
route_handler volume_directories_list, volume_directories_put;
route_handler volume_paths_show, volume_paths_delete, volume_paths_move, volume_paths_update;
route_handler templates_list, templates_show, template_versions_list;
route_handler templates_create, templates_delete;
route_handler template_versions_create, template_versions_show, template_versions_delete;
route_handler template_files_put;
route_handler templates_update, template_tags_show, template_tag_show;
route_handler template_tags_put, template_tags_delete;

extern const struct schema_member key_create_schema[];
extern const struct schema_member invitation_schema[], member_update_schema[], team_link_schema[],
    link_token_schema[];
extern const struct schema_member operator_team_schema[], operator_host_schema[],
    operator_plan_schema[], operator_new_team_schema[], operator_user_schema[];
extern const struct schema_member login_schema[], invite_schema[], sign_up_schema[],
    device_schema[], device_token_schema[], device_decide_schema[];
extern const struct schema_member password_schema[], totp_confirm_schema[], password_only_schema[];
extern const struct schema_member passkey_login_schema[], passkey_add_schema[],
    passkey_rename_schema[];
#define LOGIN_BODY_MAX 8192

extern const struct schema_member host_join_schema[];
#define HOST_JOIN_BODY_MAX 32768
extern const struct schema_member ssh_key_create_schema[];
extern const struct schema_member session_create_schema[];
extern const struct schema_member secret_put_schema[];
extern const struct schema_member team_proxy_schema[];
extern const struct schema_member approval_answer_schema[];
extern const struct schema_member webhook_create_schema[], webhook_update_schema[];
extern const struct schema_member checkpoint_create_schema[];
extern const struct schema_member template_create_schema[];
extern const struct schema_member template_version_create_schema[];
extern const struct schema_member template_update_schema[], template_tag_schema[];
extern const struct schema_member template_file_schema[];

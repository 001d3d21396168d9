/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every handler of the API works with. Handlers are thin: they turn a checked request into a
 * call of a concept and its result into JSON. */
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

/* What the request in hand is about, loaded before its handler runs: what the route's subject says,
 * and with an Idempotency-Key what an earlier attempt made. */
struct access {
    const struct team *team; /* borrowed from the principal; NULL: every team of the key */
    struct sandbox sandbox;
    const struct shown *shown; /* of sandbox there are id, team and state, and this; else NULL */
    struct volume volume;
    struct checkpoint checkpoint;
    struct webhook webhook;
    struct template_version version;
    bool made; /* an earlier attempt did: what this request is to make is there already */
};

/* What the look_ahead of a route has read. */
struct ahead {
    enum { AHEAD_NOTHING, AHEAD_KEY, AHEAD_QUOTA, AHEAD_LIST } what;
    char team_id[ID_SIZE];
    int64_t last_used_at_ms; /* AHEAD_KEY */
    struct quota_amount usage;
    struct runtime_resources size;
    struct sandbox_listed *listed; /* AHEAD_LIST: the newest, as many as were asked for; owned */
    unsigned count, limit;
};

struct api {
    const struct settings *settings;
    struct worker worker;
    struct oidc_provider *oidc;            /* NULL: there is none */
    struct pool *pool;                     /* whose worker this is */
    struct principal_cache *keys;          /* met lately */
    struct principal principal;            /* of the request in hand; empty on public routes */
    struct login login;                    /* likewise, of one who has signed in */
    struct access access;                  /* likewise */
    struct audit audit;                    /* likewise, of an act; see act.h */
    struct ahead ahead;                    /* likewise */
    const struct idempotency *idempotency; /* its claimed Idempotency-Key, or NULL */
    const char *hand_on_to; /* where in nginx the request in hand goes on if something has to be
                             * copied first; NULL: this worker waits for that */
    bool has_share;         /* the request in hand has entered the pool */
    bool is_presumed;       /* its principal is the cache's, not confirmed yet */
    char etag_lease[NAMED_LEASE_SIZE]; /* held for a change with If-Match (etag.h); "": none */
};

/* A row of a table of endpoints (endpoint/) as a route. */
#define ENDPOINT_ROUTE(method_, pattern_, pool_, subject_, operation_, ...) \
    {.method = method_,                                                     \
     .pattern = pattern_,                                                   \
     .pool = pool_,                                                         \
     .subject = subject_,                                                   \
     .operation = operation_,                                               \
     __VA_ARGS__},

/* All routes of the interface. */
extern const struct route api_routes[];
extern const size_t api_route_count;

/* The way of a request through them: its access, its Idempotency-Key, its handler. */
struct router api_router(struct api *api);

/* Forget who asked last: that request may wait for room, with nothing of it settled. */
void api_begin(struct api *api);

/* Serve one request; context: that router. */
void api_serve(void *context, struct http_request *request, struct http_response *response);

/* Work for the team that the request is about, or fail: ERR_SHARE_USED_UP. Nothing is changed, and
 * no body read, before. body_is_read: when false, a request whose body says the team is left for
 * the second call. */
int api_take_share(struct api *api, struct http_request *request, bool body_is_read,
                   struct error **err);

/* Before a password is hashed, which takes memory and time: only half of the pool's workers do that
 * at once, for everybody together; the others' requests wait without a worker. Nothing is changed
 * before. Errors: ERR_SHARE_USED_UP. */
int api_take_password_share(struct api *api, struct http_request *request, struct error **err);

/* The same before the identity provider is asked, which may take its time. */
int api_take_oidc_share(struct api *api, struct http_request *request, struct error **err);

void ahead_deinit(struct ahead *ahead);

/* Make what a body of POST /v1/sandboxes asks for, which has passed its schema, for the team of the
 * request. Errors: those of sandbox_input_read(), network_input_read() and sandbox_create(). */
int sandboxes_create_from(struct api *api, const json_t *body, struct sandbox *sandbox,
                          struct error **err);

#define LIFETIME_SANDBOX "sandbox" /* of a session: as long as the sandbox */
#define PURPOSE_PREVIEWS "previews"

/* A fresh session for a sandbox, as JSON (a new reference). The members lifetime, purpose and port
 * of the wish say which one, as a request or an answer of POST …/sessions has them. Without them,
 * and with NULL, it lasts session_ttl_s and opens everything. */
int api_new_session(struct api *api, const struct sandbox *sandbox, const json_t *wish,
                    json_t **json, struct error **err);

/* In the transaction that makes what the request asks for: note its id with the record of the act
 * and with the claimed Idempotency-Key. For the claim members of the lifecycle's requests; context:
 * the struct api. */
int api_claim(struct db *db, const char *id, void *context, struct error **err);

/* In the transaction that ends it: the record that it is done. */
int api_made(struct db *db, void *context, struct error **err);

/* Handlers, a file a resource. */
route_handler sandboxes_create, sandboxes_list, sandboxes_show, sandboxes_delete;
route_handler sandboxes_pause, sandboxes_resume;
route_handler sandboxes_update;
route_handler sessions_create, sessions_delete;
route_handler logs_list;
route_handler ports_list, ports_show, ports_put, ports_delete;
route_handler network_show, network_put, network_check, network_denials;
route_handler events_list;
route_handler webhooks_create, webhooks_list, webhooks_show, webhooks_update, webhooks_delete;
route_handler webhooks_rotate, webhooks_test;
route_handler webhook_messages_list, webhook_messages_show, webhook_messages_resend;
route_handler limits_show;
route_handler usage_show;
route_handler metrics_show;
route_handler keys_list, keys_create, keys_delete;
route_handler ssh_keys_list, ssh_keys_create, ssh_keys_delete;
route_handler me_show, teams_list;
route_look_ahead me_look, limits_look, sandboxes_look;
route_handler audit_log_list;
route_handler members_list, members_update, members_remove;
route_handler team_invitations_list, team_invitations_create, team_invitations_delete;
route_handler invitations_list, invitations_accept, invitations_decline;
route_handler team_keys_list, team_keys_delete;
route_handler operator_status, operator_doctor, operator_teams;
route_handler operator_team_update, operator_host_update, operator_plan_update;
route_handler login_show, login_create, invites_accept, logout, logins_list, logins_delete;
route_handler header_login, oidc_login, oidc_callback;
route_handler device_authorize, device_token, device_show, device_answer;
route_handler host_joins_take;
route_handler password_put, totp_begin, totp_confirm, totp_end;
route_handler volumes_create, volumes_list, volumes_show, volumes_delete;
route_handler sandboxes_fork;
route_handler checkpoints_create, checkpoints_list, checkpoints_show, checkpoints_delete;
route_handler volume_files_get, volume_files_put;
route_handler volume_files_pass; /* a file as octets, whatever is accepted */
route_handler volume_directories_list, volume_directories_put;
route_handler volume_paths_show, volume_paths_delete, volume_paths_move, volume_paths_update;
route_handler templates_list, templates_show, template_versions_list;
route_handler templates_create, templates_delete;
route_handler template_versions_create, template_versions_show, template_versions_delete;
route_handler template_files_put;
route_handler templates_update, template_tags_show, template_tags_put, template_tags_delete;

extern const struct schema_member key_create_schema[];
extern const struct schema_member invitation_schema[], member_update_schema[];
extern const struct schema_member operator_team_schema[], operator_host_schema[],
    operator_plan_schema[];
extern const struct schema_member login_schema[], invite_schema[], device_schema[],
    device_token_schema[], device_decide_schema[];
extern const struct schema_member password_schema[], totp_confirm_schema[], totp_end_schema[];
#define LOGIN_BODY_MAX 8192

extern const struct schema_member host_join_schema[];
#define HOST_JOIN_BODY_MAX 32768
extern const struct schema_member ssh_key_create_schema[];
extern const struct schema_member session_create_schema[];
extern const struct schema_member webhook_create_schema[], webhook_update_schema[];
extern const struct schema_member checkpoint_create_schema[];
extern const struct schema_member template_create_schema[];
extern const struct schema_member template_version_create_schema[];
extern const struct schema_member template_update_schema[], template_tag_schema[];
extern const struct schema_member template_file_schema[];

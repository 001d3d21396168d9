/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/token_key.h"
#include "api/e2b/e2b.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "network/egress_proxy.h"
#include "session/session.h"

/* The version of E2B's agent whose protocol sandlot's agent supports. Clients use it to choose
 * their features. */
#define PROTOCOL_VERSION "0.6.13"
#define CLIENT_ID        "sandlot" /* a part of old ids that has no meaning any more */
#define MIB_PER_GIB      1024

static json_t *stored(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    return json ? json : json_object();
}

bool e2b_is_running(enum sandbox_state state)
{
    return sandbox_state_is_live(state) && state != SANDBOX_STOPPING;
}

static const char *state_of(const struct sandbox *sandbox)
{
    return e2b_is_running(sandbox->state) ? "running" : "paused";
}

/* Return the deadline, or for a paused sandbox the time of its pause. */
static json_t *end_of(const struct sandbox *sandbox)
{
    int64_t end_ms = sandbox->deadline_at_ms ? sandbox->deadline_at_ms : sandbox->stopped_at_ms;
    return time_to_json(end_ms ? end_ms : sandbox->updated_at_ms);
}

static json_t *template_of(const struct sandbox *sandbox)
{
    return json_string(sandbox_made_from(sandbox));
}

static int lasting_token(struct api *api, const struct sandbox *sandbox, struct session_scope scope,
                         struct session *session, struct error **err)
{
    return session_issue_lasting(api->worker.ring, sandbox->id, scope, sandbox->session_epoch,
                                 session, err);
}

int e2b_sandbox_to_json(struct api *api, const struct sandbox *sandbox, json_t **json,
                        struct error **err)
{
    struct session session, visitors;
    const struct session_scope previews = {.is_preview = true};
    if (token_key_note(api->worker.db, &api->principal, sandbox->id, sandbox->team_id, err) < 0 ||
        lasting_token(api, sandbox, SESSION_ALL, &session, err) < 0 ||
        lasting_token(api, sandbox, previews, &visitors, err) < 0)
        return -1;
    *json = json_pack("{s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:s?}", "sandboxID", sandbox->route,
                      "templateID", template_of(sandbox), "alias", sandbox->template_slug,
                      "clientID", CLIENT_ID, "envdVersion", PROTOCOL_VERSION, "envdAccessToken",
                      session.token, "domain", api->settings->data_plane_host, "trafficAccessToken",
                      sandbox->allow_public_traffic ? NULL : visitors.token);
    session_wipe(&session);
    session_wipe(&visitors);
    return 0;
}

static json_t *volumes_of(const struct sandbox *sandbox)
{
    json_auto_t *mounts = stored(sandbox->volume_mounts);
    json_t *list = json_array();
    const char *path;
    json_t *name;
    json_object_foreach (mounts, path, name)
        json_array_append_new(list, json_pack("{s:O, s:s}", "name", name, "path", path));
    return list;
}

json_t *e2b_listed_to_json(const struct sandbox *sandbox)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:I, s:o, s:o}",
                     "sandboxID", sandbox->route, "templateID", template_of(sandbox), "alias",
                     sandbox->template_slug, "clientID", CLIENT_ID, "envdVersion", PROTOCOL_VERSION,
                     "startedAt", time_to_json(sandbox->created_at_ms), "endAt", end_of(sandbox),
                     "state", state_of(sandbox), "cpuCount", (json_int_t)sandbox->resources.cpu,
                     "memoryMB", (json_int_t)sandbox->resources.memory_mb, "diskSizeMB",
                     (json_int_t)sandbox->resources.disk_gb * MIB_PER_GIB, "metadata",
                     stored(sandbox->metadata), "volumeMounts", volumes_of(sandbox));
}

static json_t *https_ports_of(const struct sandbox *sandbox)
{
    json_t *ports = json_array();
    for (unsigned i = 0; i < sandbox->port_count; i++)
        if (sandbox->ports[i].is_https)
            json_array_append_new(ports, json_integer(sandbox->ports[i].port));
    return ports;
}

static json_t *transform_of(const json_t *rule)
{
    json_t *headers = json_object(), *value;
    const char *name;
    json_object_foreach (json_object_get(rule, "headers"), name, value)
        json_object_set_new(
            headers, name,
            e2b_rename_secrets(json_string_value(value), E2B_SECRET_OURS, E2B_SECRET_THEIRS));
    return json_pack("{s:o}", "headers", headers);
}

/* Return the rules by host. A rule of /v1 shows its headers only: E2B's rules have nothing else. */
static json_t *rules_of(const json_t *policy)
{
    json_t *hosts = json_object(), *rule;
    size_t index;
    json_array_foreach (json_object_get(policy, "rules"), index, rule) {
        const char *host = json_string_value(json_object_get(rule, "host"));
        json_t *list = json_object_get(hosts, host);
        if (!list)
            json_object_set_new(hosts, host, list = json_array());
        json_array_append_new(list, json_object_get(rule, "headers")
                                        ? json_pack("{s:o}", "transform", transform_of(rule))
                                        : json_object());
    }
    return hosts;
}

/* Return the proxy without its password, which E2B's API never shows, or NULL. */
static json_t *proxy_of(const json_t *policy)
{
    const json_t *proxy = json_object_get(policy, EGRESS_PROXY);
    if (!json_object_size(proxy))
        return NULL;
    json_t *address = json_sprintf("%s:%d", json_string_value(json_object_get(proxy, "host")),
                                   (int)json_integer_value(json_object_get(proxy, "port")));
    return json_pack("{s:o, s:O*}", "address", address, "username",
                     json_object_get(proxy, "username"));
}

static json_t *network_of(const struct sandbox *sandbox)
{
    json_auto_t *policy = stored(sandbox->network);
    json_t *network =
        json_pack("{s:O, s:O, s:b, s:o, s:o*}", "allowOut", json_object_get(policy, "allow_out"),
                  "denyOut", json_object_get(policy, "deny_out"), "allowPublicTraffic",
                  (int)sandbox->allow_public_traffic, "httpsPorts", https_ports_of(sandbox),
                  "egressProxy", proxy_of(policy));
    if (json_array_size(json_object_get(policy, "rules")))
        json_object_set_new(network, "rules", rules_of(policy));
    if (sandbox->request_host[0])
        json_object_set_new(network, "maskRequestHost", json_string(sandbox->request_host));
    return network;
}

static int add_token(struct api *api, const struct sandbox *sandbox, json_t *json,
                     struct error **err)
{
    struct session session;
    if (token_key_note(api->worker.db, &api->principal, sandbox->id, sandbox->team_id, err) < 0 ||
        lasting_token(api, sandbox, SESSION_ALL, &session, err) < 0)
        return -1;
    json_object_set_new(json, "envdAccessToken", json_string(session.token));
    session_wipe(&session);
    return 0;
}

int e2b_detail_to_json(struct api *api, const struct sandbox *sandbox, json_t **json,
                       struct error **err)
{
    json_auto_t *policy = stored(sandbox->network);
    json_auto_t *made = e2b_listed_to_json(sandbox);
    /* A key that can only read, and a viewer, get no session. */
    if (principal_writes(&api->principal, sandbox->team_id) &&
        add_token(api, sandbox, made, err) < 0)
        return -1;
    json_object_set_new(made, "domain", json_string(api->settings->data_plane_host));
    json_object_set(made, "allowInternetAccess", json_object_get(policy, "allow_internet_access"));
    json_object_set_new(made, "network", network_of(sandbox));
    json_object_set_new(made, "lifecycle",
                        json_pack("{s:s, s:b}", "onTimeout", on_timeout_name(sandbox->on_timeout),
                                  "autoResume", (int)sandbox->auto_resume));
    *json = json_incref(made);
    return 0;
}

json_t *e2b_build_id(const char *version_id)
{
    char uuid[UUID_SIZE];
    return json_string(id_to_uuid(version_id, uuid));
}

json_t *e2b_tag_to_json(const char *tag, const char *id, int64_t at_ms)
{
    return json_pack("{s:s, s:o, s:o}", "tag", tag, "buildID", e2b_build_id(id), "createdAt",
                     time_to_json(at_ms));
}

const char *e2b_build_status(enum template_state state)
{
    return state == TEMPLATE_FAILED ? "error" : state == TEMPLATE_READY ? "ready" : "building";
}

json_t *e2b_last_use_to_json(const struct template_use *use)
{
    return use->last_at_ms ? time_to_json(use->last_at_ms) : json_null();
}

json_t *e2b_template_to_json(const struct e2b_template *template)
{
    const struct template_version *version = &template->version;
    autofree char *name = xasprintf("%s/%s", version->team_slug, version->slug);
    bool is_public = version->is_public || template_is_deployments(version);
    return json_pack(
        "{s:s, s:o, s:I, s:I, s:I, s:b, s:[s], s:[s], s:o, s:o, s:n, s:o, s:I, s:I,"
        " s:s, s:s}",
        "templateID", template->is_hidden ? name : version->slug, "buildID",
        e2b_build_id(version->id), "cpuCount", (json_int_t)version->cpu, "memoryMB",
        (json_int_t)version->memory_mb, "diskSizeMB", (json_int_t) template->disk_gb * MIB_PER_GIB,
        "public", (int)is_public, "aliases", version->slug, "names", name, "createdAt",
        time_to_json(version->template_created_at_ms), "updatedAt",
        time_to_json(version->created_at_ms), "createdBy", "lastSpawnedAt",
        e2b_last_use_to_json(&template->use), "spawnCount", (json_int_t) template->use.sandboxes,
        "buildCount", (json_int_t) template->builds, "envdVersion", PROTOCOL_VERSION, "buildStatus",
        e2b_build_status(version->state));
}

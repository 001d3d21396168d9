/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/act.h"

#include <stdio.h>

#include "api/access.h"
#include "base/log.h"
#include "base/str.h"
#include "endpoint/endpoint.h"

/* Return the action of a route; NULL: the route changes nothing. */
static const struct audit_action *action_of(const struct route *route)
{
    const struct audit_action *action = audit_action_of_operation(route->operation);
    return action == &audit_unnamed && str_equal(route->method, "GET") ? NULL : action;
}

/* Return the team whose log gets the entry. "": no team's log; only operators see it. */
static const char *team_of(const struct api *api, const struct route *route)
{
    const struct access *access = &api->access;
    const char *id = access_team_id(access, route);
    if (id)
        return id;
    switch ((enum endpoint_subject)route->subject) {
    case SUBJECT_OPERATOR:
        return TEAM_DEPLOYMENT_ID;
    case SUBJECT_USER:
    case SUBJECT_LOGIN:
        return api->principal.personal_team_id;
    default:
        return access->team ? access->team->id : "";
    }
}

/* Name the object of the path. A new object gets its name later. */
static void name_resource(struct audit *audit, const struct route *route,
                          const struct http_request *request)
{
    char text[2 * AUDIT_RESOURCE_SIZE];
    const char *name = json_string_value(json_object_get(request->json, "name"));
    const char *slug = json_string_value(json_object_get(request->json, "slug"));
    audit->entry.resource[0] = '\0';
    if (route->subject == SUBJECT_MEMBERS)
        audit_about(audit, request->capture_count > 1 ? request->captures[1] : name ? name : "");
    else if (route->subject == SUBJECT_TEAM && request->capture_count > 1) {
        snprintf(text, sizeof text, "%s:%s", request->captures[0], request->captures[1]);
        audit_about(audit, text);
    } else if (request->capture_count)
        audit_about(audit, request->captures[0]);
    else if (slug)
        audit_about(audit, slug);
}

static enum audit_actor actor_of(const struct principal *principal)
{
    if (!*principal->key_id)
        return AUDIT_SESSION;
    return str_starts_with(principal->key_id, "ssk_") ? AUDIT_SSH_KEY : AUDIT_KEY;
}

#define COPY(array, text) snprintf((array), sizeof(array), "%s", (text))

static void open_act(struct api *api, const struct route *route, const struct http_request *request)
{
    struct audit *audit = &api->audit;
    struct audit_entry *entry = &audit->entry;
    const struct principal *principal = &api->principal;
    *audit = (struct audit){
        .action = action_of(route),
        .only_changes = route->scope == ROUTE_PUBLIC, /* an error redirect is an answer */
    };
    if (!audit->action)
        return;
    entry->actor = actor_of(principal);
    COPY(entry->actor_id, *principal->key_id ? principal->key_id : principal->login_id);
    COPY(entry->user_id, principal->user_id);
    COPY(entry->team_id, team_of(api, route));
    COPY(entry->address, request->remote_address);
    COPY(entry->request_id, request->request_id);
    name_resource(audit, route, request);
}

/* Note the number of unwritten refusals. */
static void name_refused(struct audit *audit, uint64_t unwritten)
{
    if (!unwritten)
        return;
    char text[2 * AUDIT_RESOURCE_SIZE];
    snprintf(text, sizeof text, "(and %llu earlier refused calls) %s",
             (unsigned long long)unwritten, audit->entry.resource);
    audit_about(audit, text);
}

static bool is_refusal(const struct error *failure)
{
    return failure->code == ERR_INSUFFICIENT_SCOPE || failure->code == ERR_TEAM_FORBIDDEN;
}

/* Write the row of a refused act that changed nothing. An actor's refused acts have one row a
 * minute. */
static void write_refusal(struct api *api, const struct audit_action *action,
                          const struct error *failure)
{
    error_auto err = NULL;
    bool is_written;
    uint64_t unwritten;
    struct audit_entry *entry = &api->audit.entry;
    entry->result = AUDIT_REFUSED;
    if (audit_refusal_count(api->worker.db, entry->actor_id, &is_written, &unwritten, &err) < 0)
        log_warning("cannot count a refused call; the audit log lacks it",
                    LOG_STR("actor", entry->actor_id), LOG_ERROR(err));
    if (err || !is_written)
        return;
    name_refused(&api->audit, unwritten);
    COPY(entry->action, action->name);
    COPY(entry->error, error_api_code(failure->code));
    if (audit_write(api->worker.db, api->worker.ring, entry, &err) < 0)
        log_warning("cannot record a refused call in the audit log",
                    LOG_STR("action", entry->action), LOG_ERROR(err));
}

/* Return whether a handler refused the act before it wrote a row. */
static bool is_refused(const struct audit *audit, const struct error *failure)
{
    return failure && is_refusal(failure) && audit->action &&
           audit->action->class != AUDIT_OUTSIDE && db_is_accompanied(audit->db);
}

int act_do(struct api *api, const struct route *route, struct http_request *request,
           struct http_response *response, struct error **err)
{
    error_auto failure = NULL;
    error_auto lost = NULL;
    open_act(api, route, request);
    if (audit_begin(&api->audit, api->worker.db, api->worker.ring, err) < 0)
        return -1;
    int result = route->handler(api, request, response, &failure);
    const struct audit_action *action = api->audit.action;
    if (is_refused(&api->audit, failure)) {
        audit_leave(&api->audit);
        write_refusal(api, action, failure);
        return error_move(err, &failure);
    }
    if (audit_end(&api->audit, failure, &lost) < 0 && result == 0)
        return error_move(err, &lost);
    if (lost)
        log_warning("cannot record a failed call in the audit log",
                    LOG_STR("operation", route->operation), LOG_ERROR(lost));
    return result == 0 ? 0 : error_move(err, &failure);
}

void act_refused(struct api *api, const struct route *route, const struct http_request *request,
                 const struct error *failure)
{
    if (!is_refusal(failure))
        return;
    open_act(api, route, request);
    if (api->audit.action)
        write_refusal(api, api->audit.action, failure);
}

void act_signs_in(struct api *api, const struct login *login)
{
    api->audit.actor_id = login->id;
    api->audit.user_id = login->user_id;
}

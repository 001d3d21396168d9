/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network policy of a sandbox: show, replace, explain. */
#include <stdio.h>
#include <string.h>

#include "api/network_input.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"
#include "network/network_check.h"
#include "sandbox/sandbox_network.h"

int network_show(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    (void)request;
    (void)err;
    return http_response_json(response, 200, network_to_json(&api->access.sandbox));
}

int network_put(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    sandbox_auto changed = {0};
    autofree char *network = NULL;
    const json_t *public_traffic = json_object_get(request->json, "allow_public_traffic");
    if (network_input_read(api, request->json, NULL, &network, err) < 0)
        return -1;
    struct sandbox_network_change change = {.network = network,
                                            .set_public_traffic = public_traffic != NULL,
                                            .allow_public_traffic = json_is_true(public_traffic)};
    if (sandbox_network_put(&api->worker, api->access.sandbox.id, &change, &changed, err) < 0)
        return -1;
    bool applied = str_equal(sandbox_network_status(&changed), "applied");
    return http_response_json(response, applied ? 200 : 202, network_to_json(&changed));
}

/* Add to the verdict that allow_package_registry_access opens nothing while the profile is
 * empty. */
static int explain_registries(struct db *db, const char *network, struct network_verdict *verdict,
                              struct error **err)
{
    json_auto_t *stored = json_loads(network, 0, NULL);
    struct egress_profile profile;
    size_t used = strlen(verdict->message);
    if (verdict->rule || verdict->verdict == POLICY_ALLOW ||
        !json_is_true(json_object_get(stored, "allow_package_registry_access")))
        return 0;
    if (egress_profile_get(db, EGRESS_PROFILE_REGISTRIES, &profile, err) < 0)
        return -1;
    if (!json_array_size(profile.entries))
        snprintf(verdict->message + used, sizeof verdict->message - used,
                 " allow_package_registry_access has no effect: the deployment's "
                 "profile " EGRESS_PROFILE_REGISTRIES " is empty.");
    egress_profile_deinit(&profile);
    return 0;
}

/* Find the policy to check: the draft in the request, or the sandbox's own. */
static int policy_in_question(struct api *api, const json_t *body, char **network,
                              struct error **err)
{
    const json_t *draft = json_object_get(body, "policy");
    *network = NULL;
    if (!draft) {
        *network = xstrdup(api->access.sandbox.network);
        return 0;
    }
    if (network_input_read(api, draft, NULL, network, err) == 0)
        return 0;
    autofree char *field = (*err)->field;
    (*err)->field = field ? xasprintf("/policy%s", field) : NULL;
    return -1;
}

/* A host with egress rules is reached through them, at their ports, unless an entry denies it. */
static void explain_rules(const char *network, const struct network_question *question,
                          struct network_verdict *verdict)
{
    json_auto_t *stored = json_loads(network, 0, NULL);
    autofree char *name = NULL;
    error_auto ignored = NULL; /* an address has no rules */
    if (policy_host_parse(question->host, &name, &ignored) < 0 ||
        !egress_has_host(stored, name, 0) || str_equal(verdict->reason, "name_service") ||
        (verdict->rule && verdict->verdict == POLICY_DENY))
        return;
    bool is_port = question->port && egress_has_host(stored, name, question->port);
    verdict->rule = NULL;
    verdict->asks = false;
    verdict->verdict = is_port ? POLICY_ALLOW : POLICY_DENY;
    verdict->reason = "egress_rule";
    snprintf(verdict->message, sizeof verdict->message,
             is_port ? "The sandbox has egress rules for the host, which decide about each request."
                     : "The sandbox has egress rules for the host, but not at this port.");
}

int network_check(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    policy_auto policy = {0};
    autofree struct protected_networks *networks = xcalloc(1, sizeof *networks);
    struct network_question question = {
        json_string_value(json_object_get(request->json, "host")),
        (uint16_t)json_integer_value(json_object_get(request->json, "port")),
    };
    struct network_verdict verdict;
    autofree char *network = NULL;
    if (policy_in_question(api, request->json, &network, err) < 0 ||
        sandbox_network_protected(&api->worker, networks, err) < 0 ||
        sandbox_policy_compile(api->worker.db, network, &policy, err) < 0 ||
        network_verdict_find(&policy, networks, &question, &verdict, err) < 0 ||
        explain_registries(api->worker.db, network, &verdict, err) < 0)
        return -1;
    explain_rules(network, &question, &verdict);
    autofree char *entry = verdict.rule ? policy_entry_text(&verdict.rule->entry) : NULL;
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:i, s:s, s:s?, s:s?, s:s, s:s, s:s}", "host", question.host, "port",
                  (int)question.port, "verdict",
                  verdict.asks ? SANDBOX_POLICY_ASK : policy_verdict_name(verdict.verdict), "entry",
                  entry, "origin", verdict.rule ? verdict.rule->origin : NULL, "reason",
                  verdict.reason, "message", verdict.message, "status",
                  sandbox_network_status(sandbox)));
}

int network_denials(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    json_t *denials;
    (void)request;
    if (sandbox_network_denials(&api->worker, sandbox, &denials, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:o}", "denials", denials));
}

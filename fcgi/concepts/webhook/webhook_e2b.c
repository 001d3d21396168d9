/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "webhook/webhook_e2b.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "crypto/mac.h"
#include "sandbox/sandbox.h"

#define VERSION "v2"

const char *const webhook_e2b_types[WEBHOOK_E2B_TYPES] = {
    "sandbox.lifecycle.created", "sandbox.lifecycle.updated", "sandbox.lifecycle.paused",
    "sandbox.lifecycle.resumed", "sandbox.lifecycle.killed"};

static const struct {
    enum event_kind kind;
    unsigned type;
} kinds[] = {
    {EVENT_SANDBOX_STARTED, 0}, {EVENT_SANDBOX_UPDATED, 1}, {EVENT_SANDBOX_PAUSED, 2},
    {EVENT_SANDBOX_STOPPED, 2}, {EVENT_SANDBOX_RESUMED, 3}, {EVENT_SANDBOX_DELETED, 4},
};

void webhook_e2b_kinds(const char *type, struct event_filter *filter)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_equal(webhook_e2b_types[kinds[i].type], type))
            filter->kinds[kinds[i].kind] = true;
}

/* Return the E2B type of a kind, or NULL. */
static const char *webhook_e2b_type(enum event_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].kind == kind)
            return webhook_e2b_types[kinds[i].type];
    return NULL;
}

bool webhook_e2b_has_type(enum event_kind kind)
{
    return webhook_e2b_type(kind);
}

bool webhook_e2b_narrow(struct event_filter *filter)
{
    bool every = true, any = false;
    for (unsigned i = 0; i < EVENT_KIND_COUNT; i++)
        every &= !filter->kinds[i];
    for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
        filter->kinds[i] = (every || filter->kinds[i]) && webhook_e2b_has_type((enum event_kind)i);
        any |= filter->kinds[i];
    }
    return any;
}

/* Read the sandbox in any state. A missing row leaves *sandbox empty. */
static int find_sandbox(struct db *db, const char *id, struct sandbox *sandbox, struct error **err)
{
    error_auto missing = NULL;
    if (sandbox_get_any(db, id, false, sandbox, &missing) == 0 ||
        (*id && missing->code == ERR_NOT_FOUND))
        return 0;
    return error_move(err, &missing);
}

static json_t *metadata_of(const struct sandbox *sandbox)
{
    json_t *metadata = sandbox->metadata ? json_loads(sandbox->metadata, 0, NULL) : NULL;
    return metadata ? metadata : json_object();
}

/* Return the event's data: the sandbox's present metadata, and for an update its new deadline. */
static json_t *data_of(const struct event *event, const struct sandbox *sandbox)
{
    json_auto_t *own = event->data ? json_loads(event->data, 0, NULL) : NULL;
    json_t *deadline = json_object_get(own, "deadline");
    json_t *data = json_pack("{s:o}", "sandbox_metadata", metadata_of(sandbox));
    if (event->kind == EVENT_SANDBOX_UPDATED && deadline)
        json_object_set(data, "set_timeout", deadline);
    return data;
}

int webhook_e2b_event(struct db *db, const struct event *event, json_t **json, struct error **err)
{
    char id[EVENT_ID_SIZE], at[CLOCK_ISO8601_SIZE];
    const char *type = webhook_e2b_type(event->kind);
    sandbox_auto sandbox = {0};
    if (find_sandbox(db, event->sandbox_id, &sandbox, err) < 0)
        return -1;
    const char *name = *sandbox.route ? sandbox.route : event->sandbox_id;
    *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s}", "version", VERSION,
                  "id", event_id_format(event->id, id), "type", type ? type : "", "eventCategory",
                  "lifecycle", "eventLabel", type ? strrchr(type, '.') + 1 : "", "eventData",
                  data_of(event, &sandbox), "sandboxBuildId", sandbox.template_version_id,
                  "sandboxId", name, "sandboxTeamId", event->team_id, "sandboxTemplateId",
                  sandbox.template_slug, "timestamp", clock_format_iso8601(event->at_ms, at));
    return 0;
}

int webhook_e2b_body(struct db *db, const struct event *event, char **body, struct error **err)
{
    json_auto_t *json = NULL;
    if (webhook_e2b_event(db, event, &json, err) < 0)
        return -1;
    *body = json_dumps(json, JSON_COMPACT);
    if (strlen(*body) <= WEBHOOK_BODY_MAX)
        return 0;
    /* Long metadata is left out; a client can read it from the sandbox. */
    free(*body);
    json_object_set_new(json, "eventData", json_pack("{s:{}}", "sandbox_metadata"));
    *body = json_dumps(json, JSON_COMPACT);
    return 0;
}

void webhook_e2b_sign(const struct webhook_secrets *secrets, const char *body,
                      char signature[WEBHOOK_E2B_SIGNATURE_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL) ||
        !EVP_DigestUpdate(context, secrets->keys[0], secrets->sizes[0]) ||
        !EVP_DigestUpdate(context, body, strlen(body)) ||
        !EVP_DigestFinal_ex(context, digest, &size))
        panic("libcrypto has no SHA-256");
    EVP_MD_CTX_free(context);
    base64url_encode(digest, size, signature);
}

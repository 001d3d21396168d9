/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/kept_log.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypto/aead.h"
#include "runtime/agent_client.h"
#include "sandbox/lifecycle_steps.h"

/* everything that one answer of an agent can hold */
#define QUERY        "order=desc&limit=1000"
#define TAKE_WAIT_MS 500

#define SEALED_MAX   (KEPT_LOG_MAX + 128)

/* The associated data of the seal, so that no other sealed data of the sandbox can replace the
 * log. */
#define ASSOCIATED_SIZE (ID_SIZE + 8)

static const char *associated_name(const char *sandbox_id, char name[ASSOCIATED_SIZE])
{
    snprintf(name, ASSOCIATED_SIZE, "log %s", sandbox_id);
    return name;
}

static int ask(struct work *work, json_t **entries, struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    int result = work_know_agent(work, &at, secret, err);
    if (result == 0)
        result = agent_logs(&at, secret, NULL, QUERY, work_agent_deadline(work, TAKE_WAIT_MS),
                            entries, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

/* Write as many of the newest entries as fit. */
static void write_entries(const json_t *entries, struct buffer *text)
{
    buffer_append_char(text, '[');
    for (size_t i = 0; i < json_array_size(entries); i++) {
        autowipe char *entry = json_dumps(json_array_get(entries, i), JSON_COMPACT);
        if (!entry || text->size + strlen(entry) + 2 > KEPT_LOG_MAX)
            break;
        buffer_printf(text, "%s%s", i ? "," : "", entry);
    }
    buffer_append_char(text, ']');
}

static int keep(struct work *work, const json_t *entries, struct error **err)
{
    struct worker *worker = work->worker;
    struct sandbox *sandbox = &work->sandbox;
    struct buffer text = BUFFER_INIT(KEPT_LOG_MAX);
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    char name[ASSOCIATED_SIZE];
    write_entries(entries, &text);
    int result = aead_seal(worker->ring, text.data, text.size, associated_name(sandbox->id, name),
                           &sealed, err);
    buffer_wipe(&text);
    if (result < 0 || kept_log_insert(worker->db, sandbox, &sealed, err) < 0)
        return -1;
    return kept_log_trim(worker->db, sandbox->team_id, KEPT_LOGS_OF_TEAM_MAX, err);
}

void kept_log_take(struct work *work)
{
    json_auto_t *entries = NULL;
    error_auto failure = NULL;
    if (ask(work, &entries, &failure) < 0 || keep(work, entries, &failure) < 0)
        log_info("cannot save the process logs of a sandbox before its pause; the logs are lost",
                 SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
}

int kept_log_read(struct worker *worker, const char *sandbox_id, json_t **entries,
                  struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SEALED_MAX);
    struct buffer text = BUFFER_INIT(KEPT_LOG_MAX);
    char name[ASSOCIATED_SIZE];
    if (kept_log_get(worker->db, sandbox_id, &sealed, err) < 0)
        return -1;
    if (!sealed.size)
        return error_set(err, ERR_NOT_FOUND, "The sandbox has no saved logs.");
    int result = aead_open(worker->ring, sealed.data, sealed.size,
                           associated_name(sandbox_id, name), &text, err);
    *entries = result < 0 ? NULL : json_loadb(text.data, text.size, 0, NULL);
    buffer_wipe(&text);
    if (result == 0 && !*entries)
        return error_set(err, ERR_INTERNAL, "the saved log of %s is not JSON", sandbox_id);
    return result;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/failed_starts.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/pool.h"
#include "runtime/agent_notes.h"

#define TABLE    "starts.notes"
#define AGAIN_S  180 /* a second failure within that time counts */
#define MS_PER_S 1000

/* Open the table of failed starts. Without it each create is tried. */
static struct agent_notes *open_notes(const struct worker *worker)
{
    static struct agent_notes *notes; /* for the life of the process */
    error_auto err = NULL;
    if (!notes &&
        agent_notes_open(worker->settings->pools_dir, TABLE, FAILED_START_S, &notes, &err) < 0)
        log_warning("cannot open the file of failed starts; trying to start sandboxes from every "
                    "checkpoint",
                    LOG_ERROR(err));
    return notes;
}

static uint64_t key_of(const char *team_id, const char *source)
{
    autofree char *both = xasprintf("%s %s", team_id, source);
    return pool_tenant(both);
}

int failed_start_check(struct worker *worker, const char *team_id, const char *source,
                       struct error **err)
{
    const struct agent_notes *notes = open_notes(worker);
    if (!notes || !agent_notes_is_silent(notes, key_of(team_id, source)))
        return 0;
    error_set(err, ERR_AGENT_SILENT,
              "%s %s did not start: sandlot-agent did not answer in time, twice. You can try again "
              "after %d s.",
              str_starts_with(source, "sbx_") ? "Sandbox" : "Sandboxes made from", source,
              FAILED_START_S);
    (*err)->retry_after_s = FAILED_START_S;
    return -1;
}

void failed_start_note(struct worker *worker, const char *team_id, const char *source)
{
    struct agent_notes *notes = open_notes(worker);
    uint64_t key = key_of(team_id, source);
    if (notes && agent_notes_is_slow(notes, key))
        agent_notes_silent(notes, key);
    else if (notes)
        agent_notes_slow(notes, key, AGAIN_S * MS_PER_S);
}

void failed_start_forget(struct worker *worker, const char *team_id, const char *source)
{
    struct agent_notes *notes = open_notes(worker);
    if (notes)
        agent_notes_answered(notes, key_of(team_id, source));
}

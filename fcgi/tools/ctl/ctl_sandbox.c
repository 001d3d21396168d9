/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sandboxes in an operator's hands: the same moves as those of the API, without a team's key. */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ctl/output.h"
#include "host/host.h"
#include "sandbox/lifecycle.h"

struct worker ctl_worker(const struct ctl *ctl)
{
    struct worker worker = {
        .settings = ctl->settings,
        .db = ctl->db,
        .ring = ctl->ring,
        .runtimes = ctl->runtimes,
    };
    struct utsname host;
    uname(&host);
    snprintf(worker.lease_owner, sizeof worker.lease_owner, "sandlotctl/%.28s/%d", host.nodename,
             (int)getpid());
    return worker;
}

/* One that is shown to its team; the record of the act is the team's too. */
static int find(struct ctl *ctl, const char *id, struct error **err)
{
    sandbox_auto sandbox = {0};
    if (!id_is_valid("sbx_", id))
        return error_set(err, ERR_NOT_FOUND, CTL_NO_SANDBOX, id);
    if (sandbox_get(ctl->db, id, &sandbox, err) < 0)
        return -1;
    snprintf(ctl->audit.entry.team_id, ID_SIZE, "%s", sandbox.team_id);
    return 0;
}

static void print_state(const struct ctl *ctl, const struct sandbox *sandbox)
{
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:s}", "id", sandbox->id, "team", sandbox->team_slug, "state",
                        sandbox_state_name(sandbox->state)),
              "Sandbox %s of team %s is %s.", sandbox->id, sandbox->team_slug,
              sandbox_state_word(sandbox->state));
}

int ctl_sandbox_pause(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct worker worker = ctl_worker(ctl);
    sandbox_auto sandbox = {0};
    const char *id = arguments->operands[0];
    if (find(ctl, id, err) < 0 ||
        sandbox_pause(&worker, id, !ctl_flag(arguments, "without-memory"), &sandbox, err) < 0)
        return -1;
    print_state(ctl, &sandbox);
    return 0;
}

int ctl_sandbox_resume(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct worker worker = ctl_worker(ctl);
    sandbox_auto sandbox = {0};
    const char *id = arguments->operands[0];
    const struct sandbox_resume how = {
        .timeout_s = ctl_seconds(arguments, "timeout", 0),
        .without_memory = ctl_flag(arguments, "without-memory"),
    };
    if (find(ctl, id, err) < 0 || sandbox_resume(&worker, id, &how, &sandbox, err) < 0)
        return -1;
    print_state(ctl, &sandbox);
    return 0;
}

int ctl_sandbox_move(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct worker worker = ctl_worker(ctl);
    sandbox_auto sandbox = {0};
    struct host to;
    const char *id = arguments->operands[0], *name = arguments->operands[1];
    if (find(ctl, id, err) < 0 || host_get_by_name(ctl->db, name, &to, err) < 0)
        return -1;
    fprintf(stderr, "moving sandbox %s to host %s\n", id, name);
    int result = sandbox_move(&worker, id, to.id, &sandbox, err);
    host_deinit(&to);
    if (result == 0)
        ctl_print(ctl,
                  json_pack("{s:s, s:s, s:s, s:s}", "id", sandbox.id, "team", sandbox.team_slug,
                            "state", sandbox_state_name(sandbox.state), "host", name),
                  "Sandbox %s of team %s is on host %s.", sandbox.id, sandbox.team_slug, name);
    return result;
}

int ctl_sandbox_delete(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct worker worker = ctl_worker(ctl);
    const char *id = arguments->operands[0];
    if (find(ctl, id, err) < 0 || sandbox_destroy(&worker, id, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "id", id, "deleted", 1), "Sandbox %s is deleted.", id);
    return 0;
}

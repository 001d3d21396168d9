/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make a folder of a sandbox equal to a local one: only differences are sent. */
#include <string.h>

#include "base/mem.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/tree.h"
#include "cli/verbs.h"

#define LIST_MAX (256 * 1024 * 1024)

const struct cli_option sync_options[] = {
    {"delete", 0, NULL, "delete files of the sandbox that the local folder lacks"},
    {"dry-run", 'n', NULL, "only print the changes"},
    {NULL, 0, NULL, NULL},
};

struct sync {
    struct cli *cli;
    struct session session;
    struct tree tree;   /* entries of the local folder are removed from it */
    struct buffer list; /* the files to send */
    json_t *gone;       /* folders of the sandbox that were removed with their contents */
    size_t sent, removed;
    bool dry_run, removes;
};

static void note(struct sync *sync, const char *what, const char *path)
{
    if (sync->dry_run)
        output_note(sync->cli, "%s %s", what, path);
}

static bool is_gone(const struct sync *sync, const char *path)
{
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        autofree char *above = xstrndup(path, (size_t)(slash - path));
        if (json_object_get(sync->gone, above))
            return true;
    }
    return false;
}

static int remove_one(struct sync *sync, const char *path, struct error **err)
{
    json_auto_t *answer = NULL;
    autofree char *whole = xasprintf("%s/%s", sync->tree.there, path);
    note(sync, "remove", path);
    sync->removed++;
    if (sync->dry_run || is_gone(sync, path))
        return 0;
    if (tree_has_folder(&sync->tree, path))
        json_object_set_new(sync->gone, path, json_true());
    return remote_call(sync->cli, &sync->session, "Remove", json_pack("{s:s}", "path", whole),
                       &answer, err);
}

static int take(void *context, const char *path, const struct stat *here, bool differs,
                struct error **err)
{
    struct sync *sync = context;
    if (!differs)
        return 0;
    /* tar puts nothing in the place of a folder that has contents. */
    if (sync->removes && !S_ISDIR(here->st_mode) && tree_has_folder(&sync->tree, path) &&
        remove_one(sync, path, err) < 0)
        return -1;
    note(sync, "send", path);
    sync->sent++;
    buffer_append(&sync->list, path, strlen(path) + 1);
    return 0;
}

static int remove_rest(struct sync *sync, struct error **err)
{
    const char *path;
    json_t *entry;
    json_object_foreach (sync->tree.entries, path, entry)
        if (remove_one(sync, path, err) < 0)
            return -1;
    return 0;
}

static int make_alike(struct sync *sync, bool is_there, struct error **err)
{
    if ((is_there && tree_list(&sync->tree, err) < 0) ||
        tree_walk(&sync->tree, take, sync, err) < 0)
        return -1;
    if (sync->list.size && !sync->dry_run && tree_send(&sync->tree, &sync->list, err) < 0)
        return -1;
    return sync->removes ? remove_rest(sync, err) : 0;
}

static int run(struct sync *sync, const char *source, const char *path, struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    if (remote_look(sync->cli, &sync->session, path, &entry, err) < 0)
        return -1;
    if (entry.exists && !entry.is_folder)
        return error_set(err, ERR_INVALID_REQUEST, "%s in the sandbox is not a folder", entry.path);
    tree_init(&sync->tree, sync->cli, &sync->session, source, entry.path);
    int rc = make_alike(sync, entry.exists, err);
    tree_deinit(&sync->tree);
    return rc;
}

int verb_sync(struct cli_call *call, struct error **err)
{
    autofree char *sandbox = NULL, *path = NULL;
    json_auto_t *gone = json_object();
    struct sync sync = {.cli = call->cli,
                        .gone = gone,
                        .dry_run = cli_flag(call, "dry-run"),
                        .removes = cli_flag(call, "delete")};
    if (!place_split(cli_operand(call, 1), &sandbox, &path))
        return cli_misuse(err, "the second operand must be SANDBOX:PATH");
    buffer_init(&sync.list, LIST_MAX);
    int rc = session_open(call->cli, sandbox, &sync.session, err);
    if (rc == 0)
        rc = run(&sync, cli_operand(call, 0), path, err);
    if (rc == 0 && call->cli->json)
        output_object(call->cli, json_pack("{s:I, s:I}", "sent", (json_int_t)sync.sent, "removed",
                                           (json_int_t)sync.removed));
    else if (rc == 0)
        output_note(call->cli, "%zu sent, %zu removed", sync.sent, sync.removed);
    session_close(&sync.session);
    buffer_deinit(&sync.list);
    return rc;
}

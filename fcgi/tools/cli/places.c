/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/places.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/progress.h"

#define RUN_TIMEOUT_S 3600

bool place_split(const char *word, char **sandbox, char **path)
{
    size_t length = strcspn(word, ":/");
    if (!length || word[length] != ':')
        return false;
    *sandbox = xstrndup(word, length);
    *path = xstrdup(word + length + 1);
    return true;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void remote_entry_free(struct remote_entry *entry)
{
    free(entry->path);
}

/* *answer: the text, which the caller frees. */
static int ask(struct cli *cli, const struct session *session, const char *method, json_t *message,
               struct buffer *answer, struct error **err)
{
    autofree char *url = xasprintf("%s/%s", session->url, method);
    autofree char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    exchange_auto exchange = {
        .method = "POST",
        .url = url,
        .headers = {session->token_header, "Content-Type: application/json",
                    "Connect-Protocol-Version: 1"},
        .body = text,
        .body_size = text ? strlen(text) : 0,
    };
    if (exchange_run(cli, &exchange, err) < 0)
        return -1;
    if (exchange.status != 200)
        return api_error(&exchange, err);
    *answer = exchange.answer;
    buffer_init(&exchange.answer, answer->max);
    return 0;
}

static int unary_call(struct cli *cli, const struct session *session, const char *method,
                      json_t *message, json_t **answer, struct error **err)
{
    buffer_auto text = BUFFER_INIT(0);
    if (ask(cli, session, method, message, &text, err) < 0)
        return -1;
    *answer = json_read(text.data, text.size, 0, NULL);
    if (*answer)
        return 0;
    return error_set(err, ERR_INTERNAL, "the sandbox's answer to %s is not JSON, or is too long",
                     method);
}

int remote_call(struct cli *cli, const struct session *session, const char *method, json_t *message,
                json_t **answer, struct error **err)
{
    autofree char *path = xasprintf("filesystem.Filesystem/%s", method);
    return unary_call(cli, session, path, message, answer, err);
}

int remote_list(struct cli *cli, const struct session *session, const char *path, int depth,
                struct buffer *answer, struct error **err)
{
    json_t *message = json_pack("{s:s, s:i}", "path", path, "depth", depth);
    return ask(cli, session, "filesystem.Filesystem/ListDir", message, answer, err);
}

int remote_processes(struct cli *cli, const struct session *session, json_t **answer,
                     struct error **err)
{
    return unary_call(cli, session, "process.Process/List", json_pack("{s:b}", "details", 1),
                      answer, err);
}

static int absolute(struct cli *cli, const struct session *session, const char *path, char **whole,
                    struct error **err)
{
    json_auto_t *answer = NULL;
    if (path[0] == '/') {
        *whole = xstrdup(path);
        return 0;
    }
    if (path[0] == '~' && (!path[1] || path[1] == '/'))
        path += path[1] ? 2 : 1;
    if (remote_call(cli, session, "Stat", json_pack("{s:s}", "path", ""), &answer, err) < 0)
        return -1;
    const char *home = json_string_value(json_object_get(json_object_get(answer, "entry"), "path"));
    *whole = xasprintf("%s%s%s", home ? home : "", *path ? "/" : "", path);
    return 0;
}

int remote_look(struct cli *cli, const struct session *session, const char *path,
                struct remote_entry *entry, struct error **err)
{
    json_auto_t *answer = NULL;
    error_auto failed = NULL;
    if (absolute(cli, session, path, &entry->path, err) < 0)
        return -1;
    if (remote_call(cli, session, "Stat", json_pack("{s:s}", "path", entry->path), &answer,
                    &failed) < 0)
        return failed->code == ERR_NOT_FOUND ? 0 : error_move(err, &failed);
    const json_t *found = json_object_get(answer, "entry");
    const char *size = json_string_value(json_object_get(found, "size"));
    entry->exists = true;
    entry->is_folder =
        str_equal(json_string_value(json_object_get(found, "type")), "FILE_TYPE_DIRECTORY");
    entry->size = size ? strtoll(size, NULL, 10) : 0;
    entry->mode = (unsigned)json_integer_value(json_object_get(found, "mode"));
    const char *clean = json_string_value(json_object_get(found, "path"));
    if (entry->is_folder && clean) {
        free(entry->path);
        entry->path = xstrdup(clean);
    }
    return 0;
}

char *remote_file_url(const struct session *session, const char *path)
{
    autofree char *escaped = api_escape(path);
    return xasprintf("%s/files?path=%s", session->url, escaped);
}

/* A name for a file of no length of life, in the sandbox's /tmp; the caller's. */
static char *remote_temporary(void)
{
    unsigned char random[12];
    char name[2 * sizeof random + 1];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        memset(random, 0, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(name + 2 * i, 3, "%02x", random[i]);
    return xasprintf("/tmp/.sandlot-%s.tar", name);
}

int local_tar(const char *const argv[], FILE **pipe, pid_t *pid, struct error **err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return error_set_errno(err, ERR_INTERNAL, failed, "cannot run %s", argv[0]);
    }
    *pipe = fdopen(ends[0], "r");
    return 0;
}

static bool is_gnu_tar(void)
{
    static const char *const argv[] = {"tar", "--version", NULL};
    char line[128];
    error_auto ignored = NULL;
    FILE *pipe;
    pid_t pid;
    if (local_tar(argv, &pipe, &pid, &ignored) < 0)
        return false;
    bool is_gnu = fgets(line, sizeof line, pipe) && strstr(line, "GNU tar");
    fclose(pipe);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return is_gnu;
}

/* With status 1 GNU tar says that a file has changed while it was read, such as a log. Its line
 * about this stands on standard error. */
int local_tar_end(pid_t pid, struct error **err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 1 && is_gnu_tar()))
        return error_set(err, ERR_INTERNAL, "tar on this machine failed");
    return 0;
}

int remote_unpack(struct cli *cli, const struct session *session, FILE *archive, const char *folder,
                  struct error **err)
{
    autofree char *temporary = remote_temporary();
    autofree char *url = remote_file_url(session, temporary);
    exchange_auto exchange = {
        .method = "POST",
        .url = url,
        .headers = {session->token_header, "Content-Type: application/octet-stream"},
        .upload = archive,
        .upload_size = -1,
        .shown = progress_is_wanted() ? path_base(folder) : NULL,
    };
    if (exchange_run(cli, &exchange, err) < 0)
        return -1;
    if (exchange.status != 200)
        return api_error(&exchange, err);
    json_t *call =
        json_pack("{s:s, s:[s, s, s, s, s], s:i}", "cmd", "/bin/sh", "args", "-c",
                  "mkdir -p \"$1\" && tar -C \"$1\" -xpf \"$2\"; code=$?; rm -f \"$2\"; exit $code",
                  "sh", folder, temporary, "timeout", RUN_TIMEOUT_S);
    return session_run(cli, session, call, "cannot unpack the archive", NULL, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Volumes and the files in them, which need no sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/progress.h"
#include "cli/verbs.h"

#define BYTES "application/octet-stream"
#define PART  ".sandlot-part" /* behind the name of a download that is not complete */

/* --- volumes --- */

const struct cli_option volume_create_options[] = {
    {"team", 0, "TEAM", "team of the volume; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

int verb_volume_create(struct cli_call *call, struct error **err)
{
    json_t *body = json_object();
    json_t *volume;
    input_text(body, "name", cli_operand(call, 0));
    input_text(body, "team", cli_value(call, "team"));
    if (api_call(call->cli, "POST", "/v1/volumes", body, &volume, err) < 0)
        return -1;
    output_result(call->cli, volume, "id");
    return 0;
}

const struct cli_option volume_list_options[] = {
    {"team", 0, "TEAM", "only those of this team"},
    {NULL, 0, NULL, NULL},
};

int verb_volume_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"NAME", "name"},          {"ID", "id"},
        {"TEAM", "team"},          {"GIB", "size_gb"},
        {"CREATED", "created_at"}, {"SANDBOXES", "attached_names"}};
    const char *team = cli_value(call, "team");
    autofree char *path = team ? api_path("/v1/volumes?team=", "", team) : xstrdup("/v1/volumes");
    return output_list(call->cli, path, "volumes", "volumes", columns, ARRAY_SIZE(columns), err);
}

static int call_volume(struct cli_call *call, const char *method, json_t **answer,
                       struct error **err)
{
    autofree char *id = NULL;
    if (api_volume_id(call->cli, cli_operand(call, 0), &id, err) < 0)
        return -1;
    autofree char *path = api_path("/v1/volumes/", "", id);
    return api_call(call->cli, method, path, NULL, answer, err);
}

int verb_volume_show(struct cli_call *call, struct error **err)
{
    json_t *volume;
    if (call_volume(call, "GET", &volume, err) < 0)
        return -1;
    output_object(call->cli, volume);
    return 0;
}

/* --- files --- */

/* "VOLUME:PATH" as the id and the path; both the caller's. */
static int split(struct cli *cli, const char *word, char **id, char **path, struct error **err)
{
    autofree char *volume = NULL;
    if (!place_split(word, &volume, path))
        return cli_misuse(err, "write a file of a volume as VOLUME:PATH, not '%s'", word);
    if (!**path) {
        free(*path);
        *path = xstrdup("/");
    }
    return api_volume_id(cli, volume, id, err);
}

/* "/v1/volumes/ID/<what>?path=PATH"; the caller's. */
static char *file_target(const char *id, const char *what, const char *path)
{
    autofree char *behind = api_path(what, "", path);
    return xasprintf("/v1/volumes/%s%s", id, behind);
}

int verb_volume_ls(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"TYPE", "type"}, {"MODE", "mode"},
                                                   {"SIZE", "size"}, {"MODIFIED", "modified_at"},
                                                   {"NAME", "name"}, {"TARGET", "target"}};
    autofree char *id = NULL, *path = NULL;
    if (split(call->cli, cli_operand(call, 0), &id, &path, err) < 0)
        return -1;
    autofree char *target = file_target(id, "/directories?path=", path);
    return output_list(call->cli, target, "entries", "entries", columns, ARRAY_SIZE(columns), err);
}

static int transfer(struct cli *cli, struct exchange *exchange, const char *target,
                    struct error **err)
{
    autofree char *url = xasprintf("%s%s", cli->url, target);
    autowipe char *authorization = xasprintf("Authorization: Bearer %s", cli->key);
    exchange->url = url;
    exchange->headers[0] = authorization;
    exchange->headers[1] = exchange->upload ? "Content-Type: " BYTES : "Accept: " BYTES;
    int rc = exchange_run(cli, exchange, err);
    if (rc == 0 && (exchange->status < 200 || exchange->status > 299))
        rc = api_error(exchange, err);
    exchange->url = NULL;
    exchange->headers[0] = NULL;
    return rc;
}

const struct cli_option volume_put_options[] = {
    {"mode", 0, "MODE", "mode of the file, such as 0755; default: that of FILE"},
    {NULL, 0, NULL, NULL},
};

int verb_volume_put(struct cli_call *call, struct error **err)
{
    const char *source = cli_operand(call, 0);
    autofree char *id = NULL, *path = NULL;
    struct stat status;
    char mode[8] = "0644";
    bool piped = str_equal(source, "-");
    autofclose FILE *file = fopen(piped ? "/dev/stdin" : source, "re");
    if (!file || fstat(fileno(file), &status) < 0)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot open %s", source);
    if (split(call->cli, cli_operand(call, 1), &id, &path, err) < 0)
        return -1;
    if (S_ISREG(status.st_mode))
        snprintf(mode, sizeof mode, "0%03o", status.st_mode & 0777);
    const char *asked = cli_value(call, "mode");
    autofree char *base = file_target(id, "/files?path=", path);
    autofree char *target = xasprintf("%s&mode=%s", base, asked ? asked : mode);
    exchange_auto exchange = {
        .method = "PUT",
        .upload = file,
        .upload_size = S_ISREG(status.st_mode) ? status.st_size : -1,
        .shown = progress_is_wanted() ? path_base(source) : NULL,
    };
    return transfer(call->cli, &exchange, target, err);
}

static int get(struct cli_call *call, FILE *file, struct error **err)
{
    autofree char *id = NULL, *path = NULL;
    if (split(call->cli, cli_operand(call, 0), &id, &path, err) < 0)
        return -1;
    autofree char *target = file_target(id, "/files?path=", path);
    exchange_auto exchange = {
        .method = "GET",
        .download = file,
        .download_max = -1,
        .shown = progress_is_wanted() ? path_base(path) : NULL,
    };
    if (transfer(call->cli, &exchange, target, err) < 0)
        return -1;
    return fflush(file) == 0 ? 0
                             : error_set_errno(err, ERR_INTERNAL, errno, "cannot write the file");
}

int verb_volume_cat(struct cli_call *call, struct error **err)
{
    return get(call, stdout, err);
}

int verb_volume_get(struct cli_call *call, struct error **err)
{
    const char *asked = cli_operand(call, 1);
    const char *base = path_base(cli_operand(call, 0));
    struct stat status;
    bool is_folder = asked && stat(asked, &status) == 0 && S_ISDIR(status.st_mode);
    autofree char *target = !asked      ? xstrdup(base)
                            : is_folder ? xasprintf("%s/%s", asked, base)
                                        : xstrdup(asked);
    int most = (int)(path_base(target) - target) + NAME_MAX - (int)strlen(PART);
    autofree char *part = xasprintf("%.*s" PART, most, target);
    FILE *file = fopen(part, "we");
    if (!file)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", part);
    int rc = get(call, file, err);
    fclose(file);
    if (rc == 0 && rename(part, target) < 0)
        rc = error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", target);
    if (rc < 0)
        unlink(part);
    return rc;
}

const struct cli_option volume_rm_options[] = {
    {"recursive", 'r', NULL, "delete a folder with its contents"},
    {NULL, 0, NULL, NULL},
};

int verb_volume_rm(struct cli_call *call, struct error **err)
{
    autofree char *id = NULL, *path = NULL;
    if (!strchr(cli_operand(call, 0), ':'))
        return call_volume(call, "DELETE", NULL, err);
    if (split(call->cli, cli_operand(call, 0), &id, &path, err) < 0)
        return -1;
    autofree char *base = file_target(id, "/path?path=", path);
    autofree char *target =
        xasprintf("%s%s", base, cli_flag(call, "recursive") ? "&recursive=true" : "");
    return api_call(call->cli, "DELETE", target, NULL, NULL, err);
}

int verb_volume_mkdir(struct cli_call *call, struct error **err)
{
    autofree char *id = NULL, *path = NULL;
    if (split(call->cli, cli_operand(call, 0), &id, &path, err) < 0)
        return -1;
    autofree char *target = api_path("/v1/volumes/", "/directories", id);
    return api_call(call->cli, "PUT", target, json_pack("{s:s}", "path", path), NULL, err);
}

int verb_volume_mv(struct cli_call *call, struct error **err)
{
    autofree char *id = NULL, *path = NULL;
    if (split(call->cli, cli_operand(call, 0), &id, &path, err) < 0)
        return -1;
    autofree char *target = api_path("/v1/volumes/", "/path", id);
    json_t *body = json_pack("{s:s, s:s}", "from", path, "to", cli_operand(call, 1));
    return api_call(call->cli, "POST", target, body, NULL, err);
}

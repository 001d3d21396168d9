/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/deployments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

static char *folder_path(void)
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (base && *base)
        return xasprintf("%s/sandlot", base);
    return xasprintf("%s/.config/sandlot", home && *home ? home : "/");
}

static char *file_path(void)
{
    autofree char *folder = folder_path();
    return xasprintf("%s/deployments.json", folder);
}

static int make_folder(struct error **err)
{
    autofree char *folder = folder_path();
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create %s", folder);
    return 0;
}

int deployments_load(json_t **document, struct error **err)
{
    autofree char *path = file_path();
    json_error_t where;
    *document = NULL;
    if (access(path, F_OK) < 0) {
        *document = json_pack("{s:{}}", "deployments");
        return 0;
    }
    json_t *read = json_load_file(path, 0, &where);
    if (!read || !json_is_object(json_object_get(read, "deployments"))) {
        json_decref(read);
        return error_set(err, ERR_CONFIG,
                         "cannot read %s (%s, line %d); remove the file and log in again", path,
                         read ? "the file has no deployments" : where.text, read ? 1 : where.line);
    }
    *document = read;
    return 0;
}

static int write_file(const char *path, const char *text, struct error **err)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t size = strlen(text);
    if (fd < 0 || fchmod(fd, 0600) < 0 || write(fd, text, size) != (ssize_t)size || fsync(fd) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", path);
    return 0;
}

int deployments_save(const json_t *document, struct error **err)
{
    autofree char *path = file_path();
    autofree char *temporary = xasprintf("%s.new", path);
    autowipe char *text = json_dumps(document, JSON_INDENT(2));
    if (make_folder(err) < 0 || write_file(temporary, text, err) < 0)
        return -1;
    if (rename(temporary, path) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", path);
    return 0;
}

static void take(char **value, const json_t *entry, const char *name)
{
    const char *text = json_string_value(json_object_get(entry, name));
    if (!*value && text)
        *value = xstrdup(text);
}

static char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? xstrdup(value) : NULL;
}

static int choose_entry(struct cli *cli, const json_t *document, struct error **err)
{
    const char *name = cli->deployment;
    if (!name)
        name = json_string_value(json_object_get(document, "default"));
    const json_t *entry =
        name ? json_object_get(json_object_get(document, "deployments"), name) : NULL;
    if (cli->deployment && !entry)
        return error_set(err, ERR_CONFIG,
                         "there is no deployment '%s'; `sandlot deployments` lists them", name);
    if (!entry)
        return 0;
    bool same = !cli->url;
    take(&cli->url, entry, "url");
    same |= str_equal(cli->url, json_string_value(json_object_get(entry, "url")));
    if (same) {
        take(&cli->key, entry, "key");
        take(&cli->ca_file, entry, "ca_file");
    }
    return 0;
}

int deployments_choose(struct cli *cli, struct error **err)
{
    json_auto_t *document = NULL;
    if (!cli->deployment) {
        cli->url = environment("SANDLOT_URL");
        cli->key = environment("SANDLOT_KEY");
    }
    if (!cli->ca_file)
        cli->ca_file = environment("SANDLOT_CA");
    if (deployments_load(&document, err) < 0 || choose_entry(cli, document, err) < 0)
        return -1;
    if (!cli->url)
        return error_set(err, ERR_UNAUTHORIZED, "you have not logged in to a deployment");
    if (!cli->key)
        return error_set(err, ERR_UNAUTHORIZED, "there is no key for %s", cli->url);
    size_t length = strlen(cli->url);
    if (length && cli->url[length - 1] == '/')
        cli->url[length - 1] = '\0';
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an installation: schema, key file, settings, nginx. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/database.h"
#include "ctl/nginx_config.h"
#include "ctl/nginx_hosts.h"
#include "ctl/output.h"
#include "ctl/relay_files.h"
#include "db/grant.h"
#include "db/migrate.h"
#include "front/front.h"

#define WATCH_MS 5000

/* The tables on which the programs get fewer rights than on all others. */
static const struct db_table_right kept_tables[] = {{"audit_log", "INSERT"},
                                                    {"audit_chain", "INSERT"},
                                                    {"schema_migrations", NULL},
                                                    {"migration_guard", NULL},
                                                    {NULL, NULL}};

int ctl_migrate_schema(struct ctl *ctl, unsigned *applied, struct error **err)
{
    struct db *admin;
    if (database_open_admin(ctl->settings, &admin, err) < 0)
        return -1;
    int result = db_migrate(admin ? admin : ctl->db, ctl->settings->sql_dir, applied, err);
    if (result == 0 && admin)
        result = db_grant_run(admin, ctl->db, kept_tables, err);
    if (admin)
        db_close(admin);
    return result;
}

int ctl_migrate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    unsigned applied;
    (void)arguments;
    if (ctl_migrate_schema(ctl, &applied, err) < 0)
        return -1;
    ctl_print(
        ctl,
        json_pack("{s:i, s:i}", "schema_version", (int)db_schema_needed, "applied", (int)applied),
        "The schema is at version %u (%u migration%s applied).", db_schema_needed, applied,
        applied == 1 ? "" : "s");
    return 0;
}

int ctl_config_manual(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    (void)ctl;
    (void)arguments;
    (void)err;
    settings_print_manual(stdout);
    return 0;
}

int ctl_config_sample(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    (void)ctl;
    (void)arguments;
    (void)err;
    settings_print_sample(stdout);
    return 0;
}

/* The database is needed for the relays of other machines alone. */
static int open_database(struct ctl *ctl, struct error **err)
{
    if (ctl->db)
        return 0;
    return database_open(ctl->settings, &ctl->db, err) < 0 || db_schema_require(ctl->db, err) < 0
               ? -1
               : 0;
}

static int put_hosts(struct ctl *ctl, const char *directory, bool *changed, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count = 0;
    *changed = false;
    if (!*ctl->settings->relay_dir)
        return 0;
    if (open_database(ctl, err) < 0 || host_list(ctl->db, &hosts, &count, err) < 0)
        return -1;
    autofree char *text = nginx_hosts_text(hosts, count);
    hosts_free(hosts, count);
    return nginx_config_put_file(directory, NGINX_HOSTS_FILE, text, changed, err);
}

/* A temporary failure (the database is away) is logged and repeated: nginx keeps its present
 * configuration. */
static int watch_hosts(struct ctl *ctl, const char *directory, const char *pid_file,
                       struct error **err)
{
    bool changed, pending = false;
    if (!*ctl->settings->relay_dir)
        return error_set_field(err, ERR_INVALID_REQUEST, "--watch",
                               "relay_dir is not set, so there are no hosts to keep up to date.");
    for (;; clock_sleep_ms(WATCH_MS)) {
        error_auto failure = NULL;
        if (put_hosts(ctl, directory, &changed, &failure) < 0)
            log_warning("cannot write the relays of the hosts for nginx; trying again",
                        LOG_ERROR(failure));
        pending |= changed;
        error_clear(&failure);
        if (pending && nginx_reload(pid_file, &failure) < 0)
            log_warning("cannot reload nginx after the relays of the hosts changed; trying again",
                        LOG_ERROR(failure));
        else
            pending = false;
    }
}

/* A machine that is a host only has the files of its relay, and none of a front node. */
static int write_relay(const struct settings *settings, const char *directory, struct error **err)
{
    struct nginx_relay_known known;
    const char *dir = relay_dir_of_host(settings);
    if (nginx_relay_read(dir, &known, err) < 0)
        return -1;
    const struct nginx_relay relay = {
        .host_name = known.host_name,
        .range = known.range,
        .dir = dir,
        .port = known.port,
    };
    return nginx_config_render_relay(settings, settings->nginx_template_dir, &relay, directory,
                                     err);
}

static int write_front(struct ctl *ctl, const char *directory, struct error **err)
{
    const struct settings *settings = ctl->settings;
    bool changed;
    return nginx_config_render(settings, settings->nginx_template_dir, directory, err) < 0
               ? -1
               : put_hosts(ctl, directory, &changed, err);
}

int ctl_nginx_config(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *directory = ctl_text(arguments, "output");
    const char *pid_file = ctl_text(arguments, "pid-file");
    if (ctl_flag(arguments, "watch"))
        return directory ? watch_hosts(ctl, directory, pid_file ? pid_file : NGINX_PID_FILE, err)
                         : error_set_field(err, ERR_INVALID_REQUEST, "--output",
                                           "Give the folder that --watch keeps up to date.");
    if (!directory)
        return nginx_config_print(ctl->settings, ctl->settings->nginx_template_dir, stdout, err);
    if ((relay_is_host_only(ctl->settings) ? write_relay(ctl->settings, directory, err)
                                           : write_front(ctl, directory, err)) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "directory", directory), "The nginx configuration is in %s.",
              directory);
    return 0;
}

int ctl_whoami(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const struct settings *settings = ctl->settings;
    (void)arguments;
    (void)err;
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:s, s:s, s:s}", "operator", ctl_operator(), "base_url",
                        settings->base_url, "database", settings->database_name, "database_user",
                        settings->database_user, "database_admin_user",
                        settings->database_admin_user),
              "You are %s, the operator of %s; commands work on the database %s as %s.",
              ctl_operator(), settings->base_url, settings->database_name, settings->database_user);
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an installation is made of: schema, key file, settings, nginx. */
#include "ctl/nginx_config.h"
#include "ctl/output.h"
#include "db/migrate.h"

int ctl_migrate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    unsigned applied;
    (void)arguments;
    if (db_migrate(ctl->db, ctl->settings->sql_dir, &applied, err) < 0)
        return -1;
    ctl_print(ctl,
              json_pack("{s:i, s:i}", "schema_version", DB_SCHEMA_VERSION, "applied", (int)applied),
              "The schema is at version %d (%u migration%s applied).", DB_SCHEMA_VERSION, applied,
              applied == 1 ? "" : "s");
    return 0;
}

int ctl_keyring_new(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_create(path, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "file", path),
              "%s holds one fresh key. Keep a copy away from the database: without it nothing that "
              "was sealed can be read again.",
              path);
    return 0;
}

int ctl_keyring_rotate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *path = arguments->operands[0];
    if (keyring_rotate(path, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "file", path),
              "%s has a new key behind the old ones. Restart all programs now: those that still "
              "run with the old file do not know it.",
              path);
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

int ctl_nginx_config(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *directory = ctl_text(arguments, "output");
    if (!directory)
        return nginx_config_print(ctl->settings, ctl->settings->nginx_template_dir, stdout, err);
    if (nginx_config_render(ctl->settings, ctl->settings->nginx_template_dir, directory, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s}", "directory", directory), "The nginx configuration is in %s.",
              directory);
    return 0;
}

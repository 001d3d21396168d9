/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "config/database.h"
#include "ctl/ctl.h"
#include "db/migrate.h"
#include "front/front.h"
#include "incus/incus.h"

/* On a slow machine, a statement of the set-up can take longer than database_timeout_s, which suits
 * requests of clients. */
#define DATABASE_TIMEOUT_LEAST_S 60

static int open_connection(struct ctl *ctl, enum ctl_need need, struct error **err)
{
    struct settings *settings = ctl->settings;
    if (settings->database_timeout_s < DATABASE_TIMEOUT_LEAST_S)
        settings->database_timeout_s = DATABASE_TIMEOUT_LEAST_S;
    if (database_open(settings, &ctl->db, err) < 0)
        return -1;
    return need == CTL_CONNECTION ? 0 : db_schema_require(ctl->db, err);
}

int ctl_open(struct ctl *ctl, enum ctl_need need, struct error **err)
{
    if (need == CTL_NOTHING)
        return 0;
    if (settings_load(ctl->config_path, &ctl->settings, err) < 0)
        return -1;
    /* The user of the command needs errors alone. */
    log_configure(LOG_LEVEL_WARNING, LOG_FORMAT_TEXT);
    if (need == CTL_SETTINGS)
        return 0;
    if (open_connection(ctl, need, err) < 0)
        return -1;
    if (need == CTL_RUNTIMES || need == CTL_WORKER)
        ctl->runtimes = runtimes_new(ctl->settings);
    if (need < CTL_KEYRING)
        return 0;
    return keyring_load(ctl->settings->key_file, &ctl->ring, err) < 0
               ? -1
               : front_ring_check(ctl->db, ctl->ring, err);
}

int ctl_open_incus(const struct ctl *ctl, const struct host *host, struct incus **incus,
                   struct error **err)
{
    struct incus_options options = {
        .url = host->url,
        .project = host->project,
        .server_cert = host->server_cert,
        .client_cert_file = ctl->settings->incus_client_cert_file,
        .client_key_file = ctl->settings->incus_client_key_file,
    };
    return incus_open(&options, incus, err);
}

void ctl_close(struct ctl *ctl)
{
    runtimes_free(ctl->runtimes);
    if (ctl->ring)
        keyring_free(ctl->ring);
    if (ctl->db)
        db_close(ctl->db);
    settings_free(ctl->settings);
    ctl->runtimes = NULL;
    ctl->ring = NULL;
    ctl->db = NULL;
    ctl->settings = NULL;
}

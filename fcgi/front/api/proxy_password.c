/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/proxy_password.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void proxy_password_deinit(struct proxy_password *password)
{
    json_decref(password->hosts);
    *password = (struct proxy_password){.value = NULL};
}

/* Find whether a secret has this value and these hosts already. */
static int is_stored(struct api *api, const struct team *team, const struct secret_change *change,
                     bool *found, struct error **err)
{
    struct secret secret = {0};
    autowipe char *value = NULL;
    error_auto problem = NULL;
    *found = false;
    if (secret_get(api->worker.db, team->id, change->name, &secret, &problem) < 0 ||
        secret_reveal(api->worker.db, api->worker.ring, team->id, change->name, &value, &problem) <
            0) {
        secret_deinit(&secret);
        return problem->code == ERR_NOT_FOUND ? 0 : error_move(err, &problem);
    }
    *found = json_equal(secret.hosts, change->hosts) && strlen(value) == strlen(change->value) &&
             sodium_memcmp(value, change->value, strlen(value)) == 0;
    secret_deinit(&secret);
    return 0;
}

/* Store the secret of a proxy as an act of its own, next to that of the request. */
static int put_secret(struct api *api, const struct team *team, const struct secret_change *change,
                      struct error **err)
{
    struct db *db = api->worker.db;
    struct audit audit = api->audit;
    struct secret secret = {0};
    error_auto lost = NULL;
    bool created, is_accompanied = db_is_accompanied(db);
    audit.action = &audit_SECRET_PUT;
    memcpy(audit.entry.team_id, team->id, ID_SIZE);
    audit_about(&audit, change->name);
    if (audit_begin(&audit, db, api->worker.ring, err) < 0)
        return -1;
    int result = secret_put(db, api->worker.ring, team, api->principal.user_id, change, &secret,
                            &created, err);
    secret_deinit(&secret);
    if (audit_end(&audit, result < 0 ? *err : NULL, &lost) < 0 && result == 0)
        result = error_move(err, &lost);
    db_accompany(db, is_accompanied ? &api->audit.companion : NULL);
    if (result < 0 && (*err)->field) {
        free((*err)->field);
        (*err)->field = xstrdup("/egressProxy/password");
    }
    return result;
}

int proxy_password_store(struct api *api, const char *team_id,
                         const struct proxy_password *password, struct error **err)
{
    struct team team = {0};
    bool is_there;
    const struct secret_change change = {.name = password->name,
                                         .value = password->value,
                                         .hosts = password->hosts,
                                         .for_sandboxes = true};
    snprintf(team.id, sizeof team.id, "%s", team_id);
    if (is_stored(api, &team, &change, &is_there, err) < 0 ||
        (is_there && secret_renew(api->worker.db, team.id, password->name, &is_there, err) < 0))
        return -1;
    return is_there ? 0 : put_secret(api, &team, &change, err);
}

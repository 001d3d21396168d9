/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "account/account.h"
#include "base/cleanup.h"
#include "network/egress_proxy.h"
#include "secret/egress_secrets.h"
#include "secret/team_proxy.h"

DB_STATEMENT(get_statement) = {"team_proxy.get",
                               "SELECT proxy FROM team_egress_proxies WHERE team_id = ?"};
DB_STATEMENT(put_statement) = {"team_proxy.put",
                               "INSERT INTO team_egress_proxies (team_id, proxy) VALUES (?, ?)"
                               " ON DUPLICATE KEY UPDATE proxy = VALUES(proxy)"};
DB_STATEMENT(delete_statement) = {"team_proxy.delete",
                                  "DELETE FROM team_egress_proxies WHERE team_id = ?"};

int team_proxy_get(struct db *db, const char *team_id, json_t **proxy, struct error **err)
{
    return db_query_json(db, &get_statement, DB_ARGS(db_text(team_id)), proxy, err);
}

struct put {
    const char *team_id;
    const json_t *proxy;
};

/* The lock on the team keeps its removal from missing this row. */
static int put_body(struct db *db, void *context, struct error **err)
{
    const struct put *put = context;
    const char *team_id = put->team_id;
    const json_t *proxy = put->proxy;
    struct plan plan;
    if (team_lock(db, team_id, &plan, err) < 0)
        return -1;
    json_auto_t *policy = json_pack("{s:O*}", EGRESS_PROXY, proxy);
    if (egress_rules_admit(db, team_id, policy, err) < 0)
        return -1;
    if (!proxy)
        return db_exec(db, &delete_statement, DB_ARGS(db_text(team_id)), NULL, err);
    autofree char *text = json_dumps(proxy, JSON_COMPACT);
    return db_exec(db, &put_statement, DB_ARGS(db_text(team_id), db_text(text)), NULL, err);
}

int team_proxy_put(struct db *db, const char *team_id, const json_t *proxy, struct error **err)
{
    struct put put = {team_id, proxy};
    return db_transaction(db, put_body, &put, err);
}

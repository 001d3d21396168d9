/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/gate_db.h"

#include "sandbox/sandbox_ports.h"

DB_STATEMENT(get_statement) = {
    "gate.get",
    "SELECT s.id, s.state, s.auto_resume, s.allow_public_traffic, s.instance_name, s.address,"
    " s.agent_key_id, s.ports, s.team_id, s.session_epoch + t.session_epoch, s.all_ports,"
    " s.host_id, s.request_host, s.silent_since_ms, s.stop_reason, s.hooks IS NOT NULL,"
    " s.created_by"
    " FROM sandboxes s JOIN teams t ON t.id = s.team_id"
    " WHERE s.route = ? AND s.visible = 1"};

int gate_sandbox_get(struct db *db, const char *route, uint16_t port, struct gate_sandbox *found,
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    struct sandbox *sandbox = &found->sandbox;
    *found = (struct gate_sandbox){.port = GATE_PORT_NONE};
    if (db_query_row(db, &get_statement, DB_ARGS(db_text(route)), "There is no such sandbox.",
                     &rows, err) < 0)
        return -1;
    db_copy_text(sandbox->id, rows, 0);
    if (sandbox_state_parse(db_get_text(rows, 1), &sandbox->state) < 0)
        return error_set(err, ERR_INTERNAL, "sandbox %s has an unknown state in its row",
                         sandbox->id);
    sandbox->auto_resume = db_get_bool(rows, 2);
    sandbox->allow_public_traffic = db_get_bool(rows, 3);
    db_copy_text(sandbox->instance_name, rows, 4);
    sandbox->address = (uint32_t)db_get_u64(rows, 5);
    sandbox->agent_key_id = (uint16_t)db_get_u64(rows, 6);
    db_copy_text(sandbox->team_id, rows, 8);
    sandbox->session_epoch = (uint32_t)db_get_u64(rows, 9);
    sandbox->all_ports = db_get_bool(rows, 10);
    sandbox->host_id = (uint32_t)db_get_u64(rows, 11);
    db_copy_text(sandbox->request_host, rows, 12);
    sandbox->silent_since_ms = db_get_i64(rows, 13);
    db_copy_text(sandbox->stop_reason, rows, 14);
    found->has_hooks = db_get_bool(rows, 15);
    db_copy_text(sandbox->created_by, rows, 16);
    sandbox_ports_of_text(db_get_text(rows, 7), sandbox);
    const struct exposed_port *named = sandbox_port(sandbox, port);
    /* A port that was exposed before it became reserved does not count. */
    if ((named || sandbox->all_ports) && port && !sandbox_port_is_reserved(port))
        found->port = !named || named->is_public ? GATE_PORT_PUBLIC : GATE_PORT_PRIVATE;
    found->is_https = named && named->is_https;
    return 0;
}

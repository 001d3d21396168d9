/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "checkpoint/checkpoint.h"
#include "config/database.h"
#include "db/migrate.h"
#include "host/host.h"
#include "idempotency/idempotency.h"
#include "network/egress_profile.h"
#include "network/protected.h"
#include "sandbox/cleanup.h"
#include "sandbox/fault_point.h"
#include "sandbox/lifecycle.h"
#include "sandbox/sample.h"
#include "sandbox/sandbox_list.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/usage.h"
#include "sandbox/warm.h"
#include "template/template.h"
#include "volume/keeper_row.h"

static int check_statements(struct db *db, struct error **err)
{
    const struct db_statement_list lists[] = {
        account_statements,        plan_statements,
        api_key_statements,        template_statements,
        host_statements,           sandbox_statements,
        sandbox_list_statements,   quota_statements,
        operation_statements,      idempotency_statements,
        warm_statements,           usage_statements,
        volume_statements,         volume_list_statements,
        volume_mount_statements,   checkpoint_statements,
        sample_statements,         cleanup_statements,
        egress_profile_statements, sandbox_network_statements,
        keeper_statements,         template_build_statements,
        template_image_statements,
    };
    return db_check_statements(db, lists, ARRAY_SIZE(lists), err);
}

int sandbox_service_open(const struct settings *settings, const char *program,
                         struct sandbox_service *service, struct error **err)
{
    struct utsname host;
    struct protected_networks networks = {0};
    *service = (struct sandbox_service){.settings = settings};
    uname(&host);
    fault_point_open(settings->api_socket);
    snprintf(service->holder, sizeof service->holder, "%.20s/%.28s/%d", program, host.nodename,
             (int)getpid());
    if (protected_open(&networks, settings->protected_networks_open, err) < 0)
        return -1;
    if (keyring_load(settings->key_file, &service->ring, err) < 0 ||
        database_open(settings, &service->db, err) < 0 || db_schema_require(service->db, err) < 0 ||
        check_statements(service->db, err) < 0) {
        sandbox_service_close(service);
        return -1;
    }
    service->runtimes = runtimes_new(settings);
    return 0;
}

void sandbox_service_close(struct sandbox_service *service)
{
    runtimes_free(service->runtimes);
    if (service->db)
        db_close(service->db);
    keyring_free(service->ring);
    *service = (struct sandbox_service){0};
}

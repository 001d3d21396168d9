/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agents that their sandbox's init had to start again (killed, or out of memory) know neither their
 * secret nor the environment until someone tells them. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "sandbox/agent_client.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

static int tend(struct sandbox_service *service, const char *id, struct error **err)
{
    work_auto work = {.service = service};
    char secret[AGENT_SECRET_SIZE];
    bool knows = true;
    if (sandbox_get(service->db, id, &work.sandbox, err) < 0 ||
        work.sandbox.state != SANDBOX_READY ||
        agent_secret(service->ring, &work.sandbox, secret, err) < 0)
        return *err ? -1 : 0;
    int result = agent_knows(&work.sandbox, secret, 0, &knows, err);
    mem_wipe(secret, sizeof secret);
    if (result < 0 || knows)
        return result;
    log_info("agent has started anew", LOG_STR("sandbox", id));
    work_greet_agent(&work);
    return 0;
}

int sandbox_tend_agents(struct sandbox_service *service, const volatile sig_atomic_t *stop,
                        struct error **err)
{
    struct host *hosts = NULL;
    unsigned host_count = 0;
    int result = host_list(service->db, &hosts, &host_count, err);
    for (unsigned i = 0; i < host_count && result == 0; i++) {
        autofree struct sandbox_ready *ready = NULL;
        size_t count = 0;
        result = sandbox_row_ready_on_host(service->db, hosts[i].id, &ready, &count, err);
        for (size_t k = 0; k < count && !*stop && result == 0; k++) {
            /* One that does not answer, or is gone by now, is none of this. */
            error_auto ignored = NULL;
            tend(service, ready[k].id, &ignored);
        }
    }
    hosts_free(hosts, host_count);
    return result;
}

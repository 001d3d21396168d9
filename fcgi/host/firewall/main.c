/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-firewall: apply the network policies of this host's sandboxes, and resolve their
 * names. */
#include <linux/capability.h>

#include "common/privileges.h"
#include "config/program.h"
#include "firewall/outlet.h"
#include "firewall/routes.h"
#include "firewall/service.h"
#include "http/server.h"

static const struct program program = {
    .name = "sandlot-firewall",
    .summary = "packet filter and names of this host's sandboxes, a FastCGI program on file "
               "descriptor 0",
};

static void run(const struct settings *settings, struct error **err)
{
    struct filter *filter = NULL;
    struct service *service = NULL;
    struct outlet *outlet = NULL;
    if (privileges_keep(CAP_NET_ADMIN, "CAP_NET_ADMIN", err) < 0 ||
        filter_open(settings, &filter, err) < 0)
        return;
    struct http_server server = {
        .serve = filter_serve, .context = filter, .body_max = POLICY_WIRE_MAX};
    int result = filter_restore(filter, err);
    if (result == 0)
        result = service_start(filter, &service, err);
    if (result == 0)
        result = outlet_start(filter, &outlet, err);
    if (result == 0)
        http_server_run(&server, err);
    outlet_stop(outlet);
    service_stop(service);
    filter_close(filter);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}

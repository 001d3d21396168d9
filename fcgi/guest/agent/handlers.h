/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers of the route table, without those of the services. */
#pragma once

#include "agent/framework/request.h"

/* Handle GET /health: 204, without a secret. */
int health_finish(struct request *request, struct rpc_error *error);

/* Handle POST /init: {"secret","envs","sandbox_id","default_user","route","template","log_kib",
 * "services","authority","succeeds","hold_services"}. The first one sets the secret. Later ones
 * must have it in the header. They replace everything else, but services only if there are any. The
 * answer waits for the template's ready command (ready.h). route and template become E2B_SANDBOX_ID
 * and E2B_TEMPLATE_ID. */
int init_begin(struct request *request, struct rpc_error *error);
int init_finish(struct request *request, struct rpc_error *error);
void init_closed(struct request *request);

/* Handle POST /internal/hang-up: end all requests before a pause, which waiting clients would not
 * notice otherwise. Processes and watchers stay. New requests are refused until the next POST
 * /init, or for some seconds. */
int hang_up_finish(struct request *request, struct rpc_error *error);

/* Handle GET /internal/ports/<n>: {"listener":"any"|"loopback"|"none"}. */
int ports_finish(struct request *request, struct rpc_error *error);

/* Handle GET /internal/activity?idle=SECONDS: {"idle_ms": N, "connections": M}, see activity.h.
 * Connections are counted only when the sandbox was idle for SECONDS, because that costs most;
 * otherwise the number is 0. */
int activity_finish(struct request *request, struct rpc_error *error);

/* Handle POST /hold {"seconds": N}: the sandbox counts as busy for so long. 0 ends the hold. */
int hold_finish(struct request *request, struct rpc_error *error);

/* Handle GET /metrics: the present usage of the sandbox; GET /envs: the variables from POST
 * /init. */
int metrics_finish(struct request *request, struct rpc_error *error);
int envs_finish(struct request *request, struct rpc_error *error);

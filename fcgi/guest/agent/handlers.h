/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rows of the route table call, besides the services. */
#pragma once

#include "agent/framework/request.h"

/* GET /health: 204 for everybody. */
int health_finish(struct request *request, struct rpc_error *error);

/* POST /init: {"secret","envs","sandbox_id","default_user","route","template","log_kib"}. The first
 * one sets the secret; later ones have to carry it in the header and set everything else anew.
 * route and template become E2B_SANDBOX_ID and E2B_TEMPLATE_ID. */
int init_begin(struct request *request, struct rpc_error *error);
int init_finish(struct request *request, struct rpc_error *error);

/* POST /internal/hang-up: cuts all requests off, because the sandbox is about to be paused: who
 * waits at one would not learn of it otherwise. What they started or watch lives on. New requests
 * are refused until the next POST /init, or for some seconds where the pause does not come. */
int hang_up_finish(struct request *request, struct rpc_error *error);

/* GET /internal/ports/<n>: {"listener":"any"|"loopback"|"none"}. */
int ports_finish(struct request *request, struct rpc_error *error);

/* GET /metrics: what the sandbox uses at the moment; GET /envs: what POST /init handed over. */
int metrics_finish(struct request *request, struct rpc_error *error);
int envs_finish(struct request *request, struct rpc_error *error);

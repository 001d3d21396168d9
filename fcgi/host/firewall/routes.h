/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serve the requests of the control plane to the firewall of a host node:
 *
 *   PUT    /v1/policies/<address>               apply a policy (network/policy.h) -> {"revision",
 *                                               "sized"}; X-Sandlot-Size (base/sizing.h) also
 *                                               gives the instance this size, if possible
 *   DELETE /v1/policies/<address>?sandbox_id=   204
 *   DELETE /v1/policies/<address>/calls         end connections to the agent -> {"ended"}
 *   GET    /v1/policies                         policies in force
 *   GET    /v1/policies/<address>/denials       latest refusals of this sandbox
 *   GET    /v1/egress                           nginx asks about a request to a host with egress
 *                                               rules (firewall/egress.h)
 *   GET    /v1/host                             processors and memory of the machine
 *   GET    /v1/usage?after=NAME                 use by containers -> {"instances", "next"}
 *   GET    /v1/egress_addresses                 {"count", "missing"}: the teams with an address of
 *                                               their own, and addresses that this host lacks
 *   GET    /v1/sizing                           {"reason"}: why instances cannot be resized; null
 *                                               if they can
 *   GET    /health
 *
 * nginx decides which clients may connect (conf/nginx/sandlot-firewall.conf.in).
 */
#pragma once

#include "http/http.h"

/* Serve a request for http_server. context: the filter. */
void filter_serve(void *context, struct http_request *request, struct http_response *response);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the control plane asks of a runtime host's firewall:
 *
 *   PUT    /v1/policies/<address>               a policy (network/policy.h) -> {"revision",
 *                                               "sized"}; with X-Sandlot-Size (base/sizing.h) an
 *                                               instance is given that size beside, if it can be
 *   DELETE /v1/policies/<address>?sandbox_id=   204
 *   GET    /v1/policies                         what is in force
 *   GET    /v1/policies/<address>/denials       what that sandbox was refused lately
 *   GET    /v1/host                             processors and memory of the machine
 *   GET    /v1/sizing                           whether instances can be given another size there:
 *                                               {"reason"}, null: they can
 *   GET    /health
 *
 * Who may ask is nginx's to say (conf/nginx/sandlot-firewall.conf.in).
 */
#pragma once

#include "firewall/filter.h"
#include "http/http.h"

/* For http_server; context is the filter. */
void filter_serve(void *context, struct http_request *request, struct http_response *response);

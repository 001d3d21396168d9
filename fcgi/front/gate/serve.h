/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate's side of its FastCGI protocol with nginx, which the head of
 * conf/nginx/sandlot.conf.in describes: questions about a request (KIND data and preview) and the
 * answer that a refused client sees (KIND refusal).
 */
#pragma once

#include "http/http.h"
#include "sandbox/lifecycle.h"

/* context: struct gate (gate/decide.h). */
void gate_serve(void *context, struct http_request *request, struct http_response *response);

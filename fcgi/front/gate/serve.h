/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate's side of its FastCGI protocol with nginx: questions about a request (KIND data and
 * preview), and answers to refused clients (KIND refusal). The head of conf/nginx/sandlot.conf.in
 * describes the protocol.
 */
#pragma once

#include "http/http.h"
#include "sandbox/lifecycle.h"

/* Serve one request. context: struct gate (gate/decide.h). */
void gate_serve(void *context, struct http_request *request, struct http_response *response);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handlers for files in the route table. */
#pragma once

#include "agent/framework/request.h"

/* Handle GET and POST /files. */
int files_get_finish(struct request *request, struct rpc_error *error);
int files_put_begin(struct request *request, struct rpc_error *error);
int files_put_data(struct request *request, const char *data, size_t size, struct rpc_error *error);
int files_put_finish(struct request *request, struct rpc_error *error);
void files_put_closed(struct request *request);

/* Handle POST /files/compose: {"source_paths","destination","username"}. */
int files_compose_finish(struct request *request, struct rpc_error *error);

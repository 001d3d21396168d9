/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The services of the sandbox: those of its template (TEMPLATE_DEFAULTS_FILE), and those of its
 * create, which replace the template's of the same name. The agent keeps the latter in
 * SERVICES_FILE, so that a start from disk and a copy of the disk have them too.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/framework/request.h"

struct agent;
struct defaults;
struct service;

#define SERVICES_HOLD_MAX_S 60

/* Start all services, now or after a hold_ms: the agent is new. survivor: its predecessor was
 * killed; services that had ended for good then stay so. Processes that a predecessor has left are
 * killed first, because their output has no reader. own: of the create, NULL: those in the file. */
void services_begin(struct agent *agent, const struct defaults *defaults, const json_t *own,
                    bool survivor, int64_t hold_ms);

/* Take the services of a create, in the memory of another sandbox: services with the same
 * specification continue, others are replaced. own NULL: nothing changes. */
void services_take(struct agent *agent, const struct defaults *defaults, const json_t *own);

/* Return whether the template's start command has ended, and not with 0. */
bool services_start_failed(void);

/* Forget all output, because the memory has come to another sandbox. */
void services_clear_logs(void);

/* Bound the log of each service by the log of all processes. */
void services_set_log_max(size_t max);

/* For service.c, when the processes of services have changed: keep a record for the next agent. */
void services_record(struct agent *agent);

/* For service.c: write START_ENDED_FILE, for the build of a template. */
void services_record_start_end(const struct service *service);

/* Handle GET /internal/services; POST: start now those that wait since services_begin(). */
int services_list_finish(struct request *request, struct rpc_error *error);
int services_release_finish(struct request *request, struct rpc_error *error);

/* Handle GET /internal/services/NAME: its output, with the query of GET /internal/logs. POST: start
 * it again. RPC_NOT_FOUND: there is no such service. */
int services_logs_finish(struct request *request, struct rpc_error *error);
int services_restart_finish(struct request *request, struct rpc_error *error);

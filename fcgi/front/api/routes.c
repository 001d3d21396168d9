/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/network_input.h"
#include "api/sandbox_input.h"
#include "api/volumes.h"
#include "base/mem.h"
#include "endpoint/endpoint.h"

static const struct route_query list_query[] = {
    {.name = "team"},
    {.name = "limit"},
    {.name = "next_token"},
    {.name = "order"},
    {.name = "started_after"},
    {.name = "name"},
    {.name = "name_prefix"},
    {.name = "template"},
    {.name = "query[metadata][*]", .bytes = true},
    {.name = "query[state][]", .repeatable = true},
    {.name = NULL},
};

static const struct route_query page_query[] = {
    {.name = "team"}, {.name = "limit"}, {.name = "next_token"}, {.name = NULL}};

static const struct route_query path_query[] = {{.name = "path", .bytes = true}, {.name = NULL}};

static const struct route_query download_query[] = {
    {.name = "path", .bytes = true}, {.name = "download"}, {.name = NULL}};

static const struct route_query upload_query[] = {{.name = "path", .bytes = true},
                                                  {.name = "mode"},
                                                  {.name = "uid"},
                                                  {.name = "gid"},
                                                  {.name = NULL}};

static const struct route_query directory_query[] = {{.name = "path", .bytes = true},
                                                     {.name = "depth"},
                                                     {.name = "limit"},
                                                     {.name = "next_token"},
                                                     {.name = NULL}};

static const struct route_query delete_query[] = {
    {.name = "path", .bytes = true}, {.name = "recursive"}, {.name = NULL}};

static const struct route_query revoke_query[] = {{.name = "with_created"}, {.name = NULL}};

static const struct route_query oidc_login_query[] = {{.name = "return"}, {.name = NULL}};

/* Providers may add other parameters. */
static const struct route_query oidc_callback_query[] = {
    {.name = "code"},
    {.name = "state"},
    {.name = "iss"},
    {.name = "error"},
    {.name = "*", .bytes = true, .repeatable = true},
    {.name = NULL}};

static const struct route_query audit_query[] = {
    {.name = "team"},     {.name = "limit"}, {.name = "next_token"},
    {.name = "action"},   {.name = "actor"}, {.name = "since"},
    {.name = "resource"}, {.name = "until"}, {.name = NULL},
};

static const struct route_query team_query[] = {{.name = "team"}, {.name = NULL}};

static const struct route_query build_query[] = {
    {.name = "team"}, {.name = "log_offset"}, {.name = NULL}};

static const struct route_query messages_query[] = {
    {.name = "limit"}, {.name = "before"}, {.name = NULL}};

static const struct route_query events_query[] = {{.name = "team"},
                                                  {.name = "limit"},
                                                  {.name = "after"},
                                                  {.name = "since"},
                                                  {.name = "sandbox_id"},
                                                  {.name = "wait"},
                                                  {.name = "kind", .repeatable = true},
                                                  {.name = NULL}};

static const struct route_query usage_query[] = {
    {.name = "team"}, {.name = "from"}, {.name = "to"}, {.name = "by"}, {.name = NULL}};

static const struct route_query logs_query[] = {
    {.name = "limit"}, {.name = "after"}, {.name = "order"},   {.name = "pid"},
    {.name = "from"},  {.name = "to"},    {.name = "service"}, {.name = NULL}};

static const struct route_query slugs_query[] = {
    {.name = "limit"}, {.name = "next_token"}, {.name = NULL}};

static const struct route_query span_query[] = {{.name = "from"}, {.name = "to"}, {.name = NULL}};

static const struct route_query operated_query[] = {
    {.name = "team"}, {.name = "host"}, {.name = "limit"}, {.name = "next_token"}, {.name = NULL}};

static const struct route_query sums_query[] = {
    {.name = "host"}, {.name = "team"}, {.name = "from"}, {.name = "to"}, {.name = NULL}};

static const struct route_query ids_query[] = {{.name = "team"}, {.name = "ids"}, {.name = NULL}};

static const struct route_query checkpoints_query[] = {
    {.name = "team"},       {.name = "limit"}, {.name = "next_token"},
    {.name = "sandbox_id"}, {.name = "name"},  {.name = NULL}};

const struct route api_routes[] = {
#define ENDPOINT ENDPOINT_ROUTE
#include "endpoint/endpoints.def"
#undef ENDPOINT
};
const size_t api_route_count = ARRAY_SIZE(api_routes);

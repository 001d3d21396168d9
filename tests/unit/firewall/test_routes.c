/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that leave the filter's lock to the names of sandboxes, and shares of requests. */
#include "unit/unit.h"

#include <pthread.h>

#include "base/mem.h"
#include "firewall/filter.h"
#include "firewall/routes.h"
#include "http/http.h"

/* A call that waits for the lock ends the test. */
#define GIVE_UP_S 20

static void check(struct filter *filter, const char *method, const char *path, const char *body,
                  int expected)
{
    autofree char *method_line = xasprintf("REQUEST_METHOD=%s", method);
    autofree char *path_line = xasprintf("REQUEST_URI=%s", path);
    char type_line[] = "CONTENT_TYPE=application/json";
    char *parameters[] = {method_line, path_line, type_line, NULL};
    struct http_request request;
    struct http_response response;
    http_request_init(&request, parameters, 1024);
    http_response_init(&response);
    buffer_append_string(&request.body, body);
    alarm(GIVE_UP_S);
    filter_serve(filter, &request, &response);
    alarm(0);
    assert_int_equal(response.status, expected);
    http_response_deinit(&response);
    http_request_deinit(&request);
}

TEST(some_requests_wait_for_no_names)
{
    static const struct settings settings = {0};
    struct filter *filter = xcalloc(1, sizeof *filter);
    filter->settings = &settings;
    pthread_mutex_init(&filter->lock, NULL);
    filter_lock(filter);
    check(filter, "GET", "/v1/host", "", 200);
    check(filter, "GET", "/v1/usage", "", 200);
    check(filter, "PUT", "/v1/policies/10.0.0.1", "{\"no\": \"policy\"}", 422);
    check(filter, "DELETE", "/v1/policies/not-an-address/calls", "", 404);
    check(filter, "DELETE", "/v1/policies/not-an-address/previews/80", "", 404);
    filter_unlock(filter);
    check(filter, "GET", "/v1/policies", "", 200);
    pthread_mutex_destroy(&filter->lock);
    free(filter);
}

static int ask_egress(struct filter *filter, const char *client)
{
    char method_line[] = "REQUEST_METHOD=GET", path_line[] = "REQUEST_URI=/v1/egress";
    autofree char *client_line = xasprintf("SANDLOT_CLIENT=%s", client);
    char *parameters[] = {method_line, path_line, client_line, NULL};
    struct http_request request;
    struct http_response response;
    http_request_init(&request, parameters, 0);
    http_response_init(&response);
    filter_serve(filter, &request, &response);
    int status = response.status;
    http_response_deinit(&response);
    http_request_deinit(&request);
    return status;
}

static void add_sandbox(struct filter *filter, struct filter_sandbox *sandbox, uint64_t tenant,
                        uint64_t user)
{
    struct filter_sandbox **bucket = &filter->buckets[sandbox->address % FILTER_BUCKETS];
    sandbox->wire = (struct policy_wire){.tenant = tenant, .user = user, .revision = 1};
    sandbox->next = *bucket;
    *bucket = sandbox;
}

TEST(requests_of_egress_rules_have_shares)
{
    struct filter *filter = xcalloc(1, sizeof *filter);
    struct filter_sandbox first = {.address = 0x0a000001}, second = {.address = 0x0a000002},
                          of_user = {.address = 0x0a000003}, other = {.address = 0x0a000004};
    pthread_mutex_init(&filter->lock, NULL);
    filter->egress_requests.per_s = FILTER_EGRESS_PER_S;
    add_sandbox(filter, &first, 1, 1);
    add_sandbox(filter, &second, 1, 2);
    add_sandbox(filter, &of_user, 2, 1);
    add_sandbox(filter, &other, 3, 3);
    unsigned decided = 0;
    while (ask_egress(filter, "10.0.0.1") == 403 && decided < 4 * FILTER_EGRESS_PER_S)
        decided++;
    assert_in_range(decided, FILTER_EGRESS_PER_S, 2 * FILTER_EGRESS_PER_S);
    filter->egress_requests.per_s = 1; /* nothing comes back during the rest of the test */
    assert_int_equal(ask_egress(filter, "10.0.0.1"), 401);
    assert_int_equal(ask_egress(filter, "10.0.0.2"), 401); /* the team */
    assert_int_equal(ask_egress(filter, "10.0.0.3"), 401); /* the user */
    filter->egress_requests.per_s = FILTER_EGRESS_PER_S;
    assert_int_equal(ask_egress(filter, "10.0.0.4"), 403);
    pthread_mutex_destroy(&filter->lock);
    free(filter);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that leave the filter's lock to the names of sandboxes. */
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

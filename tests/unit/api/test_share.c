/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <string.h>
#include <unistd.h>

#include "api/api.h"

static char dir[] = "/tmp/test_share.XXXXXX";
static struct api api;
static const struct settings settings = {.pool_wait_ms = 1};

static int set_up(void **state)
{
    error_auto err = NULL;
    if (!mkdtemp(dir))
        return -1;
    api.settings = &settings;
    assert_ok(pool_open_as(dir, "records", &api.pool, &err));
    return 0;
}

static int tear_down(void **state)
{
    char path[96];
    pool_close(api.pool);
    snprintf(path, sizeof path, "%s/records.pool", dir);
    unlink(path);
    return rmdir(dir);
}

/* Return the number for which a sign-in from an address counts. */
static uint64_t client_of(const char *address)
{
    struct error *err = NULL;
    struct http_request request = {.remote_address = address};
    assert_ok(api_take_password_share(&api, &request, &err));
    assert_true(request.claim.is_narrow);
    return request.claim.user;
}

TEST_WITH(all_networks_of_a_site_are_one_client_at_a_sign_in, set_up, tear_down)
{
    uint64_t first = client_of("2001:db8:1:1::1");
    assert_true(client_of("2001:db8:1:ffff::2") == first);
    assert_true(client_of("2001:db8:2:1::1") != first);
    assert_true(client_of("192.0.2.1") != client_of("192.0.2.2"));
}

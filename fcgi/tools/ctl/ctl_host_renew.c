/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificates renew themselves. sandlot-renew.timer runs `host renew` on the front node that has
 * the authority: it signs, and sends each host its new pair through the present relay, to
 * sandlot-firewall. There, sandlot-relay.path runs `host install` when the pair has arrived.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "ctl/nginx_config.h"
#include "ctl/output.h"
#include "ctl/relay_files.h"
#include "host/host.h"
#include "http/link.h"
#include "http/link_ask.h"
#include "network/firewall_client.h"

#define RENEW_MS    (RELAY_RENEW_DAYS * 24 * 60 * 60 * (int64_t)1000)
#define ASK_MOST_MS 3000

struct renewal {
    struct ctl *ctl;
    json_t *renewed;
    unsigned failed;
};

/* --- on the front --- */

static int send_pair(struct ctl *ctl, const struct host *host, struct error **err)
{
    certificate_pair_auto authority = {0}, pair = {0};
    struct runtime *runtime;
    if (runtimes_get(ctl->runtimes, ctl->db, host->id, &runtime, err) < 0 ||
        relay_sign_host(ctl->settings->relay_dir, host->name, &authority, &pair, err) < 0)
        return -1;
    struct firewall *firewall = runtimes_firewall(ctl->runtimes, host->id);
    firewall_relay_begin(firewall, pair.certificate, pair.key);
    return firewall_end(firewall, err);
}

/* A relay that does not show its certificate to the front cannot get another one from it. */
static int renew_host(struct ctl *ctl, const struct host *host, bool *renewed, struct error **err)
{
    const struct http_link *link = NULL;
    int64_t expires_at_ms;
    if (runtimes_link(ctl->runtimes, ctl->db, host->id, &link, err) < 0 ||
        http_link_ask(link, ASK_MOST_MS, &expires_at_ms, err) < 0)
        return -1;
    *renewed = expires_at_ms && expires_at_ms - clock_now_ms() < RENEW_MS;
    return *renewed ? send_pair(ctl, host, err) : 0;
}

static int visit(void *context, const struct host *host, struct error **err)
{
    struct renewal *renewal = context;
    error_auto failure = NULL;
    bool renewed = false;
    (void)err;
    if (!host->relay_url || host->condition.lost_at_ms || host->state == HOST_JOINING)
        return 0;
    if (renew_host(renewal->ctl, host, &renewed, &failure) < 0) {
        renewal->failed++;
        printable_print(stderr, "sandlotctl: cannot renew the certificate of host %s: %s\n",
                        host->name, failure->message);
    } else if (renewed) {
        json_array_append_new(renewal->renewed, json_string(host->name));
    }
    return 0;
}

int ctl_host_renew(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct renewal renewal = {.ctl = ctl};
    const char *dir = ctl->settings->relay_dir, *pid_file = ctl_text(arguments, "pid-file");
    bool front;
    if (!*dir || !relay_has(dir, RELAY_AUTHORITY_KEY))
        return error_set(err, ERR_CONFIG,
                         "This machine has no authority for relays. The front node with the "
                         "file " RELAY_AUTHORITY_KEY " renews all certificates.");
    if (relay_renew_front(ctl->settings, &front, err) < 0 ||
        (front && nginx_reload(pid_file ? pid_file : NGINX_PID_FILE, err) < 0))
        return -1;
    renewal.renewed = json_array();
    runtimes_regardless(ctl->runtimes);
    if (hosts_each(ctl->db, visit, &renewal, NULL, err) < 0) {
        json_decref(renewal.renewed);
        return -1;
    }
    size_t count = json_array_size(renewal.renewed);
    ctl_print(ctl, json_pack("{s:b, s:o}", "front_renewed", (int)front, "hosts", renewal.renewed),
              "The certificate of this front node %s. %zu host%s a new one.",
              front ? "is new" : "needs no renewal", count, count == 1 ? " got" : "s got");
    return renewal.failed ? error_set(err, ERR_RUNTIME_UNAVAILABLE,
                                      "%u host%s not checked; the next run tries again",
                                      renewal.failed, renewal.failed == 1 ? " was" : "s were")
                          : 0;
}

/* --- on the host --- */

static int read_pair(const char *path, struct certificate_pair *pair, struct error **err)
{
    char *certificate, *key;
    autowipe char *text = NULL;
    if (relay_read_sent(path, &text, err) < 0)
        return -1;
    json_auto_t *json = json_loads(text, 0, NULL);
    if (json_unpack(json, "{s:s, s:s}", "certificate", &certificate, "key", &key) < 0)
        return error_set(err, ERR_CONFIG, "%s has no certificate and key", path);
    int result = certificate_pair_read(certificate, key, pair, err);
    mem_wipe(key, strlen(key));
    return result < 0 ? error_context(err, "%s", path) : 0;
}

/* Another host of the deployment, or an attacker with an old pair, must not replace ours. */
static int install(const char *dir, const char *path, struct error **err)
{
    certificate_pair_auto pair = {0};
    autowipe char *authority = NULL, *before = NULL;
    if (read_pair(path, &pair, err) < 0 ||
        relay_read(dir, LINK_AUTHORITY_FILE, &authority, err) < 0 ||
        relay_read(dir, LINK_HOST_FILE, &before, err) < 0)
        return -1;
    if (!authority_renews(authority, before, &pair))
        return error_set(err, ERR_CONFIG,
                         "%s has no newer certificate for this host from its authority, with its "
                         "key; %s/" LINK_HOST_FILE " stays",
                         path, dir);
    return relay_write_pair(dir, LINK_HOST_FILE, &pair, 0600, (gid_t)-1, err);
}

int ctl_host_install(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *dir = relay_dir_of_host(ctl->settings), *path = arguments->operands[0];
    const char *pid_file = ctl_text(arguments, "pid-file");
    int result = install(dir, path, err);
    unlink(path); /* a file that stays would start the unit again and again */
    if (result < 0 || nginx_reload(pid_file ? pid_file : NGINX_PID_FILE, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "directory", dir, "renewed", 1),
              "%s has a new certificate, and nginx was reloaded.", dir);
    return 0;
}

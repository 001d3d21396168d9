/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Until when the certificates hold by which this front node, the relays of hosts, and Incus on
 * other machines know each other. */
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/certificate.h"
#include "ctl/doctor.h"
#include "ctl/nginx_config.h"
#include "ctl/relay_files.h"
#include "host/host.h"
#include "http/link.h"
#include "http/link_ask.h"

#define DAY_MS (24 * 60 * 60 * (int64_t)1000)
/* By then sandlot-renew.timer has tried for nine days. */
#define LATE_DAYS   21
#define ASK_MOST_MS 3000
#define RENEW_FRONT                                                                                \
    "Run `sandlotctl host renew` on the front node that has the authority; on other front nodes, " \
    "copy the files (doc/howto/renew-host-certificates.md)."
#define RENEW_OF_ALL                                                                      \
    "Replace the authority and all certificates before that: see \"After an attack\" in " \
    "doc/howto/renew-host-certificates.md."

/* The client certificate for Incus renews itself nowhere: each host trusts this one alone. */
#define REPLACE_CLIENT                                                                      \
    "Replace it on all front nodes and hosts before that: see the last step of \"After an " \
    "attack\" in doc/howto/renew-host-certificates.md."

static void report(struct doctor *doctor, const char *check, const char *what,
                   int64_t expires_at_ms, const char *advice)
{
    char at[CLOCK_ISO8601_SIZE];
    int64_t now_ms = clock_now_ms();
    clock_format_iso8601(expires_at_ms, at);
    int64_t days = (expires_at_ms - now_ms) / DAY_MS;
    if (expires_at_ms <= now_ms)
        doctor_wrong(doctor, check, advice, "%s expired at %s.", what, at);
    else if (days < LATE_DAYS)
        doctor_wrong(doctor, check, advice, "%s has %lld days left, until %s, and was not renewed.",
                     what, (long long)days, at);
    else
        doctor_ok(doctor, check, "%s has %lld days left, until %s.", what, (long long)days, at);
}

static void check_file(struct doctor *doctor, const char *name, const char *advice)
{
    autofree char *path = xasprintf("%s/%s", relay_dir_of_host(doctor->ctl->settings), name);
    int64_t expires_at_ms;
    error_auto err = NULL;
    if (certificate_expiry(path, &expires_at_ms, &err) < 0)
        doctor_wrong(doctor, "relay", RENEW_FRONT, "%s.", err->message);
    else
        report(doctor, "relay", path, expires_at_ms, advice);
}

static void check_incus_client(struct doctor *doctor)
{
    const char *path = doctor->ctl->settings->incus_client_cert_file;
    int64_t expires_at_ms;
    error_auto err = NULL;
    if (!*path)
        return;
    if (certificate_expiry(path, &expires_at_ms, &err) < 0)
        doctor_wrong(doctor, "incus", "Correct the setting incus_client_cert_file.", "%s.",
                     err->message);
    else
        report(doctor, "incus", path, expires_at_ms, REPLACE_CLIENT);
}

void doctor_check_front(struct doctor *doctor)
{
    check_incus_client(doctor);
    if (!*doctor->ctl->settings->relay_dir)
        return;
    check_file(doctor, LINK_AUTHORITY_FILE, RENEW_OF_ALL);
    check_file(doctor, LINK_CALLER_FILE, RENEW_FRONT);
}

static void check_served(struct doctor *doctor, int64_t expires_at_ms)
{
    error_auto err = NULL;
    struct http_own_answer served;
    struct nginx_relay_known relay;
    if (nginx_relay_read(relay_dir_of_host(doctor->ctl->settings), &relay, &err) < 0)
        doctor_wrong(doctor, "relay", RENEW_FRONT, "%s.", err->message);
    else if (http_own_ask("relay." LINK_DOMAIN, relay.port, "/", ASK_MOST_MS, &served, &err) < 0)
        doctor_wrong(doctor, "relay", "Start nginx; `nginx -t` checks its configuration.",
                     "The relay of this machine does not answer on port %u: %s.", relay.port,
                     err->message);
    else if (served.expires_at_ms && served.expires_at_ms / 1000 != expires_at_ms / 1000)
        doctor_wrong(doctor, "relay", "Reload nginx: `systemctl reload nginx`.",
                     "The relay of this machine still uses a previous certificate.");
}

void doctor_check_relay_files(struct doctor *doctor)
{
    autofree char *path = xasprintf("%s/" LINK_HOST_FILE, relay_dir_of_host(doctor->ctl->settings));
    int64_t expires_at_ms;
    error_auto err = NULL;
    check_file(doctor, LINK_AUTHORITY_FILE, RENEW_OF_ALL);
    check_file(doctor, LINK_HOST_FILE, RENEW_FRONT);
    if (certificate_expiry(path, &expires_at_ms, &err) == 0)
        check_served(doctor, expires_at_ms);
}

/* --- a host's --- */

void doctor_check_relay(struct doctor *doctor, const struct host *host)
{
    struct ctl *ctl = doctor->ctl;
    const struct http_link *link = NULL;
    int64_t expires_at_ms;
    error_auto err = NULL;
    autofree char *what = xasprintf("The certificate of the relay of %s", host->name);
    static const char advice[] =
        "Run `sandlotctl host renew` on the front node that has the authority. The host's log of "
        "sandlot-relay.service has the reason if it did not install a certificate.";
    if (!host->relay_url)
        return;
    if (runtimes_link(ctl->runtimes, ctl->db, host->id, &link, &err) < 0)
        doctor_wrong(doctor, "relay", "See doc/howto/second-host.md.", "%s.", err->message);
    else if (http_link_ask(link, ASK_MOST_MS, &expires_at_ms, &err) < 0)
        doctor_wrong(doctor, "relay",
                     "Check nginx on that machine, and the certificates of both sides.",
                     "The relay of %s at %s does not answer: %s.", host->name, host->relay_url,
                     err->message);
    else if (expires_at_ms)
        report(doctor, "relay", what, expires_at_ms, advice);
}

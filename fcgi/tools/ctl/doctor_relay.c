/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Until when the certificates hold by which this front and the relays of hosts know each other. */
#include "base/clock.h"
#include "base/mem.h"
#include "ctl/certificate.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "http/link.h"
#include "http/link_ask.h"

#define RENEWAL_MS \
    (30 * 24 * 60 * 60 * (int64_t)1000) /* from then on both commands make new ones */
#define ASK_MOST_MS  3000
#define RENEW_FRONT  "Run `sandlotctl host authority`, then restart the workers and reload nginx."
#define RENEW_OF_ALL "Renew all certificates before (doc/howto/renew-host-certificates.md)."

static void report(struct doctor *doctor, const char *what, int64_t expires_at_ms,
                   const char *advice)
{
    char at[CLOCK_ISO8601_SIZE];
    int64_t now_ms = clock_now_ms();
    clock_format_iso8601(expires_at_ms, at);
    if (expires_at_ms <= now_ms)
        doctor_wrong(doctor, "relay", advice, "%s expired at %s.", what, at);
    else if (expires_at_ms - now_ms < RENEWAL_MS)
        doctor_wrong(doctor, "relay", advice, "%s expires soon, at %s.", what, at);
    else
        doctor_ok(doctor, "relay", "%s is valid until %s.", what, at);
}

static void check_file(struct doctor *doctor, const char *name, const char *advice)
{
    autofree char *path = xasprintf("%s/%s", doctor->ctl->settings->relay_dir, name);
    int64_t expires_at_ms;
    error_auto err = NULL;
    if (certificate_expiry(path, &expires_at_ms, &err) < 0)
        doctor_wrong(doctor, "relay", RENEW_FRONT, "%s.", err->message);
    else
        report(doctor, path, expires_at_ms, advice);
}

void doctor_check_front(struct doctor *doctor)
{
    if (!*doctor->ctl->settings->relay_dir)
        return;
    check_file(doctor, LINK_AUTHORITY_FILE, RENEW_OF_ALL);
    check_file(doctor, LINK_CALLER_FILE, RENEW_FRONT);
}

/* --- a host's --- */

void doctor_check_relay(struct doctor *doctor, const struct host *host)
{
    struct ctl *ctl = doctor->ctl;
    const struct http_link *link = NULL;
    int64_t expires_at_ms;
    error_auto err = NULL;
    autofree char *what = xasprintf("The certificate of the relay of %s", host->name);
    autofree char *advice = xasprintf("Run `sandlotctl host certificate %s` with the options of "
                                      "doc/howto/renew-host-certificates.md, copy the files to "
                                      "that machine, and reload nginx there.",
                                      host->name);
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
        report(doctor, what, expires_at_ms, advice);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/certificate.h"
#include "ctl/doctor.h"
#include "ctl/fastcgi_probe.h"
#include "http/link_ask.h"

#define PROBE_WAIT_MS  3000
#define TW_REUSE_FILE  "/proc/sys/net/ipv4/tcp_tw_reuse"
#define BAD_GATEWAY    502
#define EXPIRY_SOON_MS (14 * INT64_C(86400000))

static void check_socket(struct doctor *doctor, const char *setting, const char *path)
{
    error_auto err = NULL;
    if (fastcgi_probe(path, PROBE_WAIT_MS, &err) == 0)
        doctor_ok(doctor, "workers", "%s %s answers.", setting, path);
    else if (err->code == ERR_RUNTIME_UNAVAILABLE)
        doctor_wrong(doctor, "workers",
                     "All workers of this worker pool are busy, or none is running. Read their "
                     "log, or start more.",
                     "%s: %s.", setting, err->message);
    else
        doctor_wrong(doctor, "workers",
                     "Start the workers of this worker pool, and check that the setting is the "
                     "path of their socket.",
                     "%s: %s.", setting, err->message);
}

/* It speaks HTTP, and says nothing unasked. */
static void check_events(struct doctor *doctor)
{
    const char *path = doctor->ctl->settings->events_socket;
    error_auto err = NULL;
    if (socket_probe(path, &err) == 0)
        doctor_ok(doctor, "workers", "events_socket %s accepts connections.", path);
    else
        doctor_wrong(doctor, "workers",
                     "Start sandlot-events, and check that the setting is the path of its socket.",
                     "Clients cannot wait for events: events_socket: %s.", err->message);
}

/* Whether this machine accepts connections at its own port; errno says why not. */
static bool accepts(int family, unsigned port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool is_v6 = family == AF_INET6;
    autoclose int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && connect(fd, is_v6 ? (const void *)&v6 : &v4,
                              is_v6 ? (socklen_t)sizeof v6 : (socklen_t)sizeof v4) == 0;
}

static void check_nginx_port(struct doctor *doctor, unsigned port, const char *consequence)
{
    static const char start[] =
        "Start nginx with the files of `sandlotctl nginx-config`; `nginx -t` checks them.";
    if (!accepts(AF_INET, port))
        doctor_wrong(doctor, "nginx", start,
                     "Nothing listens on port %u of this machine, so %s: %s.", port, consequence,
                     strerror(errno));
    else if (settings_listen_ipv6(doctor->ctl->settings) && !accepts(AF_INET6, port))
        doctor_wrong(
            doctor, "nginx",
            "Run `sandlotctl nginx-config` again and reload nginx, or set listen_ipv6 = off.",
            "Nothing listens on port %u of this machine over IPv6, so %s over IPv6: %s.", port,
            consequence, strerror(errno));
    else
        doctor_ok(doctor, "nginx", "Port %u of this machine accepts connections.", port);
}

/* Root reaches every socket, and nginx only those that its user may open. */
static void check_nginx_reaches_workers(struct doctor *doctor)
{
    error_auto ignored = NULL;
    const struct settings *settings = doctor->ctl->settings;
    autofree char *host = settings_api_host(settings);
    struct http_own_answer answer;
    if (http_own_ask(host, (unsigned)settings->listen_port, "/v1/me", PROBE_WAIT_MS, &answer,
                     &ignored) == 0 &&
        answer.status == BAD_GATEWAY)
        doctor_wrong(doctor, "nginx",
                     "nginx's error log has the reason. If another user than www-data runs nginx, "
                     "add this user to the group www-data, and restart nginx. After a change of "
                     "a setting with _socket, run `sandlotctl nginx-config` again and reload "
                     "nginx.",
                     "nginx answers a request to the API with status %u, because it cannot connect "
                     "to the workers.",
                     answer.status);
}

static void check_nginx(struct doctor *doctor)
{
    const struct settings *settings = doctor->ctl->settings;
    check_nginx_port(doctor, (unsigned)settings->listen_port, "clients cannot connect");
    if (settings->redirect_port)
        check_nginx_port(doctor, (unsigned)settings->redirect_port,
                         "browsers without https:// are not redirected");
    check_nginx_reaches_workers(doctor);
}

/* nginx's connections to one port of one sandbox have its ports of this machine to themselves; see
 * conf/nftables/load-network.in, which sets this. */
static void check_port_reuse(struct doctor *doctor)
{
    char value = '?';
    autoclose int fd = open(TW_REUSE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &value, 1) != 1)
        doctor_note(doctor, "ports", "Cannot read %s: %s.", TW_REUSE_FILE, strerror(errno));
    else if (value == '1')
        doctor_ok(doctor, "ports", "The kernel reuses the ports of nginx's closed connections.");
    else
        doctor_wrong(
            doctor, "ports",
            "Run `sysctl net.ipv4.tcp_tw_reuse=1`; at each start, load-network sets it if the "
            "value is 2.",
            "net.ipv4.tcp_tw_reuse is %c: the kernel holds the port of each closed connection of "
            "nginx for a minute. A preview with more than 400 requests a second runs out of ports.",
            value);
}

void doctor_check_sockets(struct doctor *doctor)
{
    const struct settings *settings = doctor->ctl->settings;
#define POOL(name, ...) check_socket(doctor, #name "_socket", settings->name##_socket);
#include "config/pools.def"
#undef POOL
    check_events(doctor);
    check_nginx(doctor);
    check_port_reuse(doctor);
}

/* The host names that clients come by and the certificate is not for; NULL: none. The caller frees
 * it. */
static char *find_foreign(const struct settings *settings, const char *path)
{
    autofree char *domain = settings_data_plane_domain(settings);
    char *hosts[] = {settings_api_host(settings), settings_console_host(settings),
                     xasprintf("any.%s", domain)};
    char *found = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        if (!found && hosts[i] && !certificate_is_for(path, hosts[i]))
            found = hosts[i];
        else
            free(hosts[i]);
    }
    return found;
}

static void check_names(struct doctor *doctor, const char *path)
{
    autofree char *foreign = find_foreign(doctor->ctl->settings, path);
    if (foreign)
        doctor_wrong(doctor, "certificate",
                     "Get a certificate for the host of data_plane_host, for its wildcard, and for "
                     "the hosts of base_url and console_url.",
                     "%s is not for %s.", path, foreign);
}

/* nginx reads the file at its start and at each reload. */
static void check_served(struct doctor *doctor, int64_t expires_at_ms)
{
    error_auto ignored = NULL;
    const struct settings *settings = doctor->ctl->settings;
    autofree char *host = settings_api_host(settings);
    char at[CLOCK_ISO8601_SIZE];
    struct http_own_answer served;
    if (http_own_ask(host, (unsigned)settings->listen_port, "/", PROBE_WAIT_MS, &served, &ignored) <
            0 ||
        !served.expires_at_ms || served.expires_at_ms / 1000 == expires_at_ms / 1000)
        return;
    clock_format_iso8601(served.expires_at_ms, at);
    doctor_wrong(doctor, "certificate", "Reload nginx: `systemctl reload nginx`.",
                 "nginx does not use %s, but another certificate, which is valid until %s.",
                 settings->tls_certificate_file, at);
}

void doctor_check_certificate(struct doctor *doctor)
{
    error_auto err = NULL;
    int64_t expires_at_ms, now_ms = clock_now_ms();
    char at[CLOCK_ISO8601_SIZE];
    const char *path = doctor->ctl->settings->tls_certificate_file;
    const char *key = doctor->ctl->settings->tls_certificate_key_file;
    if (certificate_expiry(path, &expires_at_ms, &err) < 0) {
        doctor_wrong(doctor, "certificate",
                     "Set tls_certificate_file to a PEM file with the certificate for the API host "
                     "and the wildcard of data_plane_host.",
                     "%s.", err->message);
        return;
    }
    clock_format_iso8601(expires_at_ms, at);
    check_names(doctor, path);
    check_served(doctor, expires_at_ms);
    if (expires_at_ms <= now_ms)
        doctor_wrong(doctor, "certificate", "Renew it and reload nginx.", "%s expired at %s.", path,
                     at);
    else if (expires_at_ms - now_ms < EXPIRY_SOON_MS)
        doctor_wrong(doctor, "certificate", "Renew it and reload nginx.", "%s expires soon, at %s.",
                     path, at);
    else if (access(key, R_OK) != 0)
        doctor_wrong(doctor, "certificate",
                     "Set tls_certificate_key_file to the private key of the certificate.",
                     "Cannot read %s.", key);
    else
        doctor_ok(doctor, "certificate", "%s is valid until %s.", path, at);
}

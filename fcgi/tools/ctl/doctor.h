/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of `sandlotctl doctor`: one sentence for each check, and advice for each fault. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "ctl/ctl.h"
#include "ctl/versions.h"

struct doctor {
    struct ctl *ctl;
    json_t *findings;
    unsigned wrong;
    bool is_quiet; /* findings are not printed as they come */
};

/* Report that a thing is as it should be. */
void doctor_ok(struct doctor *doctor, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Report a thing that is good to know; not a fault of the installation. */
void doctor_note(struct doctor *doctor, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Report a fault with advice. */
void doctor_wrong(struct doctor *doctor, const char *check, const char *advice, const char *format,
                  ...) __attribute__((format(printf, 4, 5)));

/* Check a part, and report the findings. */
void doctor_check_hosts(struct doctor *doctor);  /* hosts and templates on them */
void doctor_check_joins(struct doctor *doctor);  /* machines that are to become hosts */
void doctor_check_fronts(struct doctor *doctor); /* facts that must be equal on all fronts */
struct host;
struct firewall;
void doctor_check_criu(struct doctor *doctor, const struct host *host); /* of this machine */
void doctor_check_versions(struct doctor *doctor, const struct host *host);
void doctor_check_kernel(struct doctor *doctor, const char *host_url);  /* likewise */
void doctor_check_disk(struct doctor *doctor, const struct host *host); /* of this machine */
/* growth: bytes by which the file of a storage pool can grow on a file system with so many left. */
void doctor_report_growth(struct doctor *doctor, const struct host *host, uint64_t growth,
                          uint64_t free_bytes, uint64_t total);
void doctor_check_firewall(struct doctor *doctor, const struct host *host); /* after its host */
void doctor_check_host_clock(struct doctor *doctor, const struct host *host,
                             struct firewall *firewall);
void doctor_check_database_server(struct doctor *doctor);
/* cipher: of the connection to a server on another machine; NULL: none. */
void doctor_report_encryption(struct doctor *doctor, const char *server, const char *cipher);
void doctor_check_database_clock(struct doctor *doctor);
void doctor_check_relay(struct doctor *doctor, const struct host *host); /* its certificate */
void doctor_check_connections(struct doctor *doctor, const struct host *host);
/* Look for packet filters of the machine's own that may drop packets of sandboxes. listed: what
 * `nft -j list chains` prints; NULL: nothing. */
void doctor_check_filters(struct doctor *doctor, const char *host_url);
void doctor_report_filters(struct doctor *doctor, const json_t *listed);
void doctor_check_registries(struct doctor *doctor); /* the profile of the package registries */
void doctor_check_work(struct doctor *doctor);       /* dispatcher, late work, last pause */
void doctor_check_archive(struct doctor *doctor);    /* its storage, and late copies */
void doctor_check_sockets(struct doctor *doctor);    /* FastCGI pools, nginx, its ports */
void doctor_check_holes(struct doctor *doctor);      /* of this machine's packages and kernel */
void doctor_check_certificate(struct doctor *doctor);
/* Check the authority for relays, and our certificates for relays and for Incus. */
void doctor_check_front(struct doctor *doctor);
void doctor_check_relay_files(struct doctor *doctor); /* the same of a machine that is a host */
/* Report a storage pool whose driver has no limits of disks. */
void doctor_report_driver(struct doctor *doctor, const struct host *host, const char *driver);
int doctor_check_pool(struct doctor *doctor, const struct host *host, struct error **err);

/* Check a machine that is a host only, without a database. */
void doctor_check_machine(struct doctor *doctor);

/* Run a program (arguments[0] is its path), and put its output, cut to size - 1 bytes, into out.
 * Return its exit status, or -1 when it could not be run or a signal ended it. */
int doctor_run(char *const *arguments, char *const *environment, char *out, size_t size);

/* Note whether a version of a component on a host, or on this machine, is a tested one. */
void doctor_judge_version(struct doctor *doctor, const char *where, enum component component,
                          const char *version);

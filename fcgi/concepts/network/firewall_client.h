/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The firewall of a runtime host, called over HTTP through that host's own nginx. One struct
 * firewall is one connection, kept open. A call is begun and ended, so that the caller can do
 * something else while the kernel is told; a new call waits for the one before it.
 *
 * Errors of all calls: ERR_RUNTIME_UNAVAILABLE (not reached, or no whole answer came in time: the
 * call may have had its effect and can be repeated), ERR_RUNTIME_REFUSED (it answered and said no).
 */
#pragma once

#include <jansson.h>

#include "network/policy.h"
#include "runtime/runtime.h"

struct firewall;

struct firewall_options {
    const char *url;              /* http+unix:///path/of/socket or https://host:port; NULL: the */
    const char *relay_url;        /* relay of the host, if it has one */
    const char *relay_dir;        /* our credentials for it (http/link.h) */
    const char *host_name;        /* and whom we ask there */
    const char *ca_file;          /* who signs its certificate; "": the system's authorities */
    const char *client_cert_file; /* what we show to https; "": nothing */
    const char *client_key_file;
};

/* Whether a URL is of one of the two forms. */
bool firewall_url_is_valid(const char *url);

/* Nothing is sent yet. The options are copied. Errors: ERR_CONFIG. */
int firewall_open(const struct firewall_options *options, struct firewall **firewall,
                  struct error **err);
void firewall_close(struct firewall *firewall); /* NULL is allowed */

/* Another size for an instance of the host that runs, and volumes; disk_gb 0: its disk stays as it
 * is. The mounts are borrowed until the call is begun. */
struct firewall_size {
    const char *instance;
    unsigned cpu, memory_mb, disk_gb;
    const struct runtime_mount *mounts;
    unsigned mount_count;
};

/* Put a policy into force, replacing what stands at its address. is_new: the sandbox has not begun
 * any flow yet, so that none need be looked for. size: what its instance is to have from now on,
 * which the host does beside, if it can; may be NULL. */
void firewall_put_begin(struct firewall *firewall, const struct policy_wire *wire, bool is_new,
                        const struct firewall_size *size);
/* Remove the policy of a sandbox from an address; none there, or another sandbox's: success. From
 * then on the sandbox reaches nothing, and its host does not reach it. */
void firewall_remove_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id);
/* The same when nothing is there any more: the next one at the address can be reached. */
void firewall_ended_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id);

/* End the connections between the host and the agent at an address (host/firewall/calls.h). */
void firewall_calls_end_begin(struct firewall *firewall, uint32_t address);
/* End those to one port and to the agent's relay, or, with port 0, to all ports but the agent's. */
void firewall_previews_end_begin(struct firewall *firewall, uint32_t address, uint16_t port);

/* Whether the call in hand has left for the firewall, which carries it out whether or not anybody
 * waits for it. */
bool firewall_told(const struct firewall *firewall);

/* Wait for the call in hand. Also ERR_LEASE_LOST: a newer revision is in force already. */
int firewall_end(struct firewall *firewall, struct error **err);

/* Whether the call that was ended well has given the instance all that it was to have. A host
 * of a version before does not, and none that cannot do it without Incus. */
bool firewall_sized(const struct firewall *firewall);

/* How long to leave the firewall alone, by how often it has not answered in a row. */
unsigned firewall_back_off_ms(const struct firewall *firewall);

struct firewall_policy {
    uint32_t address;
    char sandbox_id[65];
    uint64_t revision;
    uint64_t denied; /* how much it was refused under any policy since it began */
};

/* What it has in force; the caller frees. */
int firewall_list(struct firewall *firewall, struct firewall_policy **policies, size_t *count,
                  struct error **err);

/* The machine that it runs on. */
struct firewall_host {
    unsigned processors;
    uint64_t memory_bytes;
    uint64_t memory_available_bytes; /* whoever uses the rest; caches count as available */
    int64_t now_ms;                  /* its clock; 0: a version before does not say */
    uint64_t idle_ms;                /* of all processors since its start; 0: likewise */
};

/* Not asked of Incus: each GET /1.0/resources of a machine with a network card closes two
 * descriptors twice (6.0, internal/server/resources/network_ethtool.go: a deferred unix.Close()
 * besides the returned one), and the second time it may be anybody's: a pipe that a start waits
 * for, the connection of another request. */
int firewall_host(struct firewall *firewall, struct firewall_host *host, struct error **err);

/* Whether it can have instances given another size without Incus. reason: NULL, or why not; the
 * caller frees. ERR_RUNTIME_REFUSED: it is of a version before, which does not say. */
int firewall_sizing(struct firewall *firewall, char **reason, struct error **err);

/* What it refused lately to the sandbox at that address, newest first, as a JSON array: {"at",
 * "kind", "target", "port", "protocol", "count"}. A new reference. */
int firewall_denials(struct firewall *firewall, uint32_t address, json_t **denials,
                     struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call the firewall of a host over HTTP, through that host's own nginx. One struct firewall
 * is one connection, kept open. A call has a begin and an end, so that the caller can work while
 * the firewall acts. A new call waits for the previous one.
 *
 * Errors of all calls: ERR_RUNTIME_UNAVAILABLE (no connection, or no complete answer in time),
 * ERR_RUNTIME_REFUSED (the firewall refused the call). After the first one, the call may have had
 * its effect, and can be repeated.
 */
#pragma once

#include <jansson.h>

#include "network/policy.h"
#include "runtime/runtime.h"

struct firewall;

struct firewall_options {
    const char *url;       /* http+unix:///path/of/socket or https://host:port; NULL: the */
    const char *relay_url; /* relay of the host, if it has one */
    const char *relay_dir; /* our credentials for it (http/link.h) */
    const char *host_name; /* and the name of the host there */
    const char *ca_file;   /* the authority of its certificate; "": the system's authorities */
    const char *client_cert_file; /* our certificate for https; "": none */
    const char *client_key_file;
};

/* Check that a URL has one of the two forms. */
bool firewall_url_is_valid(const char *url);

/* Prepare a connection; nothing is sent yet. The options are copied. Errors: ERR_CONFIG. */
int firewall_open(const struct firewall_options *options, struct firewall **firewall,
                  struct error **err);
void firewall_close(struct firewall *firewall); /* NULL is allowed */

/* A new size, and volumes, for a running instance of the host. If cpu is 0, the host changes no
 * size, and only notes the team of the instance. If disk_gb is 0, the disk stays as it is. The
 * mounts are borrowed until the call has begun. */
struct firewall_size {
    const char *instance;
    unsigned cpu, memory_mb, disk_gb;
    const struct runtime_mount *mounts;
    unsigned mount_count;
};

/* Put a policy into force, replacing the policy at its address.
 *
 * is_new: the sandbox has no flows yet, so the firewall looks for none. size: its instance,
 * with the new size that the host sets in the same call if it can. */
void firewall_put_begin(struct firewall *firewall, const struct policy_wire *wire, bool is_new,
                        const struct firewall_size *size);
/* Remove the policy of a sandbox from an address. From then on the sandbox reaches nothing, and its
 * host does not reach it. Success also when the address has no policy, or that of another
 * sandbox. */
void firewall_remove_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id);
/* Remove the policy after the instance is gone. The next sandbox at the address can then be
 * reached. */
void firewall_ended_begin(struct firewall *firewall, uint32_t address, const char *sandbox_id);

/* Close the open connections between the host and the agent at an address
 * (host/firewall/calls.h). */
void firewall_calls_end_begin(struct firewall *firewall, uint32_t address);
/* End those to one port and to the agent's relay, or, with port 0, to all ports but the agent's. */
void firewall_previews_end_begin(struct firewall *firewall, uint32_t address, uint16_t port);

/* Send the relay of the host a new certificate with its key (PEM). */
#define FIREWALL_RELAY_PATH "/v1/relay"
void firewall_relay_begin(struct firewall *firewall, const char *certificate, const char *key);

/* Check whether the running call was sent to the firewall, which then completes it even if no
 * caller waits. */
bool firewall_told(const struct firewall *firewall);

/* Wait for the end of the running call. More errors: ERR_LEASE_LOST (a newer revision is in force
 * already). */
int firewall_end(struct firewall *firewall, struct error **err);

/* Check whether the call that succeeded has also set the instance's size and volumes. Hosts of
 * earlier versions do not, nor do hosts that cannot do it without Incus. */
bool firewall_sized(const struct firewall *firewall);

/* Return how long to wait before the next call, from the number of unanswered calls in a row. */
unsigned firewall_back_off_ms(const struct firewall *firewall);

struct firewall_policy {
    uint32_t address;
    char sandbox_id[65];
    uint64_t revision;
    uint64_t denied;      /* connections and names refused under all its policies so far */
    json_t *secrets_used; /* name of a secret -> ms since 1970; NULL: none was sent; owned */
    json_t *asked;        /* entries that it needs approval for, as texts; NULL: none; owned */
};

/* List the policies in force; the caller ends with firewall_policies_free(). */
int firewall_list(struct firewall *firewall, struct firewall_policy **policies, size_t *count,
                  struct error **err);

void firewall_policies_free(struct firewall_policy *policies, size_t count);

/* The machine on which the firewall runs. */
struct firewall_host {
    unsigned processors;
    uint64_t memory_bytes;
    uint64_t memory_available_bytes; /* caches count as available */
    int64_t now_ms;                  /* its clock; 0: an earlier version without this value */
    uint64_t idle_ms;                /* of all processors since its start; 0: likewise */
};

/* Read the state of the machine. Incus is not used for this. Each GET /1.0/resources of a machine
 * with a network card closes two descriptors twice (Incus 6.0,
 * internal/server/resources/network_ethtool.go: a deferred unix.Close() besides the returned one).
 * The second close may hit a descriptor in use: a pipe that a start waits for, or the connection of
 * another request. */
int firewall_host(struct firewall *firewall, struct firewall_host *host, struct error **err);

/* Read the usage of the host's containers; virtual machines are not in it. The caller frees with
 * runtime_usage_free(). Errors: ERR_RUNTIME_REFUSED (an earlier version without this value). */
int firewall_usage(struct firewall *firewall, struct runtime_usage **list, size_t *count,
                   struct error **err);

/* Check whether the host can resize instances without Incus. *reason: NULL, or why it cannot; the
 * caller frees. Errors: ERR_RUNTIME_REFUSED (an earlier version without this value). */
int firewall_sizing(struct firewall *firewall, char **reason, struct error **err);

/* Count the teams with an egress address of their own, and list the addresses that the host does
 * not have, as texts. The caller gets a new reference in *missing. Errors: ERR_RUNTIME_REFUSED (an
 * earlier version without this value). */
int firewall_egress_addresses(struct firewall *firewall, json_t **missing, size_t *count,
                              struct error **err);

/* List the recent denials of the sandbox at this address, newest first. *denials is a new reference
 * to an array of objects: {"at", "kind", "target", "port", "protocol", "count"}. */
int firewall_denials(struct firewall *firewall, uint32_t address, json_t **denials,
                     struct error **err);

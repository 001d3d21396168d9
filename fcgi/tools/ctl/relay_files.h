/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files by which fronts and relays know each other: the authority, and pairs of a certificate
 * and its key, each in one file. Errors: ERR_CONFIG. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "crypto/authority.h"

#define RELAY_AUTHORITY_KEY "ca.key"
/* The usual folder. A host that was added by hand may lack the setting relay_dir. */
#define RELAY_DIR "/etc/sandlot/relay"
/* A certificate is renewed when it is valid for fewer days. */
#define RELAY_RENEW_DAYS 30
#define RELAY_LEAF_DAYS  90

/* Read a text; the caller wipes and frees it. */
int relay_read_path(const char *path, char **text, struct error **err);
/* Do the same for a file in a folder of another user: it must be a file, and no link. */
int relay_read_sent(const char *path, char **text, struct error **err);
int relay_read(const char *dir, const char *name, char **text, struct error **err);
/* Read the authority with its key. */
int relay_read_authority(const char *dir, struct certificate_pair *authority, struct error **err);

/* Replace a file. group -1: that of the process. */
int relay_write(const char *dir, const char *name, const char *text, mode_t mode, gid_t group,
                struct error **err);

/* Return the text of a file that holds a certificate and its key; the caller wipes and frees it. */
char *relay_pair_text(const struct certificate_pair *pair);
/* Replace such a file. A program that reads it at any time, or after a crash, never sees the key of
 * another certificate. */
int relay_write_pair(const char *dir, const char *name, const struct certificate_pair *pair,
                     mode_t mode, gid_t group, struct error **err);

/* Return relay_dir, or the usual folder when the setting is empty. */
struct settings;
const char *relay_dir_of_host(const struct settings *settings);
/* Return whether this machine is a host and no front node: it has the certificate of a relay, and
 * no key ring. */
bool relay_is_host_only(const struct settings *settings);

/* Sign a new pair for the relay of a host. */
int relay_sign_host(const char *dir, const char *host_name, struct certificate_pair *authority,
                    struct certificate_pair *pair, struct error **err);
/* Renew the pair of this front if it needs that. */
int relay_renew_front(const struct settings *settings, bool *renewed, struct error **err);

int relay_make_dir(const char *dir, struct error **err);
bool relay_has(const char *dir, const char *name);
/* Return whether dir has a certificate of the authority for this name that needs no renewal yet. */
bool relay_is_fresh(const char *authority_dir, const char *dir, const char *file, const char *name);

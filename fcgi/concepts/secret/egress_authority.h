/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The authority that signs the certificates of hosts with egress rules, one for the deployment. It
 * is made when it is first needed. Its key is sealed with the key ring and never leaves the front
 * nodes.
 */
#pragma once

#include <jansson.h>

#include "crypto/keyring.h"
#include "db/db.h"

/* Return the certificate of the authority (PEM); borrowed, for the life of the process. */
int egress_authority(struct db *db, const struct keyring *ring, const char **certificate,
                     struct error **err);

/* Add a new certificate of a host with its key (PEM) to an object, under the host's name, unless it
 * has one. */
int egress_authority_certify(struct db *db, const struct keyring *ring, const char *host,
                             json_t *certificates, struct error **err);

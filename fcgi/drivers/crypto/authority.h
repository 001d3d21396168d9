/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run a small certificate authority (X.509, ECDSA on P-256) for the machines of one deployment. It
 * signs front nodes, which are clients, and host nodes, which are servers. A certificate of one
 * kind is not valid for the other.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* A certificate and its private key as PEM. Zero-initialise. */
struct certificate_pair {
    char *certificate, *key;
};
void certificate_pair_deinit(struct certificate_pair *pair); /* wipes the key */
#define certificate_pair_auto \
    __attribute__((cleanup(certificate_pair_deinit))) struct certificate_pair

/* Read a pair of PEM texts from outside: the certificate of a host, and its key on an elliptic
 * curve. All other contents of the texts are left out of *pair. Errors: ERR_INVALID_REQUEST. */
int certificate_pair_read(const char *certificate, const char *key, struct certificate_pair *pair,
                          struct error **err);

enum certificate_role {
    CERTIFICATE_OF_CALLER, /* a client to TLS */
    CERTIFICATE_OF_CALLED, /* a server to TLS, under its name alone */
};

/* Create a new authority that signs end entities and no other authority. Errors: ERR_INTERNAL. */
int authority_new(const char *name, unsigned days, struct certificate_pair *authority,
                  struct error **err);

/* Create a new key and certificate for a DNS name, which is also the subjectAltName. Errors:
 * ERR_CONFIG (the authority's PEM texts are not such a pair), ERR_INTERNAL. */
int authority_sign(const struct certificate_pair *authority, enum certificate_role role,
                   const char *name, unsigned days, struct certificate_pair *pair,
                   struct error **err);

/* Return whether this authority has signed a pair of certificate_pair_read(), and the pair has the
 * name of a previous certificate (PEM) and is valid for longer. */
bool authority_renews(const char *authority, const char *before,
                      const struct certificate_pair *pair);

/* Return whether this authority has signed a certificate (PEM), and the certificate has this name
 * and is valid for at least this number of days. */
bool authority_signed(const char *authority, const char *certificate, const char *name,
                      unsigned days);

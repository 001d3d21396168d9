/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about a certificate for the doctor: its end, and its names (X.509, RFC 5280). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Read notAfter of the first certificate of a PEM file. Errors: ERR_CONFIG. */
int certificate_expiry(const char *path, int64_t *expires_at_ms, struct error **err);

/* Read the same from the bytes of one DER certificate; returns 0 or -1. */
int certificate_der_expiry(const unsigned char *der, size_t size, int64_t *expires_at_ms);

/* Return whether the first certificate of a PEM file names that host. */
bool certificate_is_for(const char *path, const char *host);

#define CERTIFICATE_PIN_SIZE (sizeof "sha256//" + 44)
/* Find the hash of its public key, as curl's --pinnedpubkey takes it. Errors: ERR_CONFIG. */
int certificate_pin(const char *path, char pin[CERTIFICATE_PIN_SIZE], struct error **err);

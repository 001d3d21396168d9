/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of OCI images, [REGISTRY/]REPOSITORY[:TAG][@DIGEST], and the operator's mirrors and
 * templates for them. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "config/settings.h"

#define IMAGE_NAME_MAX 512 /* bytes of a whole name */

struct image_reference {
    char registry[256];   /* host with an optional port */
    char repository[256]; /* with "library/" for a plain name without a registry or of docker.io */
    char tag[129];        /* "latest" when the name has neither tag nor digest; "" with a digest */
    char digest[72];      /* "sha256:…", or "" */
};

/* Take a name apart. default_registry: for a name without a registry; "": refuse such a name.
 * Errors: ERR_INVALID_REQUEST, ERR_NOT_SERVED (no default registry), without a field. */
int image_reference_parse(const char *name, const char *default_registry,
                          struct image_reference *reference, struct error **err);

/* Return whether the name means an image without files, which no registry has. */
bool image_is_empty(const char *name);

/* Return whether the name begins with a registry. */
bool image_reference_has_registry(const char *name);

/* Change registry and repository to those of the first mirror that fits (setting
 * image_registry_mirrors), if there is one, and docker.io to the server of its images. *plain_http:
 * the operator allows HTTP without TLS for this registry. Errors: ERR_CONFIG (an entry of the
 * setting has the wrong form). */
int image_reference_place(const struct settings *settings, struct image_reference *reference,
                          bool *plain_http, struct error **err);

/* Set *template to the name of the deployment's template that the operator gives for an image
 * (setting image_templates), or to NULL. The caller frees it. Errors: ERR_CONFIG (an entry of the
 * setting has the wrong form). */
int image_reference_template(const struct settings *settings, const char *name, char **template,
                             struct error **err);

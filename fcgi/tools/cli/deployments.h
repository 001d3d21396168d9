/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of deployments and keys: $XDG_CONFIG_HOME/sandlot/deployments.json, mode 600. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

/* Set url, key and ca_file from SANDLOT_URL, SANDLOT_KEY and SANDLOT_CA. Missing values come from
 * the named deployment, or from the default one. With SANDLOT_URL, no key of the file is used.
 * Errors: ERR_UNAUTHORIZED (there is no key), ERR_CONFIG (the file or the name is wrong). */
int deployments_choose(struct cli *cli, struct error **err);

/* Read the document, {"default": name, "deployments": {name: {"url", "key", "ca_file"}}}, as a new
 * reference. Without a file, it is empty. Errors: ERR_CONFIG. */
int deployments_load(json_t **document, struct error **err);

/* Replace the file with this document. Errors: ERR_INTERNAL. */
int deployments_save(const json_t *document, struct error **err);

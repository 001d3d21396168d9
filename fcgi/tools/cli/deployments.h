/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of deployments and keys: $XDG_CONFIG_HOME/sandlot/deployments.json, mode 600. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

/* Fill url, key and ca_file from SANDLOT_URL, SANDLOT_KEY and SANDLOT_CA. Values that they leave
 * out come from the named deployment, or from the default one. A URL of the environment takes no
 * key of the file. ERR_UNAUTHORIZED: there is no key; ERR_CONFIG: the file or the name is wrong. */
int deployments_choose(struct cli *cli, struct error **err);

/* Read the whole document, {"default": name, "deployments": {name: {"url", "key", "ca_file"}}}; an
 * empty one when there is no file. A new reference. */
int deployments_load(json_t **document, struct error **err);

/* Write it in place of the former one. */
int deployments_save(const json_t *document, struct error **err);

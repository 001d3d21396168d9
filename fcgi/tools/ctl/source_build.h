/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operator's template builds: the sources are built as for the API, with progress on standard
 * error. */
#pragma once

#include "ctl/ctl.h"
#include "host/host.h"
#include "template/template.h"

/* Build the sources of a version in state building on all active hosts, and finish it as ready. If
 * a host with the image fails, delete the finished sources, and mark the version as failed, with
 * the error of that host. */
int source_build_all(struct ctl *ctl, struct template_version *version, struct error **err);

/* Make the source of a ready version on one more host. */
int source_build_again(struct ctl *ctl, const struct template_version *version,
                       const struct host *host, struct error **err);

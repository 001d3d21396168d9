/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the source instances of a template version: what sandboxes are copied from. */
#pragma once

#include "ctl/ctl.h"
#include "host/host.h"
#include "template/template.h"

/* Build the sources of a version in state building on these hosts and finish it as ready; when one
 * host fails, remove what was built and finish it as failed, with the error of that host. */
int source_build_all(struct ctl *ctl, struct template_version *version, const struct host *hosts,
                     unsigned count, struct error **err);

/* Build the source of a ready version on one more host, from the very image of the others. */
int source_build_again(struct ctl *ctl, const struct template_version *version,
                       const struct host *host, struct error **err);

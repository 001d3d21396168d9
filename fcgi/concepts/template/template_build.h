/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building the template versions that the API was asked for, and removing deleted ones. */
#pragma once

#include "template/template.h"
#include "worker/worker.h"

/* For the dispatcher: build one template version that the API was asked for, or remove what is left
 * of a deleted one. This takes seconds. *worked: there was one. */
int template_build_next(struct worker *worker, bool *worked, struct error **err);
int template_remove_next(struct worker *worker, bool *worked, struct error **err);

/* Whether an instance is the trial of a template version that is there. */
int template_trial_knows(struct worker *worker, const char *instance_name, bool *known,
                         struct error **err);

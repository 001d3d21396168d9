/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Build the template versions that the API has requested, and remove deleted ones. */
#pragma once

#include "template/template.h"
#include "worker/worker.h"

/* For the dispatcher: build one requested template version, or remove the rest of a deleted one.
 * This takes seconds. *worked: there was one. */
int template_build_next(struct worker *worker, bool *worked, struct error **err);
int template_remove_next(struct worker *worker, bool *worked, struct error **err);

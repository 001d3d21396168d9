/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nginx templates (conf/nginx/) with the settings in them. */
#pragma once

#include <stdio.h>

#include "config/settings.h"

/* Render each NAME.in of template_dir to output_dir/NAME; output_dir (absolute) is made when it
 * is missing. @name@ stands for a setting or for what follows from one. All files are rendered
 * before the first is written, and each is replaced in one step.
 * Errors (ERR_CONFIG): an unknown placeholder, a value that nginx would not read as one word. */
int nginx_config_render(const struct settings *settings, const char *template_dir,
                        const char *output_dir, struct error **err);

/* The same files as text, in the order of their names and each under a comment with its path; as
 * if they stood in /etc/sandlot/nginx. */
int nginx_config_print(const struct settings *settings, const char *template_dir, FILE *out,
                       struct error **err);

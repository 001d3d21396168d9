/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nginx templates (conf/nginx/) with the settings in them. */
#pragma once

#include <stdio.h>

#include "config/settings.h"

/* Render each NAME.in of template_dir to output_dir/NAME. Create output_dir (absolute) if it is
 * missing. The text @name@ stands for a setting, or for a value that follows from a setting. All
 * files are rendered before the first is written, and each is replaced in one step. Errors
 * (ERR_CONFIG): an unknown placeholder, a value that nginx would not read as one word. */
int nginx_config_render(const struct settings *settings, const char *template_dir,
                        const char *output_dir, struct error **err);

/* The values for the relay of a host (conf/nginx/host/). */
struct nginx_relay {
    const char *host_name;
    const char *range; /* of its sandboxes' addresses, as a host's row has it */
    const char *dir;   /* where its certificates are on that machine; absolute */
    unsigned port;
};

/* Render the templates of such a host likewise: those of the folder host/ of template_dir. */
int nginx_config_render_relay(const struct settings *settings, const char *template_dir,
                              const struct nginx_relay *relay, const char *output_dir,
                              struct error **err);

/* The values of a relay that was rendered before, without its folder. */
struct nginx_relay_known {
    char host_name[64], range[19];
    unsigned port;
};

/* Read the values from the file of the relay in a folder. Errors: ERR_CONFIG. */
int nginx_relay_read(const char *dir, struct nginx_relay_known *known, struct error **err);

/* Write one file whose text is made elsewhere, replaced in one step where it says something
 * else. */
int nginx_config_put_file(const char *directory, const char *name, const char *text, bool *changed,
                          struct error **err);

/* Print the same files as text, in the order of their names, as if they were in /etc/sandlot/nginx.
 * Each has a comment with its path before it. */
int nginx_config_print(const struct settings *settings, const char *template_dir, FILE *out,
                       struct error **err);

/* Let the nginx of a pid file read its configuration again. Open connections stay. */
#define NGINX_PID_FILE "/run/nginx.pid"
int nginx_reload(const char *pid_file, struct error **err);

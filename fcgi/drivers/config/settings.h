/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read the settings of all programs. One table (settings.def) gives the structure below, the
 * parser, --check-config, the sample file and the manual page. The file has lines `name = value`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct settings {
#define SETTING_STRING(name, fallback, check, prose)          char *name;
#define SETTING_NUMBER(name, fallback, min, max, unit, prose) uint64_t name;
#define SETTING_CHOICE(name, fallback, choices, prose)        char *name;
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
};

/* Read and check the file. Relative paths are refused. Errors: ERR_CONFIG; the message names the
 * file, the line and the setting, and for an unknown name the nearest known one. */
int settings_load(const char *path, struct settings **settings, struct error **err);
void settings_free(struct settings *settings);

static inline void settings_autofree_(struct settings **settings)
{
    settings_free(*settings);
}
#define settings_auto __attribute__((cleanup(settings_autofree_))) struct settings *

/* Return the value of a setting as the file would spell it; the caller frees it. NULL: no such
 * name. */
char *settings_get(const struct settings *settings, const char *name);

/* Return the unit of a number, such as "ms". "": the setting is a count, is not a number, or does
 * not exist. */
const char *settings_unit(const char *name);

/* Write a sample file with comments, in which each setting has its default. */
void settings_print_sample(FILE *out);

/* Write the manual page of the settings file, in mdoc(7). */
void settings_print_manual(FILE *out);

/* Return the host of base_url, console_url or data_plane_host, without scheme and port; the caller
 * frees it. NULL: console_url is empty. */
char *settings_api_host(const struct settings *settings);
char *settings_console_host(const struct settings *settings);
char *settings_data_plane_domain(const struct settings *settings);

/* Return whether to listen on IPv6 too (listen_ipv6). */
bool settings_listen_ipv6(const struct settings *settings);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's pages that nginx serves by itself, as words of its configuration. */
#pragma once

/* Return the text for @name@: page_style, page_policy, page_404, page_429 and page_503 (variables
 * of nginx fill in style and request id), in quotes, owned by the caller; NULL for every other
 * name.
 */
char *nginx_html_value(const char *name, const char *base_url);

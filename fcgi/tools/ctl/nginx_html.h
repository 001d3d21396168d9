/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's pages that nginx serves by itself, as words of its configuration. */
#pragma once

/* Return the text for @name@: page_style, page_policy, page_404, page_429 or page_503, in quotes.
 * Variables of nginx fill in style and request id. The caller frees the text. NULL: there is no
 * such name. */
char *nginx_html_value(const char *name, const char *base_url);

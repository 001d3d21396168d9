/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of an answer: a person in a browser, or a program. */
#pragma once

#include <stdbool.h>

#include "http/http.h"

/* Return whether the request is a browser's navigation. Sec-Fetch-Mode and Sec-Fetch-Dest decide.
 * Without them Accept decides, when it names HTML and does not rank JSON higher. At E2B's hosts
 * User-Agent decides when Accept names neither. */
bool audience_wants_page(const struct http_request *request);

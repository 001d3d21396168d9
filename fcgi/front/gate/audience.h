/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who reads an answer: a person in a browser, or a program. */
#pragma once

#include <stdbool.h>

#include "http/http.h"

/* Whether the request is a browser's navigation. Sec-Fetch-Mode and Sec-Fetch-Dest say so; without
 * them Accept does, when it names HTML and does not rank JSON higher. At E2B's hosts User-Agent
 * does where Accept names neither. */
bool audience_wants_page(const struct http_request *request);

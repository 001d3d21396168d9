/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of short lists. Their handlers answer all rows; with `limit` an answer is cut to one page
 * and gets a next_token. A token names the row that was shown last and its place: if that row is
 * gone, the page begins at its place.
 */
#pragma once

#include "api/api.h"

/* Make the page that the request asks for of an answer with all rows. Errors: ERR_INVALID_REQUEST
 * (limit), ERR_INVALID_NEXT_TOKEN. */
int whole_list_cut(struct api *api, const struct route *route, const struct http_request *request,
                   struct http_response *response, struct error **err);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of short lists. Their handlers answer all rows. With `limit` the answer is cut to one page
 * and gets a next_token. A token names the last row of the page and the row after it. If the last
 * row has been deleted, the next page begins at the row after it. If both have been deleted, it
 * begins at the last row's place in the list.
 */
#pragma once

#include "api/api.h"

/* Cut an answer with all rows to the page that the request asks for. Errors: ERR_INVALID_REQUEST
 * (limit), ERR_INVALID_NEXT_TOKEN. */
int whole_list_cut(struct api *api, const struct route *route, const struct http_request *request,
                   struct http_response *response, struct error **err);

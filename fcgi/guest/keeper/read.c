/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "keeper/entry.h"
#include "keeper/handlers.h"
#include "keeper/place.h"

/* The head has the metadata, the body is the file. One that shrinks meanwhile ends the connection
 * early. */
int file_get(struct request *request, struct keeper_error *error)
{
    struct stat status;
    const char *path;
    if (request_path(request, "path", &path, error) < 0)
        return -1;
    autoclose int fd = place_open_file(request->volume, path, &status, error);
    if (fd < 0)
        return -1;
    json_auto_t *entry = entry_json(&status);
    struct MHD_Response *response = MHD_create_response_from_fd((uint64_t)status.st_size, fd);
    if (response)
        steal_fd(&fd);
    MHD_add_response_header(response, KEEPER_MODE_HEADER,
                            json_string_value(json_object_get(entry, "mode")));
    MHD_add_response_header(response, KEEPER_MODIFIED_AT_HEADER,
                            json_string_value(json_object_get(entry, "modified_at")));
    return httpd_reply(&request->http, 200, response);
}

/* The link itself, not its target. */
int path_get(struct request *request, struct keeper_error *error)
{
    struct stat status;
    const char *path;
    if (request_path(request, "path", &path, error) < 0)
        return -1;
    autoclose int place = place_open(request->volume, path, O_NOFOLLOW);
    if (place < 0 || fstat(place, &status) < 0)
        return keeper_error_set_errno(error, errno);
    json_t *entry = entry_json(&status);
    entry_set_target(entry, place, "", &status);
    return httpd_reply_json(&request->http, 200, entry);
}

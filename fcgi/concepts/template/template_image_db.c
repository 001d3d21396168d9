/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "template/template.h"

DB_STATEMENT(allow_statement) = {"image.allow",
                                 "INSERT INTO allowed_images (name, created_at_ms) VALUES (?, ?)"
                                 " ON DUPLICATE KEY UPDATE name = name"};
DB_STATEMENT(disallow_statement) = {"image.disallow", "DELETE FROM allowed_images WHERE name = ?"};
DB_STATEMENT(is_allowed_statement) = {"image.is_allowed",
                                      "SELECT 1 FROM allowed_images WHERE name = ?"};
DB_STATEMENT(list_statement) = {
    "image.list", "SELECT name, created_at_ms FROM allowed_images ORDER BY name LIMIT 10000"};

static bool name_is_valid(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= 0x20 || name[i] >= 0x7f)
            return false;
    return length >= 1 && length <= 255;
}

int template_image_allow(struct db *db, const char *name, struct error **err)
{
    if (!name_is_valid(name))
        return error_set_field(err, ERR_INVALID_REQUEST, "image",
                               "An image is named by its alias or fingerprint, at most 255 "
                               "characters.");
    return db_exec(db, &allow_statement, DB_ARGS(db_text(name), db_i64(clock_now_ms())), NULL, err);
}

int template_image_disallow(struct db *db, const char *name, struct error **err)
{
    uint64_t matched = 0;
    if (name_is_valid(name) &&
        db_exec(db, &disallow_statement, DB_ARGS(db_text(name)), &matched, err) < 0)
        return -1;
    return matched
               ? 0
               : error_set(err, ERR_NOT_FOUND, "This image is not on the list of allowed images.");
}

int template_image_is_allowed(struct db *db, const char *name, bool *allowed, struct error **err)
{
    *allowed = false;
    if (!name_is_valid(name))
        return 0;
    return db_query_finds(db, &is_allowed_statement, DB_ARGS(db_text(name)), allowed, err);
}

static void read_template_image(const struct db_rows *rows, struct template_image *image)
{
    db_copy_text(image->name, rows, 0);
    image->created_at_ms = db_get_i64(rows, 1);
}

int template_image_list(struct db *db, struct template_image **images, unsigned *count,
                        struct error **err)
{
    return DB_LIST(db, &list_statement, DB_NO_ARGS, read_template_image, images, count, err);
}

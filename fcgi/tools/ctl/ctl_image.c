/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images that teams may build templates from. */
#include "base/mem.h"
#include "ctl/ctl.h"
#include "ctl/output.h"
#include "template/template.h"

int ctl_image_allow(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    if (template_image_allow(ctl->db, name, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "name", name, "allowed", 1),
              "Every team can build templates from image %s.", name);
    return 0;
}

int ctl_image_disallow(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0];
    if (template_image_disallow(ctl->db, name, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "name", name, "allowed", 0),
              "Teams can no longer build templates from image %s.", name);
    return 0;
}

int ctl_image_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {{"IMAGE", "name"}, {"SINCE", "created_at"}};
    autofree struct template_image *images = NULL;
    unsigned count;
    (void)arguments;
    if (template_image_list(ctl->db, &images, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, json_pack("{s:s, s:o}", "name", images[i].name, "created_at",
                                              time_to_json(images[i].created_at_ms)));
    ctl_print_rows(ctl, "images", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

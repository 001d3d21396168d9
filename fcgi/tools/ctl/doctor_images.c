/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check the setting image_templates. Otherwise only a build would find a fault in it. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "recipe/image_reference.h"
#include "template/template.h"

static int check_entry(struct doctor *doctor, const char *entry, struct error **err)
{
    struct template_version version;
    autofree char *image = xstrndup(entry, strcspn(entry, "=")), *template = NULL;
    if (image_reference_template(doctor->ctl->settings, image, &template, err) < 0)
        return -1;
    return template_resolve(doctor->ctl->db, "", template, "image_templates", &version, err);
}

void doctor_check_image_templates(struct doctor *doctor)
{
    autofree char *entries = xstrdup(doctor->ctl->settings->image_templates);
    char *next = NULL;
    unsigned count = 0, wrong = 0;
    for (char *one = strtok_r(entries, IMAGE_SEPARATOR, &next); one;
         one = strtok_r(NULL, IMAGE_SEPARATOR, &next), count++) {
        error_auto err = NULL;
        if (check_entry(doctor, one, &err) == 0)
            continue;
        wrong++;
        doctor_wrong(doctor, "image_templates",
                     "Correct the setting, or make the template; builds of the image fail until "
                     "then.",
                     "The entry %s of image_templates cannot be used: %s%s", one, err->message,
                     str_ends_with(err->message, ".") ? "" : ".");
    }
    if (count && !wrong)
        doctor_ok(doctor, "image_templates", "Each of the %u image_templates exists.", count);
}

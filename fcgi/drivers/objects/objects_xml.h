/* SPDX-License-Identifier: GPL-2.0-or-later */
/* As much of XML as the answers of S3 are made of. */
#pragma once

/* Return the text of the first element with this name from *at on, its entities replaced; the
 * caller frees it. *at moves behind it; NULL without one. */
char *objects_xml_next(const char **at, const char *name);

/* Do the same of a document, from its beginning. */
char *objects_xml_find(const char *text, const char *name);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Remove the parts of a memory image that each new network has by itself. */
#pragma once

/* After a dump: delete the image of the routing rules if the rules are those of a new network.
 * Delete the image of the IPv6 routes if the kernel itself adds them with their addresses. A
 * restore then runs up to four programs less. */
void image_forget_network(const char *folder);

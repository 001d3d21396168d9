/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exposed ports of a sandbox, sorted by number. */
#pragma once

#include <jansson.h>

#include "sandbox/sandbox.h"
#include "worker/worker.h"

/* Check whether a port can never be exposed: those of the agent and of its relay, and that of ssh,
 * which previews do not serve. */
bool sandbox_port_is_reserved(uint16_t port);

/* Return the exposed port with this number, or NULL. */
const struct exposed_port *sandbox_port(const struct sandbox *sandbox, uint16_t port);

/* Expose a port, or change one that is exposed. False: there are SANDBOX_PORTS_MAX others. */
bool sandbox_port_add(struct sandbox *sandbox, struct exposed_port port);

/* Expose the TCP ports of an image's list, such as ["80/tcp", "8000-8010/tcp"], as private ports.
 * most: ports of the sandbox; the list may have more, and anything else. */
void sandbox_ports_of_image(const json_t *list, unsigned most, struct sandbox *sandbox);

/* Expose the ports of a create. */
struct sandbox_create;
int sandbox_ports_take(struct worker *worker, const struct sandbox_create *request,
                       struct sandbox *sandbox, struct error **err);

/* Refuse a port beyond the setting sandbox_ports_max. Returns -1. */
int sandbox_too_many_ports(const char *field, unsigned ports_max, struct error **err);

/* Withdraw a port. False: it was not exposed. */
bool sandbox_port_remove(struct sandbox *sandbox, uint16_t port);

/* Convert to and from the text of the row: "3000/1,3001/0", with 1 for public, plus 2 for https. */
#define SANDBOX_PORTS_TEXT_SIZE (SANDBOX_PORTS_MAX * sizeof "65535/1,")
const char *sandbox_ports_to_text(const struct sandbox *sandbox,
                                  char text[SANDBOX_PORTS_TEXT_SIZE]);
void sandbox_ports_of_text(const char *text, struct sandbox *sandbox);

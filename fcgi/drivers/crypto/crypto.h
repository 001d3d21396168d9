/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Initialise libsodium; the other functions of crypto/ call it themselves. Aborts when the machine
 * has no source of randomness. */
void crypto_init(void);

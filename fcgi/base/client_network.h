/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose an address counts as where something is counted for each client. */
#pragma once

#define CLIENT_NETWORK_SIZE 46

/* Who has an IPv6 address has the other 2^64 of its network too (RFC 6177), which is written as its
 * first address. IPv4 within IPv6 is IPv4. Any other text stays, cut to the size. Returns out. */
const char *client_network(const char *address, char out[CLIENT_NETWORK_SIZE]);

/* The same with the /48 of an IPv6 address, which is the most that one site usually has. */
const char *client_network_wide(const char *address, char out[CLIENT_NETWORK_SIZE]);

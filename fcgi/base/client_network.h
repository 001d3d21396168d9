/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network that stands for a client wherever something is counted for each client. */
#pragma once

#define CLIENT_NETWORK_SIZE 46

/* Write the network of an address. The owner of an IPv6 address has the other 2^64 addresses of its
 * /64 too (RFC 6177), so the network's first address is written. IPv4 within IPv6 is IPv4. Any
 * other text stays, cut to the size. Returns out. */
const char *client_network(const char *address, char out[CLIENT_NETWORK_SIZE]);

/* Return the same with the /48 of an IPv6 address, which is the most that one site usually has. */
const char *client_network_wide(const char *address, char out[CLIENT_NETWORK_SIZE]);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A relay between client and server that loses what it is told to lose: the only way to make a
 * write happen (or not) while its client hears nothing.
 */
#pragma once

struct proxy;

enum proxy_loss {
    PROXY_LOSE_QUESTION, /* the packet with the text never reaches the server */
    PROXY_LOSE_ANSWER,   /* it does, and the server's answer is thrown away */
};

/* Relay connections to socket (given) to target; runs in a thread of its own. */
struct proxy *proxy_start(const char *socket, const char *target);
void proxy_stop(struct proxy *proxy);

/* Cut the connection on the next packet from the client that contains text. Once. */
void proxy_lose(struct proxy *proxy, enum proxy_loss loss, const char *text);

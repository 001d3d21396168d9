/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/db/proxy.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

struct proxy {
    char target[108];
    int listener;
    int stop[2]; /* a pipe: a byte ends the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* the two below */
    enum proxy_loss loss;
    char text[32]; /* "": lose nothing */
};

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static bool must_lose(struct proxy *proxy, const char *packet, size_t size, enum proxy_loss *loss)
{
    pthread_mutex_lock(&proxy->lock);
    bool found = *proxy->text && memmem(packet, size, proxy->text, strlen(proxy->text));
    *loss = proxy->loss;
    if (found)
        *proxy->text = '\0';
    pthread_mutex_unlock(&proxy->lock);
    return found;
}

static bool pass(int to, const char *packet, ssize_t size)
{
    return send(to, packet, (size_t)size, MSG_NOSIGNAL) == size;
}

/* One connection from beginning to end. false: the proxy is to stop. */
static bool relay(struct proxy *proxy, int client, int server)
{
    char packet[65536];
    struct pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}, {proxy->stop[0], POLLIN, 0}};
    bool lose_answer = false;
    while (poll(ends, 3, -1) >= 0 && !ends[2].revents) {
        if (ends[0].revents) {
            enum proxy_loss loss;
            ssize_t size = recv(client, packet, sizeof packet, 0);
            if (size <= 0)
                return true;
            if (must_lose(proxy, packet, (size_t)size, &loss)) {
                if (loss == PROXY_LOSE_QUESTION)
                    return true;
                lose_answer = true;
            }
            if (!pass(server, packet, size))
                return true;
        }
        if (ends[1].revents) {
            ssize_t size = recv(server, packet, sizeof packet, 0);
            if (size <= 0 || lose_answer || !pass(client, packet, size))
                return true;
        }
    }
    return false;
}

static void *run(void *context)
{
    struct proxy *proxy = context;
    struct sockaddr_un target = address_of(proxy->target);
    struct pollfd ends[] = {{proxy->listener, POLLIN, 0}, {proxy->stop[0], POLLIN, 0}};
    bool go_on = true;
    while (go_on && poll(ends, 2, -1) >= 0 && !ends[1].revents) {
        int client = accept(proxy->listener, NULL, NULL);
        int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(server, (struct sockaddr *)&target, sizeof target) == 0)
            go_on = relay(proxy, client, server);
        close(client);
        close(server);
    }
    return NULL;
}

struct proxy *proxy_start(const char *path, const char *target)
{
    struct proxy *proxy = xcalloc(1, sizeof *proxy);
    struct sockaddr_un address = address_of(path);
    snprintf(proxy->target, sizeof proxy->target, "%s", target);
    pthread_mutex_init(&proxy->lock, NULL);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(path);
    if (pipe(proxy->stop) || bind(proxy->listener, (struct sockaddr *)&address, sizeof address) ||
        listen(proxy->listener, 8) || pthread_create(&proxy->thread, NULL, run, proxy))
        abort();
    return proxy;
}

void proxy_stop(struct proxy *proxy)
{
    if (write(proxy->stop[1], "", 1) != 1)
        abort();
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    close(proxy->stop[0]);
    close(proxy->stop[1]);
    pthread_mutex_destroy(&proxy->lock);
    free(proxy);
}

void proxy_lose(struct proxy *proxy, enum proxy_loss loss, const char *text)
{
    pthread_mutex_lock(&proxy->lock);
    proxy->loss = loss;
    snprintf(proxy->text, sizeof proxy->text, "%s", text);
    pthread_mutex_unlock(&proxy->lock);
}

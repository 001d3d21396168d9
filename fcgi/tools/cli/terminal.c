/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

#define SECRET_MAX 8192

static struct termios before;
static bool is_raw;

void terminal_restore(void)
{
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    is_raw = false;
}

void terminal_make_raw(void)
{
    struct termios raw;
    if (is_raw || tcgetattr(STDIN_FILENO, &before) < 0)
        return;
    raw = before;
    cfmakeraw(&raw);
    is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
    atexit(terminal_restore);
}

void terminal_size(int *cols, int *rows)
{
    struct winsize size = {0};
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        size.ws_col = 0;
    *cols = size.ws_col ? size.ws_col : 80;
    *rows = size.ws_row ? size.ws_row : 24;
}

/* A signal that ends the program while the terminal hides typed text; shown is set before. */
static struct termios shown;

static void show_again(int number)
{
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_ends(void (*handler)(int))
{
    signal(SIGINT, handler);
    signal(SIGTERM, handler);
    signal(SIGHUP, handler);
    signal(SIGQUIT, handler);
}

char *terminal_read_secret(const char *prompt)
{
    bool is_terminal = tcgetattr(STDIN_FILENO, &shown) == 0;
    if (is_terminal) {
        struct termios hidden = shown;
        hidden.c_lflag &= ~(tcflag_t)ECHO;
        catch_ends(show_again);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
        fputs(prompt, stderr);
    }
    char line[SECRET_MAX];
    char *read = fgets(line, sizeof line, stdin);
    if (is_terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
        catch_ends(SIG_DFL);
        fputc('\n', stderr);
    }
    char *secret = NULL;
    if (read) {
        size_t length = strlen(line);
        while (length && strchr("\r\n \t", line[length - 1]))
            line[--length] = '\0';
        secret = xstrdup(line);
    }
    mem_wipe(line, sizeof line);
    return secret;
}

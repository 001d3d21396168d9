<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Preview;

use Sandlot\Exception\WaitException;
use Sandlot\Http\Access;
use Sandlot\Model\GatewayStatus;
use Sandlot\Model\Port;

/** The address of one port. */
final class Preview
{
    public readonly string $url;

    /** @internal */
    public function __construct(
        public readonly Port $port,
        private readonly Previews $previews,
        private readonly Access $access,
    ) {
        $this->url = $port->url;
    }

    public function isReady(): bool
    {
        return $this->port->gatewayStatus === GatewayStatus::Ready;
    }

    /**
     * Returns the headers that a program sends to a private port. The token in them opens this port only.
     *
     * @return array<string, string>
     */
    public function headers(): array
    {
        return $this->port->public ? [] : ['X-Access-Token' => $this->access->session()->accessToken];
    }

    /** Returns an address for a browser. For a private port it contains a token, which opens this port only. */
    public function link(string $path = '/'): string
    {
        $url = rtrim($this->url, '/') . $path;
        $token = $this->headers()['X-Access-Token'] ?? null;
        $before = str_contains($path, '?') ? '&' : '?';
        return $token === null ? $url : "{$url}{$before}access_token=" . rawurlencode($token);
    }

    /**
     * Waits until a server listens, and returns the preview again.
     *
     * @throws WaitException
     */
    public function waitUntilReady(float $timeout = 30.0): self
    {
        $end = hrtime(true) / 1e9 + $timeout;
        for ($preview = $this; !$preview->isReady(); $preview = $this->previews->get($this->port->port)) {
            if (hrtime(true) / 1e9 > $end) {
                throw new WaitException("Nothing listens on port {$this->port->port} after {$timeout} s.");
            }
            usleep(50_000);
        }
        return $preview;
    }
}

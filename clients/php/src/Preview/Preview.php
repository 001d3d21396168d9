<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Preview;

use Sandlot\Exception\WaitException;
use Sandlot\Http\Access;
use Sandlot\Model\GatewayStatus;
use Sandlot\Model\Port;

/** The public address of one port. */
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
     * What a program sends with its requests; a public port needs none. The token opens this port only.
     *
     * @return array<string, string>
     */
    public function headers(): array
    {
        return $this->port->public ? [] : ['X-Access-Token' => $this->access->session()->accessToken];
    }

    /** An address for a browser. That of a private port has a token in it, which opens this port only. */
    public function link(string $path = '/'): string
    {
        $url = rtrim($this->url, '/') . $path;
        $token = $this->headers()['X-Access-Token'] ?? null;
        $before = str_contains($path, '?') ? '&' : '?';
        return $token === null ? $url : "{$url}{$before}access_token=" . rawurlencode($token);
    }

    /**
     * The same once a server listens.
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

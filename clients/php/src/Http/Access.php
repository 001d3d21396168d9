<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Sandlot\Model\Session;

/**
 * The session of one sandbox: asked for when it is needed first, and anew before it ends.
 *
 * @internal
 */
final class Access
{
    /** Seconds before its end at which a session counts as ended: clocks differ, and requests take time. */
    private const MARGIN = 60;

    /** @param \Closure(): Session $open */
    public function __construct(private readonly \Closure $open, private ?Session $session)
    {
    }

    /** @return array<string, mixed> without the token */
    public function __debugInfo(): array
    {
        return ['expiresAt' => $this->session?->expiresAt];
    }

    public function session(): Session
    {
        $session = $this->session;
        $end = $session?->expiresAt?->getTimestamp();
        $isOver = $end !== null && $end - self::MARGIN < time();
        return $session === null || $isOver ? $this->renew() : $session;
    }

    public function set(Session $session): void
    {
        $this->session = $session;
    }

    public function renew(): Session
    {
        return $this->session = ($this->open)();
    }
}

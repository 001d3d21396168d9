<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

/**
 * What the data planes of all sandboxes have in common.
 *
 * @internal
 */
final class DataPlanes
{
    public function __construct(
        private readonly Requests $requests,
        private readonly Sender $sender,
        private readonly Sender $streams,
        private readonly Timeouts $timeouts,
    ) {
    }

    public function of(Access $access): DataPlane
    {
        return new DataPlane($this->requests, $this->sender, $this->streams, $access, $this->timeouts);
    }
}

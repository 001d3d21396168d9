<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * A command that exits with 0 while the service works. After three failures in a row, the service is stopped and
 * started again, unless `restart` is `no`.
 */
final class ServiceRequestHealth implements \JsonSerializable
{
    /**
     * @param int|null $interval Seconds.
     * @param int|null $timeout Seconds.
     */
    public function __construct(
        public readonly string $command,
        public readonly ?int $interval = null,
        public readonly ?int $timeout = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'command' => $this->command,
            'interval' => $this->interval,
            'timeout' => $this->timeout,
        ]);
    }
}

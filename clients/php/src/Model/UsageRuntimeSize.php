<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UsageRuntimeSize
{
    public function __construct(
        public readonly int $cpu,
        public readonly int $memoryMb,
        public readonly int $sandboxes,
        public readonly float $seconds,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            cpu: $fields->int('cpu'),
            memoryMb: $fields->int('memory_mb'),
            sandboxes: $fields->int('sandboxes'),
            seconds: $fields->float('seconds'),
        );
    }
}

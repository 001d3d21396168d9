<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class UsageRuntime
{
    /** @param list<UsageRuntimeSize> $sizes */
    public function __construct(
        public readonly float $seconds,
        public readonly float $vcpuSeconds,
        public readonly float $memoryGbSeconds,
        public readonly array $sizes,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            seconds: $fields->float('seconds'),
            vcpuSeconds: $fields->float('vcpu_seconds'),
            memoryGbSeconds: $fields->float('memory_gb_seconds'),
            sizes: $fields->objects('sizes', UsageRuntimeSize::read(...)),
        );
    }
}

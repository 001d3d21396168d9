<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class QuotaAmount
{
    public function __construct(
        public readonly int $sandboxes,
        public readonly int $vcpus,
        public readonly int $memoryMb,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            sandboxes: $fields->int('sandboxes'),
            vcpus: $fields->int('vcpus'),
            memoryMb: $fields->int('memory_mb'),
        );
    }
}
